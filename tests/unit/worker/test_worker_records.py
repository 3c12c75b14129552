"""Every record's way in: what no agent can take, what comes on the wrong partition, early, late, twice or never."""

import asyncio
import time
from collections.abc import Sequence
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
from faust.types import TP

from operators.contrast import SLOTS
from schemas import CONSUMED_TOPICS, Candidate, Contrast, DeadLetter, Item, Ranking, RankRequest, Selection, encode
from streams.kafka.clients import partition_of
from streams.worker.catalogue import WAIT_SECONDS
from streams.worker.runtime.dispatch import DEFAULT_IN_FLIGHT
from tests.builders import a_time
from tests.fake_log import PARTITIONS, PREFIX, SECONDS, FakeDeployment, FakeLog, FakeWorker, Record, position
from tests.faults.oracle import expected_contrasts
from tests.unit.worker.test_worker_exactly_once import assert_undisturbed, choice, choices, put

POISON = [b"", b"\xff\xfe\x00", b"null", b'{"user_id": 7}', b'{"a":' * 2_000 + b"1" + b"}" * 2_000]


@pytest.mark.parametrize("base", CONSUMED_TOPICS)
async def test_invalid_bytes_are_dead_lettered_with_their_position(deployment: FakeDeployment, base: str) -> None:
    log, made = deployment.log, choices(4)
    bad: list[Record] = []
    for number, (pair, value) in enumerate(zip([*made, made[0]], POISON, strict=True)):
        bad.append(log.put_bytes(base, value, b"a key", number % PARTITIONS))
        put(log, [pair] if number < len(made) else [])
    worker = deployment.worker(slow=3)
    worker.fail("dead-letters", 2)

    await worker.quiet()

    letters = {letter.source: letter for letter in log.values(DeadLetter)}
    assert set(letters) == {position(record) for record in bad}
    assert len(log.of("dead-letters")) == len(bad), "each once"
    for record in bad:
        letter = letters[position(record)]
        assert (letter.value or b"", letter.key) == (record.value, b"a key")
    assert len(log.diffs) == len(made)


async def test_nothing_is_acknowledged_before_its_dead_letter_is_delivered(deployment: FakeDeployment) -> None:
    worker = deployment.worker()
    gate = worker.hold("dead-letters")
    deployment.log.put_bytes("selections", b"no event")
    await worker.until(lambda: gate.waiting > 0, "a dead letter")
    await worker.settle()

    assert worker.is_behind("selections")
    gate.open()
    await worker.quiet()


async def test_the_oldest_unfinished_record_dates_its_topic(deployment: FakeDeployment) -> None:
    worker = deployment.worker()
    gate = worker.hold("dead-letters")
    record = deployment.log.put_bytes("selections", b"no event")
    await worker.until(lambda: gate.waiting > 0, "a dead letter")
    oldest, topic = worker.parts.app.reader.oldest, f"{PREFIX}selections"

    assert oldest(topic) == pytest.approx(position(record).timestamp_ms / 1_000)
    assert oldest(f"{PREFIX}rankings") == pytest.approx(time.time(), abs=5)

    gate.open()
    await worker.quiet()
    assert oldest(topic) == pytest.approx(time.time(), abs=5)


async def test_a_record_on_the_wrong_partition_is_sent_on_once_and_joins(deployment: FakeDeployment) -> None:
    """A producer that hashes otherwise (invariant 13)."""
    made = choices(8)
    for pair in made:
        for event in pair:
            deployment.log.put(event, partition=1 - partition_of(event.user_id, PARTITIONS))

    await deployment.worker(slow=4).quiet()

    for base in ("rankings", "selections"):
        assert len(deployment.log.of(base)) == 2 * len(made), "each is there, and where it belongs"
    assert_undisturbed(deployment.log, made)


@pytest.mark.parametrize("key", [None, b"", b"\xff\xfe\x00", b"k" * 5_000])
async def test_keys_do_not_matter_as_long_as_the_partition_is_right(
    deployment: FakeDeployment, key: bytes | None
) -> None:
    made = choices(2)
    for event in (each for pair in made for each in pair):
        deployment.log.put_bytes(event.TOPIC, encode(event), key, partition_of(event.user_id, PARTITIONS))

    await deployment.worker().quiet()

    assert_undisturbed(deployment.log, made)


def arrivals() -> dict[str, list[Any]]:
    ranking, selection = choice(1)
    return {
        "before": [selection, ranking],
        "after": [ranking, selection],
        "selected twice": [ranking, selection, selection],
        "ranked twice": [ranking, ranking, selection],
        "both twice": [selection, ranking, ranking, selection],
    }


@pytest.mark.parametrize("order", arrivals())
async def test_a_selection_may_arrive_early_late_or_twice(deployment: FakeDeployment, order: str) -> None:
    worker = deployment.worker()
    for event in arrivals()[order]:
        deployment.log.put(event)
        await worker.quiet()

    assert_undisturbed(deployment.log, [choice(1)])


async def test_unmatchable_selections_are_dead_lettered_and_others_wait(
    deployment: FakeDeployment,
) -> None:
    log, worker = deployment.log, deployment.worker()
    ranking, selection = choice(1)
    stranger = selection.model_copy(update={"item_id": "no such film", "event_id": "stranger"})
    later = selection.model_copy(update={"item_id": ranking.candidates[1].item_id, "event_id": "second thoughts"})
    never = choice(2, ranking.user_id)[1]
    for event in (ranking, stranger, selection, later, never):
        log.put(event)
        await worker.quiet()

    letters = {letter.reason: letter for letter in log.values(DeadLetter)}
    assert set(letters) == {"not-in-ranking", "already-answered"}
    assert letters["not-in-ranking"].value == encode(stranger)
    assert letters["already-answered"].value == encode(later)
    assert letters["not-in-ranking"].source.topic == "t.selections"
    assert len(log.diffs) == 1


async def test_a_handler_that_fails_in_an_unforeseen_way_keeps_its_event(
    deployment: FakeDeployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("a defect of ours")

    worker = deployment.worker()
    monkeypatch.setattr(worker.parts.deps.global_skills, "get", broken)
    put(deployment.log, [choice(1)])

    await worker.quiet()

    [letter] = deployment.log.values(DeadLetter)
    assert (letter.reason, letter.source.topic) == ("internal-error", "t.contrasts")
    assert "a defect of ours" in letter.detail


async def test_a_rank_request_is_answered_for_its_user(deployment: FakeDeployment) -> None:
    log = deployment.log
    shown = tuple(Candidate(item_id=f"i{n}", metadata={"genre": f"g{n}"}) for n in range(4))
    asked = RankRequest(
        event_id="please", occurred_at=a_time(), user_id="kim", domain="films", request_id="please", candidates=shown
    )
    log.put_all([asked, asked])

    await deployment.worker().quiet()

    rankings = log.values(Ranking)
    assert {ranking.ranking_id for ranking in rankings} == {"please"}
    assert {item.item_id for item in rankings[0].candidates} == {"i0", "i1", "i2", "i3"}
    assert encode(rankings[0]) == encode(rankings[1]), "the same request has the same answer"
    assert {record.partition for record in log.of("rankings")} == {partition_of("kim", PARTITIONS)}


def by_ids(event: Any) -> Any:
    """The same list with ids alone."""
    candidates = tuple(Candidate(item_id=each.item_id) for each in event.candidates)
    return event.model_copy(update={"candidates": candidates})


def put_items(log: FakeLog, shown: Sequence[Candidate], domain: str = "films") -> None:
    for each in shown:
        item = Item(event_id=each.item_id, occurred_at=a_time(), domain=domain, item=each)
        log.put_bytes("items", encode(item), each.item_id.encode())


async def test_a_list_of_ids_teaches_and_ranks_as_the_same_list_with_its_facts(deployment: FakeDeployment) -> None:
    log, (ranking, selection) = deployment.log, choice(1)
    shown, names = ranking.candidates, {"user_id": "kim", "domain": "films", "occurred_at": a_time()}
    request = RankRequest(event_id="q", request_id="q", candidates=shown, **names)
    log.put_all([by_ids(ranking), selection, by_ids(request)])
    worker = deployment.worker()
    await worker.settle()
    assert log.values(Contrast) == [], "the lists wait for their items"

    put_items(log, shown)
    await worker.quiet()

    assert {each.event_id: each for each in log.values(Contrast)} == expected_contrasts([ranking], [selection])
    [answer] = [each for each in log.values(Ranking) if each.ranking_id == "q"]
    assert all(each.is_id_alone for each in answer.candidates)
    assert answer.injected.features is not None
    assert answer.injected.features.numbers


async def test_an_unknown_id_is_a_dead_letter_in_its_time(
    deployment: FakeDeployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, (ranking, _) = deployment.log, choice(1)
    put_items(log, ranking.candidates[:2])
    put_items(log, ranking.candidates[2:3], "books")
    log.put_bytes("items", b"no item", ranking.candidates[1].item_id.encode())
    log.put(by_ids(ranking), timestamp_ms=int(time.time() * 1_000) - int(WAIT_SECONDS * 1_000))
    # A flood waits once, not each in turn.
    for number in range(2 * DEFAULT_IN_FLIGHT):
        request = RankRequest(
            event_id=f"q{number}", request_id=f"q{number}", occurred_at=a_time(), user_id="kim", domain="films",
            candidates=(Candidate(item_id=f"none-{number}"),),
        )  # fmt: skip
        log.put(request)
    began = time.monotonic()

    await deployment.worker().quiet()

    first, *others = sorted(log.values(DeadLetter), key=lambda letter: letter.source.topic, reverse=True)
    assert (first.reason, first.source.topic) == ("unknown-item", "t.rankings")
    assert repr(ranking.candidates[1].item_id) in first.detail
    assert len(others) == 2 * DEFAULT_IN_FLIGHT
    assert WAIT_SECONDS - 1 < time.monotonic() - began < 3 * WAIT_SECONDS


SMALL_RINGS = {"open_rankings": 4 * SLOTS, "waiting_selections": 4 * SLOTS}
ENOUGH = 4 * SLOTS + DEFAULT_IN_FLIGHT + 50
"""Choices of one user: more than their rings and one executor hold."""


async def test_partitions_that_are_ahead_in_different_topics_catch_up(
    deployment: FakeDeployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Restarts under a backlog lead to this. Held rankings of one partition blocked those of the other."""
    monkeypatch.setattr("streams.worker.agents.contrast.CATCH_UP_SECONDS", 3_600.0)
    users = [next(name for name in map(str, range(100)) if partition_of(name, 2) == number) for number in (0, 1)]
    made = [choice(number, users[number % 2]) for number in range(2 * ENOUGH)]
    for at_ms, pair in enumerate(made, int(time.time() * 1_000)):
        for event in pair:
            deployment.log.put(event, timestamp_ms=at_ms)
    late = {TP(PREFIX + Selection.TOPIC, 0), TP(PREFIX + Ranking.TOPIC, 1)}
    worker = deployment.worker(settings=deployment.settings.model_copy(update=SMALL_RINGS))
    worker.full |= late
    await worker.settle(5_000)

    worker.full -= late
    deployment.log.wake()
    await worker.quiet()

    assert len(deployment.log.values(Contrast)) == len(made)
    assert deployment.log.of("dead-letters") == []


def overflowing_worker(deployment: FakeDeployment, monkeypatch: pytest.MonkeyPatch) -> FakeWorker:
    """A worker with one list too many of a user who takes nothing."""
    monkeypatch.setattr("streams.worker.agents.contrast.CATCH_UP_SECONDS", 3_600.0)
    user = next(USERS_OF_PARTITION_0)
    deployment.log.put_all(choice(number, user)[0] for number in range(4 * SLOTS + 1))
    return deployment.worker(settings=deployment.settings.model_copy(update=SMALL_RINGS))


USERS_OF_PARTITION_0 = (name for name in map(str, count()) if partition_of(name, 2) == 0)


async def test_a_list_and_a_choice_do_not_wait_for_each_other(
    deployment: FakeDeployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each overflows its ring, and is unfinished while the other one waits."""
    worker, user = overflowing_worker(deployment, monkeypatch), next(USERS_OF_PARTITION_0)
    deployment.log.put_all(choice(number, user)[1] for number in range(4 * SLOTS + 1))

    await worker.quiet()

    assert {letter.reason for letter in deployment.log.values(DeadLetter)} == {"no-ranking"}


async def test_a_waiting_list_does_not_delay_a_rebalance(
    deployment: FakeDeployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = overflowing_worker(deployment, monkeypatch)
    worker.full.add(TP(PREFIX + Selection.TOPIC, 0))
    deployment.log.put(choice(0, next(USERS_OF_PARTITION_0))[1])
    await worker.settle(2_000)
    assert worker.is_behind("rankings")

    worker.parts.app.flow_control.suspend()

    async with asyncio.timeout(SECONDS):
        await worker.parts.app.reader.wait_empty()


async def test_a_partition_that_another_worker_has_read_meanwhile_is_not_behind(deployment: FakeDeployment) -> None:
    log, made = deployment.log, choices(2)
    put(log, made[:1])
    worker = deployment.worker()
    await worker.quiet()
    put(log, made[1:])
    log.committed.update(
        {
            TP(PREFIX + Ranking.TOPIC, each): len(log.records[TP(PREFIX + Ranking.TOPIC, each)])
            for each in range(PARTITIONS)
        }
    )
    worker.assign()

    reader, topic = worker.parts.app.reader, PREFIX + Ranking.TOPIC

    assert not any(reader.has_earlier(topic, each, int(time.time() * 1_000) + 1) for each in range(PARTITIONS))


async def test_a_clock_that_is_set_back_delays_no_unknown_id(
    deployment: FakeDeployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [time.time()]
    clock = SimpleNamespace(time=lambda: now[0], monotonic=time.monotonic)
    monkeypatch.setattr("streams.worker.catalogue.time", clock)
    monkeypatch.setattr("streams.worker.catalogue.WAIT_SECONDS", 0.2)
    deployment.log.put(by_ids(choice(1)[0]), timestamp_ms=int(now[0] * 1_000))
    worker = deployment.worker()
    await worker.settle()

    now[0] -= 3_600

    async with asyncio.timeout(SECONDS):
        await worker.quiet()
    assert [letter.reason for letter in deployment.log.values(DeadLetter)] == ["unknown-item"]
