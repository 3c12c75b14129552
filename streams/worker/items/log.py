"""Follows the log of all items, in a thread, and tells when a partition's end was reached."""

import logging
import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Protocol

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition

from schemas import ItemMemory
from streams.exceptions import BrokerUnreachable
from streams.kafka.clients import client_config, no_group
from streams.kafka.follower import partitions_of
from streams.kafka.scanner import int_of
from streams.settings import Settings

logger = logging.getLogger("sager.worker")

SILENT_SECONDS = 30.0
POLL_SECONDS = 0.2
AGAIN_SECONDS = 5.0
MOST_AT_ONCE = 2_000


class Reader(Protocol):
    """What takes the records."""

    def position(self, partition: int) -> int | None:
        """The offset to begin with; None: the beginning."""

    def take(self, partition: int, offset: int, key: bytes, value: bytes | None) -> None:
        """Take a record; None is a tombstone."""

    def settle(self) -> None:
        """All records that were there have been taken."""


class ItemLog:
    """Reads `item-memories` without a consumer group, all of it, and then follows.

    Args:
        settings: the deployment.
        reader: gets every record, in the reading thread.
    """

    def __init__(self, settings: Settings, reader: Reader) -> None:
        self._settings, self._reader = settings, reader
        self._name = settings.topic(ItemMemory.TOPIC)
        self._stop, self._ready = threading.Event(), threading.Event()
        self._heard = time.monotonic()
        self._asked: SimpleQueue[tuple[int, threading.Event]] = SimpleQueue()
        self._waiting: dict[int, list[threading.Event]] = {}
        self._unread: set[int] = set()
        self._thread = threading.Thread(target=self._follow, name="follow-items", daemon=True)

    def start(self, tell: Callable[[], None] = lambda: None) -> None:
        """Begin to follow, and wait until all that is on the log has been read, however long that takes.

        Args:
            tell: called once a second while it is being read.

        Raises:
            BrokerUnreachable: nothing came for half a minute.
        """
        self._heard = time.monotonic()
        self._thread.start()
        while not self._ready.wait(1.0):
            tell()
            if time.monotonic() - self._heard > SILENT_SECONDS:
                self.stop()
                raise BrokerUnreachable(
                    f"the topic {self._name} could not be read: {self._settings.bootstrap} has said nothing for "
                    f"{SILENT_SECONDS:.0f} s. Is Kafka up, and do the topics exist? `sager topics` tells"
                )

    def stop(self) -> None:
        """End the reading thread."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(10)

    def reach_end(self, partition: int) -> threading.Event:
        """Is set once the end that a partition has from now on was reached, and all before it was taken."""
        reached = threading.Event()
        self._asked.put((partition, reached))
        return reached

    def _follow(self) -> None:
        """Read until the end, and again from where it came to after what cannot be helped here, such as a full disk.

        Without a follower a partition's owner would wait for ever, and a rebalance for the owner.
        """
        while not self._stop.is_set():
            try:
                self._read()
            except Exception:
                logger.exception("the items of the graph are not followed; again in %.0f s", AGAIN_SECONDS)
                self._stop.wait(AGAIN_SECONDS)

    def _read(self) -> None:
        config = {"enable.partition.eof": True, "auto.offset.reset": "earliest"}
        consumer = Consumer(client_config(self._settings, **no_group("items"), **config))
        try:
            partitions = partitions_of(consumer, self._name, self._stop)
            self._unread = set(partitions)
            consumer.assign([self._where(partition) for partition in partitions])
            while not self._stop.is_set():
                self._read_again(consumer)
                first = consumer.poll(POLL_SECONDS)
                if first is not None:
                    self._take([first, *consumer.consume(MOST_AT_ONCE - 1, 0)])
                if not self._unread:
                    self._ready.set()
        finally:
            consumer.close()

    def _where(self, partition: int) -> TopicPartition:
        position = self._reader.position(partition)
        return TopicPartition(self._name, partition, OFFSET_BEGINNING if position is None else position)

    def _read_again(self, consumer: Consumer) -> None:
        """Go to where each partition is that somebody waits for.

        A client tells an end once. After a seek it forgets what it has fetched, and tells the end that it finds then.
        """
        again = []
        while True:
            try:
                partition, reached = self._asked.get_nowait()
            except Empty:
                break
            try:
                consumer.seek(self._where(partition))
                self._waiting.setdefault(partition, []).append(reached)
            except KafkaException:  # it is not being fetched yet
                again.append((partition, reached))
        for each in again:
            self._asked.put(each)

    def _take(self, messages: list[Message]) -> None:
        for message in messages:
            error = message.error()
            if error is None:
                self._reader.take(
                    int_of(message.partition()), int_of(message.offset()), message.key() or b"", _raw(message)
                )
            elif error.code() == KafkaError._PARTITION_EOF:
                self._on_end(int_of(message.partition()))
        self._reader.settle()
        self._heard = time.monotonic()

    def _on_end(self, partition: int) -> None:
        self._unread.discard(partition)
        waiting = self._waiting.pop(partition, ())
        for reached in waiting:
            reached.set()


def _raw(message: Message) -> bytes | None:
    value: bytes | None = message.value()
    return value
