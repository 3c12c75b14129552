"""Stores that are filled in batches: what they hold, up to where they say so, and what of it agents see."""

import asyncio
import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from faust.types import TP
from hypothesis import given
from hypothesis import strategies as st

from streams.worker.create import create
from streams.worker.runtime.producer import RecordPosition
from streams.worker.runtime.state import InflightWrites, LogFirstTable
from tests.fake_log import settings_in

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


async def test_a_batch_is_held_with_the_offset_that_it_reaches(table: LogFirstTable) -> None:
    table.apply_changelog(
        HERE, changes(3, (b"a", b"1"), (b"b", b"\xff no json"), (b"a", None), (None, b"stray"), (b"c", b"3"))
    )

    assert {key: table.data[key] for key in (b"b", b"c")} == {b"b": b"\xff no json", b"c": b"3"}
    assert b"a" not in table.data
    assert table.persisted_offset(HERE) == 7


async def test_a_store_is_no_further_than_what_it_holds_without_a_gap(table: LogFirstTable) -> None:
    """A later write that is acknowledged first: a worker that dies now needs the earlier one from the changelog."""
    table.apply_changelog(HERE, changes(0, (b"x", b"0")))
    table.begin_write(0, b"first")
    table.store_value(b"first", b"1", (HERE, 1))
    assert table.persisted_offset(HERE) == 1
    table.begin_write(0, b"a")
    table.begin_write(0, b"b")

    table.store_value(b"b", b"2", (HERE, 3))
    assert table.data[b"b"] == b"2"
    assert table.persisted_offset(HERE) == 1

    table.store_value(b"a", b"2", (HERE, 2))
    assert table.persisted_offset(HERE) == 3
    table.begin_write(0, b"too large")
    table.begin_write(0, b"a")
    table.cancel_write(0, b"too large")
    table.store_value(b"a", None, RecordPosition(HERE, 4))
    assert b"a" not in table.data
    assert table.persisted_offset(HERE) == 4


async def test_what_was_on_its_way_at_a_rebalance_says_nothing(table: LogFirstTable) -> None:
    table.apply_changelog(HERE, changes(0, (b"x", b"0")))
    table.begin_write(0, b"a")
    await assigned(table, {HERE}, set())

    table.store_value(b"a", b"1", (HERE, 9))

    assert table.data[b"a"] == b"1"
    assert table.persisted_offset(HERE) == 0, "recovery reads on from there"


async def test_a_partition_that_went_is_not_written_to_and_comes_back_whole(table: LogFirstTable) -> None:
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


async def test_what_arrives_when_its_partition_is_a_standby_is_left_to_the_changelog(table: LogFirstTable) -> None:
    """It was on its way at the rebalance. No agent may see it, and it may be older than what the standby holds."""
    await assigned(table, {HERE, THERE}, set())
    table.begin_write(THERE.partition, b"key")
    await assigned(table, {HERE}, {THERE})

    table.store_value(b"key", b"value", RecordPosition(THERE, 5))

    assert b"key" not in set(table.data)


async def test_a_key_that_stands_on_two_partitions_stops_no_rebalance(table: LogFirstTable) -> None:
    """Somebody wrote to a changelog by hand."""
    await assigned(table, {HERE, THERE}, set())
    for tp in (HERE, THERE):
        table.apply_changelog(tp, changes(0, (b"key", b"value")))

    await assigned(table, set(), {HERE, THERE})

    assert table._standby == {HERE.partition, THERE.partition}


async def test_what_a_standby_holds_is_seen_once_it_takes_over(tmp_path: Path) -> None:
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
