"""Selections before their ranking, after it, twice, and without one; producers that partition otherwise."""

import json
from datetime import UTC, datetime
from zlib import crc32

import pytest
from confluent_kafka import Producer

from schemas import Ranking, Selection, SkillDiff, encode
from streams.kafka.clients import client_config, partition_of
from tests.harness import Harness
from tests.worlds import slate

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
