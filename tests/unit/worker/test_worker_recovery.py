"""Stores that are filled in batches: what they hold, up to where they say so, and what of it agents see."""

import asyncio
import itertools
import logging
import threading
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from aiokafka import TopicPartition
from faust.types import TP
from hypothesis import given
from hypothesis import strategies as st

from schemas import PolicySkill, encode
from streams.caching import LruCache
from streams.worker.create import RateLimitFilter, create
from streams.worker.metrics import MAX_LABELS, OTHER, BoundedLabels
from streams.worker.runtime.producer import RecordPosition
from streams.worker.runtime.recovery import (
    LONGEST_PAUSE_SECONDS,
    SHORTEST_PAUSE_SECONDS,
    SHORTEST_WAIT_MS,
    EmbeddedConsumerThread,
    PacedFetches,
    SeekingConsumerThread,
    WorkerApp,
)
from streams.worker.runtime.state import InflightWrites, LogFirstTable
from streams.worker.tables import StateTable
from tests.builders import a_skill
from tests.fake_log import Record, settings_in

TOPIC = "t.skills"
HERE, THERE = TP(TOPIC, 0), TP(TOPIC, 1)


class Change(NamedTuple):
    """A record of a changelog, as a fetch brings it."""

    offset: int
    key: bytes | None
    value: bytes | None


def changes(first: int, *values: tuple[bytes | None, bytes | None]) -> list[Change]:
    return [Change(offset, key, value) for offset, (key, value) in enumerate(values, first)]


@pytest.fixture(params=["memory", "rocksdb"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> LogFirstTable:
    if request.param == "rocksdb":
        pytest.importorskip("rocksdict")
    made = create(settings_in(tmp_path, store=request.param))
    made.app.assignor.assigned_actives = lambda: {HERE}
    made.app.assignor.assigned_standbys = set
    return made.tables.skills.table


async def assigned(table: LogFirstTable, active: set[TP], standby: set[TP]) -> None:
    table.app.assignor.assigned_actives = lambda: active
    table.app.assignor.assigned_standbys = lambda: standby
    held = active | standby
    await table.on_rebalance(held, {HERE, THERE} - held, set())


async def test_a_batch_is_stored_with_its_last_offset(table: LogFirstTable) -> None:
    table.apply_changelog(
        HERE, changes(3, (b"a", b"1"), (b"b", b"\xff no json"), (b"a", None), (None, b"stray"), (b"c", b"3"))
    )

    assert {key: table.data[key] for key in (b"b", b"c")} == {b"b": b"\xff no json", b"c": b"3"}
    assert b"a" not in table.data
    assert table.persisted_offset(HERE) == 7


async def test_a_store_is_complete_only_up_to_the_first_gap(table: LogFirstTable) -> None:
    """A later write that is acknowledged first: a worker that dies now needs the earlier one from the changelog."""
    table.apply_changelog(HERE, changes(0, (b"x", b"0")))
    table.writes[0].begin(b"first")
    table.store_value(b"first", b"1", (HERE, 1))
    assert table.persisted_offset(HERE) == 1
    table.writes[0].begin(b"a")
    table.writes[0].begin(b"b")

    table.store_value(b"b", b"2", (HERE, 3))
    assert table.data[b"b"] == b"2"
    assert table.persisted_offset(HERE) == 1

    table.store_value(b"a", b"2", (HERE, 2))
    assert table.persisted_offset(HERE) == 3
    table.writes[0].begin(b"too large")
    table.writes[0].begin(b"a")
    table.writes[0].cancel(b"too large")
    table.store_value(b"a", None, RecordPosition(HERE, 4))
    assert b"a" not in table.data
    assert table.persisted_offset(HERE) == 4


async def test_a_write_in_flight_at_a_rebalance_does_not_advance_the_offset(table: LogFirstTable) -> None:
    table.apply_changelog(HERE, changes(0, (b"x", b"0")))
    table.writes[0].begin(b"a")
    await assigned(table, {HERE}, set())

    table.store_value(b"a", b"1", (HERE, 9))

    assert table.data[b"a"] == b"1"
    assert table.persisted_offset(HERE) == 0, "recovery reads on from there"


async def test_a_revoked_partition_is_not_written_and_recovers_completely(table: LogFirstTable) -> None:
    table.apply_changelog(HERE, changes(0, (b"a", b"1"), (b"b", b"1")))
    await assigned(table, {THERE}, set())
    table.store_value(b"c", b"late", (HERE, 2))
    assert not table.apply_changelog(HERE, changes(2, (b"d", b"late")))
    assert table.apply_changelog(THERE, changes(0, (b"z", b"1")))

    await assigned(table, {HERE}, set())

    start = table.persisted_offset(HERE)
    log = changes(0, (b"a", b"1"), (b"b", b"1"), (b"b", None), (b"e", b"2"))
    table.apply_changelog(HERE, log if start is None else [record for record in log if record.offset > start])
    assert {
        key: value for key in (b"a", b"b", b"c", b"d", b"e", b"z") if (value := table.data.get(key)) is not None
    } == {b"a": b"1", b"e": b"2"}


async def test_a_write_to_a_standby_partition_is_left_to_the_changelog(table: LogFirstTable) -> None:
    """It was on its way at the rebalance. No agent may see it, and it may be older than what the standby holds."""
    await assigned(table, {HERE, THERE}, set())
    table.writes[THERE.partition].begin(b"key")
    await assigned(table, {HERE}, {THERE})

    table.store_value(b"key", b"value", RecordPosition(THERE, 5))

    assert b"key" not in set(table.data)


async def test_a_key_on_two_partitions_does_not_block_a_rebalance(table: LogFirstTable) -> None:
    """Somebody wrote to a changelog by hand."""
    await assigned(table, {HERE, THERE}, set())
    for tp in (HERE, THERE):
        table.apply_changelog(tp, changes(0, (b"key", b"value")))

    await assigned(table, set(), {HERE, THERE})

    assert table._standby == {HERE.partition, THERE.partition}


async def test_standby_values_are_visible_after_a_takeover(tmp_path: Path) -> None:
    table = create(settings_in(tmp_path)).tables.skills.table
    await assigned(table, {HERE}, {THERE})
    table.apply_changelog(HERE, changes(0, (b"a", b"1")))
    table.apply_changelog(THERE, changes(5, (b"b", b"1"), (b"c", b"1"), (b"c", None)))
    await table.on_recovery_completed({HERE}, {THERE})
    assert dict(table.data.items()) == {b"a": b"1"}, "no agent scans what is another worker's"

    await assigned(table, {HERE, THERE}, set())

    assert dict(table.data.items()) == {b"a": b"1", b"b": b"1"}
    assert table.persisted_offset(THERE) == 7, "and recovery reads on from there"
    await assigned(table, {THERE}, {HERE})
    assert dict(table.data.items()) == {b"b": b"1"}
    assert table.persisted_offset(HERE) == 0


async def test_a_write_that_a_rebalance_overtakes_keeps_the_recovered_value(table: LogFirstTable) -> None:
    older, newer = a_skill(version=1), a_skill(version=2)
    key, generations = b"a", [1]

    async def send(*_: Any) -> RecordPosition:
        generations[0] = 2
        table.apply_changelog(HERE, changes(5, (key, encode(older)), (key, encode(newer))))
        return RecordPosition(HERE, 5)

    producer: Any = SimpleNamespace(send=send, generation=lambda: generations[0])
    skills = StateTable(table, PolicySkill, producer, LruCache(10))

    await skills.write(SimpleNamespace(generation_id=1, partition=0), key, older)

    assert skills.read(key) == newer


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=30), st.randoms(use_true_random=False))
def test_whatever_the_order_of_answers_nothing_unheld_is_passed(steps: list[tuple[int, bool]], rng: Any) -> None:
    """Sends get their offsets in any order from when they began on; none that is not held is passed."""
    writes, offsets, unsent, unheld = InflightWrites(), itertools.count(), dict[bytes, None](), dict[bytes, int]()
    for number, answers in steps:
        key = b"%d" % number
        if not answers and key not in unsent and key not in unheld:
            writes.begin(key)
            unsent[key] = None
        elif unsent and rng.random() < 0.5:
            sent = rng.choice(list(unsent))
            del unsent[sent]
            unheld[sent] = next(offsets)
        elif unheld:
            held = rng.choice(list(unheld))
            reached = writes.complete(held, unheld.pop(held))
            assert reached is None or all(reached < offset for offset in unheld.values())
            assert reached is None or reached < next(offsets)


class Fetched:
    """A recovery that is fed by hand."""

    def __init__(self, folder: Path) -> None:
        self.app = create(settings_in(folder)).app
        self.app.consumer_generation_id = 1
        self.recovery = self.app.tables.recovery
        self.table = self.app.tables["skills"]

    def expects(self, active: dict[TP, int], standby: dict[TP, int]) -> None:
        self.recovery.in_recovery = True
        for tp, end in active.items():
            self.recovery.add_active(self.table, tp)
            self.recovery.active_offsets[tp], self.recovery.active_highwaters[tp] = -1, end
        for tp, end in standby.items():
            self.recovery.add_standby(self.table, tp)
            self.recovery.standby_offsets[tp], self.recovery.standby_highwaters[tp] = -1, end


async def test_recovery_ends_with_the_last_record_and_not_before(tmp_path: Path) -> None:
    fetched = Fetched(tmp_path)
    fetched.expects({HERE: 3}, {})

    await fetched.recovery.apply_changelog({HERE: changes(0, (b"a", b"1"), (b"b", b"1"))})
    assert fetched.recovery.in_recovery
    await fetched.recovery.apply_changelog({HERE: changes(1, (b"b", b"old"), (b"c", b"1"), (b"d", b"1"))})

    assert not fetched.recovery.in_recovery
    assert fetched.recovery.signal_recovery_end.is_set()
    assert dict(fetched.table.data.items()) == {b"a": b"1", b"b": b"1", b"c": b"1", b"d": b"1"}


async def test_a_fetch_leaves_the_changelogs_with_the_recovery_and_brings_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched = Fetched(tmp_path)
    fetched.expects({HERE: 9}, {THERE: 1})
    source = TP("t.selections", 0)
    batch = {HERE: changes(4, (b"a", b"1")), source: [SimpleNamespace(offset=1)], THERE: changes(0, (b"s", b"1"))}
    stray = {TP(TOPIC, 3): changes(0, (b"x", b"1"))}
    found: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    found.set_result(batch | stray)
    consumer = fetched.app.transport.create_consumer(
        callback=print, on_partitions_revoked=print, on_partitions_assigned=print
    )
    monkeypatch.setattr(consumer._thread, "getmany", lambda *_: found)

    assert await consumer._getmany(None, 1.0) == {source: batch[source]}

    assert fetched.recovery.active_offsets[HERE] == 4
    assert fetched.recovery.standby_offsets[THERE] == 0
    assert list(fetched.table.data) == [b"a", b"s"], "another worker's partition is passed over"


async def test_the_end_of_one_recovery_is_not_that_of_the_next(table: LogFirstTable) -> None:
    """A worker that is given partitions twice waits for their tables each time."""
    recovery = table.app.tables.recovery
    recovery.active_tps.add(HERE)
    recovery.tp_to_table[HERE] = table
    for end in (2, 5):
        recovery.active_highwaters[HERE] = end
        recovery._set_recovery_started()
        assert not recovery.signal_recovery_end.is_set()

        await recovery.apply_changelog({HERE: changes(end - 1, (b"a", b"1"))})
        assert not recovery.signal_recovery_end.is_set()
        await recovery.apply_changelog({HERE: changes(end, (b"b", b"2"))})

        assert recovery.signal_recovery_end.is_set()


@pytest.mark.parametrize("repaired", [SeekingConsumerThread, EmbeddedConsumerThread])
def test_faust_does_not_check_the_event_path_of_a_partition(repaired: type[Any]) -> None:
    """Repair 6: its check logs errors about idle partitions, and fails during a seek."""
    thread = object.__new__(repaired)

    thread.verify_event_path(600.0, HERE)
    thread.verify_recovery_event_path(600.0, HERE)


@dataclass
class Partition:
    highwater: int | None = None


@dataclass
class Broker:
    """A fetcher and its broker, which finds records only where a fetch waits long enough."""

    end: int = 0
    needs_ms: int = SHORTEST_WAIT_MS
    position: int = 0
    waits: list[int] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)
    partition: Partition = field(default_factory=Partition)
    _fetch_max_wait_ms: int = 500

    def state_value(self, partition: TopicPartition) -> Partition:
        assert partition == TopicPartition("t", 0)
        return self.partition

    async def _proc_fetch_request(self, assignment: Any, node_id: int, request: Any) -> bool:
        self.waits.append(self._fetch_max_wait_ms)
        self.partition.highwater = self.end
        came = self.position < self.end and self._fetch_max_wait_ms >= self.needs_ms
        self.position += came
        return came

    @property
    def topics(self) -> list[Any]:
        return [("t", [(0, self.position, 1_000)])]

    async def fetches(self, times: int) -> list[bool]:
        return [await self._proc_fetch_request(self, 1, self) for _ in range(times)]


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Broker:
    made = Broker()

    real_sleep = asyncio.sleep

    async def sleep(seconds: float) -> None:
        if threading.current_thread() is threading.main_thread():
            made.pauses.append(seconds)
        else:  # a server that an earlier test of this process started
            await real_sleep(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    made._proc_fetch_request = PacedFetches(made)  # type: ignore[method-assign]
    return made


def test_pauses_grow_without_records_and_reset_with_one(broker: Broker) -> None:
    asyncio.run(broker.fetches(20))
    broker.end = 1
    came = asyncio.run(broker.fetches(3))

    assert came == [True, False, False]
    assert (broker.pauses[0], broker.pauses[19]) == (SHORTEST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS)
    assert broker.pauses[:20] == sorted(broker.pauses[:20])
    assert (len(broker.pauses), broker.pauses[20]) == (22, SHORTEST_PAUSE_SECONDS), "no pause after records"
    assert set(broker.waits) == {SHORTEST_WAIT_MS}, "an idle broker looks for a millisecond"


def test_a_busy_broker_gets_the_time_to_find_the_records_that_it_reports(broker: Broker) -> None:
    """With 1 ms each, a worker beside other work stood still in front of thousands of records."""
    broker.end, broker.needs_ms = 3, 30

    came = asyncio.run(broker.fetches(9))

    assert came == [False] * 5 + [True] * 3 + [False], (
        "each fetch waits twice as long, and then all of them bring records"
    )
    assert broker.pauses == [SHORTEST_PAUSE_SECONDS], "no pause in front of records"
    assert broker.waits == [1, 2, 4, 8, 16, 32, 32, 32, 32]
    assert broker._fetch_max_wait_ms == SHORTEST_WAIT_MS, "once all is read, the broker is idle again"


async def test_a_fetch_that_is_cancelled_in_its_pause_answers_as_aiokafkas_own_does() -> None:
    """When a consumer stops, aiokafka cancels its fetches and awaits them. An error there stalls its end."""
    broker = Broker()
    broker._proc_fetch_request = PacedFetches(broker)  # type: ignore[method-assign]
    asked = asyncio.create_task(broker._proc_fetch_request(broker, 1, broker))
    await asyncio.sleep(0)
    asked.cancel()

    assert await asked is False


def record(name: str, text: str, *args: object, exc_info: object = None) -> logging.LogRecord:
    return logging.LogRecord(name, logging.ERROR, __file__, 1, text, args, exc_info)


def test_a_repeated_log_message_is_rate_limited() -> None:
    seldom = RateLimitFilter()
    attempts = [record("aiokafka.conn", "no connection to %s (attempt %s)", "node 1", n) for n in range(21)]
    attempts.append(record("sager.worker", "no connection to %s (attempt %s)", "node 1", 21))

    logged = [attempt.getMessage() for attempt in attempts if seldom.filter(attempt)]

    assert logged == ["no connection to node 1 (attempt 0)", "no connection to node 1 (attempt 21)"]


def test_the_first_names_keep_theirs_and_the_rest_share_one() -> None:
    names = BoundedLabels(["prior"])
    told = [names[f"domain-{number}"] for number in range(1_000)]

    assert len(set(told)) == MAX_LABELS
    assert told[0] == "domain-0"
    assert told[-1] == OTHER
    assert names["domain-3"] == "domain-3"
    assert names["prior"] == "prior"


def app_in(folder: Path) -> WorkerApp:
    return create(settings_in(folder)).app


async def test_a_batch_reaches_the_stream_of_its_agent_although_the_flow_was_stopped(tmp_path: Path) -> None:
    """Faust clears the queues of its own channels when the flow goes on: these records would never come again."""
    app = app_in(tmp_path)
    app.consumer_generation_id = 1
    app.flow_control.resume()
    stream = app.agents["evolve"].channel_iterator.clone(is_iterator=True)
    app.flow_control.suspend()

    app.reader.dispatch(("t.contrasts", 1), [Record("t.contrasts", 1, 5, b"key", b"value", 0)])
    app.flow_control.clear()
    app.flow_control.resume()

    [event] = await anext(stream)
    assert (event.tp, event.offset, event.value) == (TP("t.contrasts", 1), 5, b"value")
