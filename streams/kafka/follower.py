"""Follows topics in a thread, for a local copy."""

import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from typing import Self

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, KafkaError, KafkaException, Message, TopicPartition

from streams.exceptions import KafkaUnreachable
from streams.kafka.clients import client_config, no_group
from streams.kafka.ends import UnreadPartitions
from streams.kafka.scanner import int_of
from streams.settings import Settings

logger = logging.getLogger("sager.kafka")

SILENT_SECONDS, POLL_SECONDS, AGAIN_SECONDS, READY_POLL_SECONDS = 30.0, 0.2, 5.0, 0.05
MOST_AT_ONCE = 2_000


class Follower:
    """Reads and follows topics; its thread calls `take` with every record.

    It begins with the first record of a topic, or after the last one of those in `from_end`.
    """

    def __init__(
        self,
        settings: Settings,
        bases: Sequence[str],
        take: Callable[[Message], None],
        *,
        group: str = "",
        from_end: Sequence[str] = (),
        **config: object,
    ) -> None:
        self._settings, self._take, self._group, self._config = settings, take, group or bases[0], config
        self._begin = {settings.topic(each): OFFSET_END if each in from_end else OFFSET_BEGINNING for each in bases}
        self._names = ", ".join(self._begin)
        self.is_ready = False  # True while all records that existed at the last start are read
        self._stop = threading.Event()
        self._last_record = time.monotonic()
        self._next: dict[tuple[str, int], int] = {}
        self._requested: SimpleQueue[tuple[tuple[str, int], threading.Event]] = SimpleQueue()
        self._waiting: defaultdict[tuple[str, int], list[threading.Event]] = defaultdict(list)
        self._thread = threading.Thread(target=self._follow, name=f"follow-{self._group}", daemon=True)

    def start(self) -> None:
        """Start following in a thread."""
        self._thread.start()

    def read_all(self) -> Self:
        """Start following, and wait until all is read."""
        self._last_record = time.monotonic()
        self.start()
        while not self.is_ready:
            time.sleep(READY_POLL_SECONDS)
            if time.monotonic() - self._last_record > SILENT_SECONDS:
                self.stop()
                raise KafkaUnreachable(
                    f"{self._names} could not be read: {self._settings.bootstrap} has been silent for "
                    f"{SILENT_SECONDS:.0f} s. Is Kafka up, and do the topics exist? See `sager topics`"
                )
        return self

    def stop(self) -> None:
        """End the reading thread."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(10)

    def reach_end(self, base: str, partition: int) -> threading.Event:
        """Return an event that is set once a partition's records were read."""
        reached = threading.Event()
        self._requested.put(((self._settings.topic(base), partition), reached))
        return reached

    def _follow(self) -> None:
        # Retry after errors: otherwise an owner of items, and its rebalance, would wait for ever.
        while not self._stop.is_set():
            try:
                self._read()
            except Exception:
                logger.exception("%s: not followed; again in %.0f s", self._names, AGAIN_SECONDS)
                self.is_ready = False  # the copy is outdated
                self._stop.wait(AGAIN_SECONDS)

    def _read(self) -> None:
        config = {"enable.partition.eof": True, "auto.offset.reset": "earliest", **self._config}
        consumer = Consumer(client_config(self._settings, **no_group(self._group), **config))
        try:
            places = [(name, each) for name in self._begin for each in partitions_of(consumer, name, self._stop)]
            partitions = list(map(self._where, places))
            consumer.assign(partitions)
            unread = UnreadPartitions(consumer, partitions)
            while not self._stop.is_set():
                self._seek_requested(consumer)
                # `consume` alone would wait for a full batch.
                first = consumer.poll(POLL_SECONDS)
                if first is not None:
                    for message in [first, *consumer.consume(MOST_AT_ONCE - 1, 0)]:
                        self._on_message(message)
                        unread.on_message(message)
                    self._last_record = time.monotonic()
                if not unread:
                    self.is_ready = True
        finally:
            consumer.close()

    def _where(self, place: tuple[str, int]) -> TopicPartition:
        return TopicPartition(*place, self._next.get(place, self._begin[place[0]]))

    def _seek_requested(self, consumer: Consumer) -> None:
        """Seek requested partitions: a client reports an end once per seek."""
        again = []
        while not self._requested.empty():  # no other thread takes from it
            place, reached = self._requested.get()
            try:
                consumer.seek(self._where(place))
                self._waiting[place].append(reached)
            except KafkaException:  # not fetched yet
                again.append((place, reached))
        for each in again:
            self._requested.put(each)

    def _on_message(self, message: Message) -> None:
        error, place = message.error(), (message.topic() or "", int_of(message.partition()))
        if error is None:
            self._take(message)
            self._next[place] = int_of(message.offset()) + 1
        elif error.code() == KafkaError._PARTITION_EOF:
            for reached in self._waiting.pop(place, ()):
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
