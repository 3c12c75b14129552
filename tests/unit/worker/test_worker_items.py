"""The items' side of the graph in a worker: one store, an owner for each partition, and the log between them."""

import asyncio
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators.graph.items import neighbour_of
from schemas import ItemMemory, ItemUpdate, TouchedItem, compound_key
from streams.kafka.clients import partition_of
from streams.kafka.follower import Follower
from streams.pseudonyms import secret_of
from streams.worker.items import ERASURE_KEY, ItemStore
from streams.worker.runtime.producer import MessageSizeTooLarge, RecordPosition
from tests.builders import a_candidate, a_time, an_interaction
from tests.fake_log import FakeDeployment, FakeWorker, settings_in


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 6), st.booleans()), max_size=40))
def test_a_store_holds_the_compacted_log_in_its_order(records: list[tuple[int, int, bool]]) -> None:
    store = ItemStore()
    left: dict[tuple[int, bytes], bytes] = {}
    for offset, (partition, number, is_gone) in enumerate(records):
        key, value = b"item-%d" % number, None if is_gone else b"value %d" % offset
        left.pop((partition, key), None)
        if value is not None:
            left[partition, key] = value
        store.put(partition, offset, key, value)
    for partition in (0, 1):
        keys = [key for where, key in left if where == partition]
        assert store.keys(partition) == keys
        assert store.count(partition) == len(keys)
        assert [store.get(partition, key) for key in keys] == [left[partition, key] for key in keys]
        assert store.oldest(partition, 2, keys[:1]) == keys[1:3]


def take(deployment: FakeDeployment, user: str, *names: str) -> None:
    for number, name in enumerate(names):
        item, at = a_candidate(name, genres=["Drama"]), a_time() + timedelta(minutes=number)
        event = an_interaction(item, user_id=user, domain="films", occurred_at=at, event_id=f"{user}-{number}")
        deployment.log.put(event)


def takers(deployment: FakeDeployment, name: str) -> set[str]:
    held = deployment.log.newest(ItemMemory)[compound_key(name, "films")]
    return {taker.neighbour for taker in held.takers}


def names(deployment: FakeDeployment, *users: str) -> set[str]:
    return {neighbour_of(user, secret_of(deployment.settings)) for user in users}


async def test_a_choice_is_one_record_for_each_partition_of_its_items(deployment: FakeDeployment) -> None:
    take(deployment, "ann", *(f"film-{number}" for number in range(6)))
    await deployment.worker().quiet()

    touches = deployment.log.values(ItemUpdate)
    assert max(Counter(touch.version for touch in touches).values()) <= deployment.settings.partitions
    assert {each.item_id for touch in touches for each in touch.items} == {f"film-{number}" for number in range(6)}


async def test_a_new_owner_begins_where_the_log_ends(deployment: FakeDeployment) -> None:
    """Its copy of the log is behind when it is given its first touch."""
    log = deployment.log
    for user in ("ann", "bob"):
        take(deployment, user, "hot")
    first = deployment.worker()
    log.is_followed = False
    await first.quiet()
    await first.stop()
    second = deployment.worker(1)
    assert second.parts.deps.items.store.count(partition_of("hot", 2)) == 0, "it has read nothing"

    take(deployment, "kim", "hot")
    await second.quiet()

    assert takers(deployment, "hot") == names(deployment, "ann", "bob", "kim")


async def test_an_owner_with_a_stale_copy_uses_its_own_writes(deployment: FakeDeployment) -> None:
    worker = deployment.worker()
    take(deployment, "ann", "hot")
    await worker.quiet()
    deployment.log.is_followed = False
    for user in ("bob", "kim"):
        take(deployment, user, "hot")
        await worker.quiet()

    assert takers(deployment, "hot") == names(deployment, "ann", "bob", "kim")


async def test_updates_in_flight_at_a_rebalance_come_again(deployment: FakeDeployment) -> None:
    """Their items are on their way to the log: they are not acknowledged by an owner that is none any more."""
    worker = deployment.worker()
    gate = worker.hold("item-memories")
    take(deployment, "ann", "hot")
    await worker.until(lambda: gate.waiting > 0, "an item on its way")
    worker.assign()
    take(deployment, "bob", "hot")
    await worker.settle()
    assert worker.is_behind("item-touches")
    gate.open()
    await worker.quiet()

    assert takers(deployment, "hot") == names(deployment, "ann", "bob")
    await asyncio.wait_for(worker.parts.app.reader.wait_empty(), 60)


async def test_items_are_bounded_and_the_longest_silent_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deployment = FakeDeployment(settings_in(tmp_path, graph_items=100, fan_out=0), monkeypatch)
    worker = deployment.worker()
    for round_ in range(4):
        take(deployment, f"user-{round_}", *(f"film-{round_}-{number}" for number in range(60)), "hot")
        await worker.quiet()
    take(deployment, "last", *(f"last-{number}" for number in range(deployment.settings.partitions)))
    await worker.quiet()

    left = deployment.log.newest(ItemMemory)
    assert 90 <= len(left) <= 110
    assert takers(deployment, "hot") == names(deployment, *(f"user-{round_}" for round_ in range(4)))
    assert not [item for item in left.values() if item.item_id.startswith("film-0")]
    held = worker.parts.deps.items.store
    assert sum(held.count(partition) for partition in range(2)) == len(left), "the log and its copies are bounded alike"
    await deployment.close()


async def test_nothing_on_its_topics_stops_it(deployment: FakeDeployment) -> None:
    where = partition_of("hot", 2)
    for value in (b"\x10", b"\x10" + b"\xff" * 40, b"\x02" + b"\xff" * 9, b"no json", b"{}", b""):
        deployment.log.put_bytes("item-memories", value, compound_key("hot", "films"), where)
    for value in (b"no json", b"{}", b'{"taker": 3}', b""):
        deployment.log.put_bytes("item-touches", value, None, where)
    astray = ItemUpdate(
        domain="films",
        taker=neighbour_of("kim", secret_of(deployment.settings)),
        version=1,
        degree=1,
        items=(TouchedItem(item_id="hot", at=a_time()),),
    )
    deployment.log.put(astray, partition=1 - where)
    take(deployment, "ann", "hot")

    await deployment.worker().quiet()

    assert len(deployment.log.of("dead-letters")) == 4
    assert takers(deployment, "hot") == names(deployment, "ann", "kim")


def a_touch(deployment: FakeDeployment, user: str, name: str, **more: Any) -> ItemUpdate:
    neighbour = neighbour_of(user, secret_of(deployment.settings))
    items = (TouchedItem(item_id=name, at=a_time()),)
    return ItemUpdate(domain="films", taker=neighbour, version=1, degree=1, items=items, **more)


def refuse(worker: FakeWorker, is_refused: Callable[[bytes | None, bytes | None], bool]) -> None:
    """Have the broker take no such keys and values of items: they are too large for it."""
    producer = worker.parts.producer.kafka
    send = producer.send

    def sent(topic: str, partition: int, key: bytes | None, value: bytes | None) -> asyncio.Future[RecordPosition]:
        if topic.endswith(ItemMemory.TOPIC) and is_refused(key, value):
            raise MessageSizeTooLarge("too large")
        return send(topic, partition, key, value)

    producer.send = sent  # type: ignore[assignment]


async def test_an_item_too_large_for_the_broker_is_reset(deployment: FakeDeployment) -> None:
    worker = deployment.worker()
    hot = compound_key("hot", "films")
    refuse(worker, lambda key, value: key == hot and value is not None and value.count(b"user:") > 2)
    for user in ("ann", "bob", "kim", "lou"):
        take(deployment, user, "hot", f"own-{user}")
        await worker.quiet()

    assert names(deployment, "lou") <= takers(deployment, "hot") <= names(deployment, "kim", "lou")
    assert takers(deployment, "own-kim") == names(deployment, "kim")


async def test_a_request_whose_answer_fails_is_acknowledged_once(deployment: FakeDeployment) -> None:
    worker = deployment.worker()
    refuse(worker, lambda key, _: key == ERASURE_KEY)
    deployment.log.put(a_touch(deployment, "ann", "hot", forgotten="please"), partition=0)

    await worker.quiet()

    assert len(deployment.log.of("dead-letters")) == 1
    assert worker.parts.app.reader._unfinished == 0


async def test_an_abandoned_owner_does_not_block_a_rebalance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is let go by a flush, while a touch of its partition is on its way to where it belongs."""
    deployment = FakeDeployment(settings_in(tmp_path, graph_flush_seconds=0.2), monkeypatch)
    worker = deployment.worker()
    where = partition_of("hot", 2)
    other = next(name for name in map(str, range(99)) if partition_of(name, 2) != where)
    gate = worker.hold("item-touches")
    deployment.log.put(a_touch(deployment, "ann", "hot"), partition=where)
    deployment.log.put(a_touch(deployment, "bob", other), partition=where)
    await worker.until(lambda: gate.waiting > 0, "a touch on its way")
    reader = worker.parts.app.reader
    assert reader._unfinished == 2

    worker.parts.app.membership.lose()
    await worker.until(lambda: reader._unfinished == 1, "the owner let go")
    gate.open()

    await worker.until(lambda: reader._unfinished == 0, "nothing under way")
    worker.assign()
    await worker.quiet()
    assert takers(deployment, "hot") == names(deployment, "ann")
    assert takers(deployment, other) == names(deployment, "bob")
    await deployment.close()


async def test_a_log_read_late_does_not_restore_an_erased_user(
    deployment: FakeDeployment,
) -> None:
    """The copy of the log has neither the item nor its removal, then the item, and its removal last."""
    log, where = deployment.log, partition_of("hot", 2)
    worker = deployment.worker()
    log.put(a_touch(deployment, "kim", "cold"), partition=partition_of("cold", 2))
    await worker.quiet()
    log.is_followed = False
    log.put(a_touch(deployment, "ann", "hot"), partition=where)
    await worker.quiet()
    [written] = [record for record in log.of("item-memories") if record.key == compound_key("hot", "films")]
    log.put(a_touch(deployment, "ann", "hot", forgotten="-", every_domain=True), partition=where)
    await worker.quiet()
    log.put(a_touch(deployment, "lou", "else"), partition=where)
    await worker.quiet()

    worker.parts.deps.items.take(where, written.offset, written.key or b"", written.value)
    log.put(a_touch(deployment, "bob", "hot"), partition=where)
    await worker.quiet()

    assert takers(deployment, "hot") == names(deployment, "bob")


def test_a_log_is_followed_again_after_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without it an owner, and with it a rebalance, would wait for ever."""
    monkeypatch.setattr("streams.kafka.follower.AGAIN_SECONDS", 0.001)
    follower = Follower(settings_in(tmp_path), [ItemMemory.TOPIC], lambda _: None)
    reads: list[int] = []

    def read() -> None:
        reads.append(1)
        if len(reads) == 1:
            raise MemoryError
        follower.is_ready = True
        follower._stop.wait()

    monkeypatch.setattr(follower, "_read", read)

    follower.read_all()

    assert len(reads) == 2
    follower.stop()
