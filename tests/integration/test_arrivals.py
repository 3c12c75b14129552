"""Selections before their ranking, after it, twice, and without one; producers that partition otherwise."""

import json
from datetime import UTC, datetime
from zlib import crc32

import pytest
from confluent_kafka import Producer

from schemas import Contrast, DeadLetter, Ranking, Selection, SkillDiff, encode
from streams.kafka.clients import client_config, partition_of
from tests.harness import Harness
from tests.worlds import film, slate

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]


def ranking_of(user: str, name: str) -> Ranking:
    """A ranking that is built but not sent."""
    return Ranking.model_validate(
        {
            "event_id": name,
            "occurred_at": datetime.now(UTC),
            "ranking_id": name,
            "user_id": user,
            "domain": "films",
            "candidates": slate(crc32(name.encode()) % 1000),
        }
    )


def selection_of(ranking: Ranking, place: int, event_id: str = "") -> Selection:
    return Selection.model_validate(
        {
            "event_id": event_id or f"s-{ranking.ranking_id}",
            "occurred_at": ranking.occurred_at,
            "user_id": ranking.user_id,
            "ranking_id": ranking.ranking_id,
            "item_id": ranking.candidates[place].item_id,
        }
    )


def test_a_selection_may_come_before_after_twice_or_without_its_ranking(harness: Harness) -> None:
    harness.worker()
    events = harness.events
    before, after, twice, never = (ranking_of("ann", name) for name in ("before", "after", "twice", "never"))

    harness.send(selection_of(before, 2))
    events.flush()
    harness.until(lambda out: "open-rankings" in out.records, "the selection to wait")
    harness.send(before)
    harness.send(after)
    harness.send(selection_of(after, 3))
    harness.send(twice)
    harness.send(selection_of(twice, 4))
    harness.send(selection_of(twice, 4))
    harness.send(twice)
    harness.send(selection_of(never, 5))
    events.flush()

    harness.count(SkillDiff, 3)
    outputs = harness.quiet()
    assert sorted(c.ranking_id for c in outputs.values(Contrast)) == ["after", "before", "twice"]
    assert len(outputs.values(SkillDiff)) == 3
    assert outputs.dead_letters == []


@pytest.mark.thorough
def test_what_can_never_be_matched_is_dead_lettered(harness: Harness) -> None:
    harness.worker()
    events = harness.events
    shown = ranking_of("ann", "shown")
    stranger = selection_of(shown, 0).model_copy(update={"item_id": film(9_999)["item_id"], "event_id": "stranger"})
    harness.send(shown)
    harness.send(stranger)
    harness.send(selection_of(shown, 1))
    events.flush()
    harness.count(SkillDiff, 1)
    harness.send(selection_of(shown, 2, "second-thoughts"))
    events.flush()

    outputs = harness.count(DeadLetter, 2)

    by_reason = {letter.reason: letter for letter in outputs.dead_letters}
    assert set(by_reason) == {"not-in-ranking", "already-answered"}
    assert by_reason["not-in-ranking"].value == encode(stranger)
    assert by_reason["not-in-ranking"].source.topic == harness.settings.topic("selections")


@pytest.mark.thorough
def test_a_producer_with_librdkafkas_default_partitioner_breaks_no_join(harness: Harness) -> None:
    harness.worker()
    careless = Producer(client_config(harness.settings))
    users = [f"user-{number}" for number in range(40)]
    rankings = [ranking_of(user, f"r-{user}") for user in users]
    for ranking in rankings:
        for event in (ranking, selection_of(ranking, 0)):
            careless.produce(harness.settings.topic(event.TOPIC), encode(event), ranking.user_id.encode())
    careless.flush(30)

    outputs = harness.count(SkillDiff, len(users))

    diffs = outputs.records[SkillDiff.TOPIC]
    partitions = harness.settings.partitions
    assert all(m.partition() == partition_of(json.loads(m.key())[0], partitions) for m in diffs)
    sent = [m for base in ("rankings", "selections") for m in outputs.records[base]]
    strays = [m for m in sent if m.partition() != partition_of(m.key().decode(), partitions)]
    assert strays, "the careless producer hashed as we do: the test tests nothing"
    assert {d.user_id for d in outputs.diffs} == set(users)
    assert outputs.dead_letters == []
    harness.assert_all_stores_agree(duckdb=False)
