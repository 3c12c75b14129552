"""Follows a compacted topic in a thread, for a local copy."""

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Self

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition

from streams.exceptions import KafkaUnreachable
from streams.kafka.clients import client_config, no_group
from streams.kafka.scanner import int_of
from streams.settings import Settings

logger = logging.getLogger("sager.kafka")

SILENT_SECONDS, POLL_SECONDS, AGAIN_SECONDS = 30.0, 0.2, 5.0
MOST_AT_ONCE = 2_000


class Follower:
    """Reads and follows a topic; its thread calls `take` with every record."""

    def __init__(self, settings: Settings, base: str, take: Callable[[Message], None]) -> None:
        self._settings, self._base, self._take = settings, base, take
        self._name = settings.topic(base)
        self._stop, self._ready = threading.Event(), threading.Event()
        self._last_record = time.monotonic()
        self._next: dict[int, int] = {}
        self._unread: set[int] = set()
        self._requested: SimpleQueue[tuple[int, threading.Event]] = SimpleQueue()
        self._waiting: defaultdict[int, list[threading.Event]] = defaultdict(list)
        self._thread = threading.Thread(target=self._follow, name=f"follow-{base}", daemon=True)

    def start(self) -> Self:
        """Start following, and wait until the whole topic is read."""
        self._last_record = time.monotonic()
        self._thread.start()
        while not self._ready.wait(1.0):
            if time.monotonic() - self._last_record > SILENT_SECONDS:
                self.stop()
                raise KafkaUnreachable(
                    f"the topic {self._name} could not be read: {self._settings.bootstrap} has been silent for "
                    f"{SILENT_SECONDS:.0f} s. Is Kafka up, and do the topics exist? See `sager topics`"
                )
        return self

    def stop(self) -> None:
        """End the reading thread."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(10)

    def reach_end(self, partition: int) -> threading.Event:
        """Return an event that is set once a partition's records were read."""
        reached = threading.Event()
        self._requested.put((partition, reached))
        return reached

    def _follow(self) -> None:
        # Retry after errors: otherwise an owner of items, and its rebalance, would wait for ever.
        while not self._stop.is_set():
            try:
                self._read()
            except Exception:
                logger.exception("%s is not followed; again in %.0f s", self._name, AGAIN_SECONDS)
                self._stop.wait(AGAIN_SECONDS)

    def _read(self) -> None:
        config = {"enable.partition.eof": True, "auto.offset.reset": "earliest"}
        consumer = Consumer(client_config(self._settings, **no_group(self._base), **config))
        try:
            partitions = partitions_of(consumer, self._name, self._stop)
            self._unread = set(partitions)
            consumer.assign([self._where(partition) for partition in partitions])
            while not self._stop.is_set():
                self._seek_requested(consumer)
                first = consumer.poll(POLL_SECONDS)
                if first is not None:
                    for message in [first, *consumer.consume(MOST_AT_ONCE - 1, 0)]:
                        self._on_message(message)
                    self._last_record = time.monotonic()
                if not self._unread:
                    self._ready.set()
        finally:
            consumer.close()

    def _where(self, partition: int) -> TopicPartition:
        return TopicPartition(self._name, partition, self._next.get(partition, OFFSET_BEGINNING))

    def _seek_requested(self, consumer: Consumer) -> None:
        """Seek requested partitions: a client reports an end once per seek."""
        again = []
        while not self._requested.empty():  # no other thread takes from it
            partition, reached = self._requested.get()
            try:
                consumer.seek(self._where(partition))
                self._waiting[partition].append(reached)
            except KafkaException:  # not fetched yet
                again.append((partition, reached))
        for each in again:
            self._requested.put(each)

    def _on_message(self, message: Message) -> None:
        error = message.error()
        if error is None:
            self._take(message)
            self._next[int_of(message.partition())] = int_of(message.offset()) + 1
        elif error.code() == KafkaError._PARTITION_EOF:
            partition = int_of(message.partition())
            self._unread.discard(partition)
            for reached in self._waiting.pop(partition, ()):
                reached.set()


def partitions_of(consumer: Consumer, topic: str, is_over: threading.Event) -> list[int]:
    """Return a topic's partitions once the broker knows it; none if stopped."""
    while not is_over.is_set():
        with suppress(Exception):  # the broker may still be starting, and the caller has a deadline
            found = consumer.list_topics(topic, timeout=5).topics[topic]
            if found.error is None and found.partitions:
                return sorted(found.partitions)
        time.sleep(0.2)
    return []
