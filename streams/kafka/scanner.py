"""Reads topics in bulk, to their end, without a consumer group."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, KafkaError, KafkaException, Message, TopicPartition

from schemas import TOPICS
from streams.exceptions import KafkaUnreachable, StreamsError
from streams.kafka.clients import client_config, no_group
from streams.kafka.ends import UnreadPartitions
from streams.settings import Settings

SILENT_SECONDS, REQUEST_SECONDS, POLL_SECONDS = 30.0, 10.0, 0.05

# Called with the number of read records and the estimated total.
OnProgress = Callable[[int, int], None]
OnStageProgress = Callable[[str, int, int], None]  # the stage's name, the records done, and about how many there are


class NoSuchTopic(StreamsError, LookupError):
    """The broker does not have a topic."""


class Scanner(AbstractContextManager["Scanner"]):
    """Reads any part of a deployment's topics; a context manager."""

    def __init__(self, settings: Settings, silent_seconds: float = SILENT_SECONDS) -> None:
        self._settings, self._silent_seconds = settings, silent_seconds
        config = {
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "allow.auto.create.topics": False,
            # An empty answer marks the end of a partition, and the broker waits this long for records.
            "fetch.wait.max.ms": 50,
            "fetch.message.max.bytes": max(topic.max_message_bytes for topic in TOPICS.values()),
        }
        self._consumer = Consumer(client_config(settings, **no_group("scan"), **config))

    def partitions(self, base: str) -> list[TopicPartition]:
        """Return all partitions of a topic of the registry, from their beginning."""
        name = self._settings.topic(base)
        try:
            found = self._consumer.list_topics(name, timeout=REQUEST_SECONDS).topics[name]
        except KafkaException as error:
            raise KafkaUnreachable(
                f"no Kafka answers at {self._settings.bootstrap} ({error.args[0].str()}): is it up?"
            ) from error
        if found.error is not None or not found.partitions:
            raise NoSuchTopic(
                f"there is no topic {name} at {self._settings.bootstrap}: is SAGER_PREFIX right? "
                "`sager topics` compares"
            )
        return [TopicPartition(name, number, OFFSET_BEGINNING) for number in sorted(found.partitions)]

    def from_time(self, where: Sequence[TopicPartition], timestamp_ms: int) -> list[TopicPartition]:
        """Return the partitions from their first record of this time or later."""
        asked = [TopicPartition(each.topic, each.partition, timestamp_ms) for each in where]
        try:
            return list(self._consumer.offsets_for_times(asked, timeout=REQUEST_SECONDS))
        except KafkaException:
            return list(where)  # callers check the records' time stamps too

    def size(self, where: Iterable[TopicPartition]) -> int:
        """Estimate the records after these offsets; the embedded broker reports too few."""
        total = 0
        for each in where:
            low, high = self._bounds(each)
            total += 0 if each.offset == OFFSET_END else max(0, high - max(low, each.offset))
        return total

    def end(self, where: TopicPartition) -> int:
        """Return a partition's end offset; too low on the embedded broker."""
        return self._bounds(where)[1]

    def read(self, where: Sequence[TopicPartition], on_progress: OnProgress | None = None) -> Iterator[Message]:
        """Yield all records from these offsets to each partition's current end."""
        if not where:
            return
        # The size is a question to the broker for each partition.
        total = self.size(where) if on_progress is not None else 0
        self._consumer.assign(list(where))
        unread, done, heard = UnreadPartitions(self._consumer, where), 0, time.monotonic()
        while unread:
            for message in self._consumer.consume(2_000, POLL_SECONDS):
                error = message.error()
                if error is None or error.code() == KafkaError._PARTITION_EOF:
                    heard = time.monotonic()
                unread.on_message(message)
                if error is None:
                    done += 1
                    yield message
            if on_progress is not None:
                on_progress(done, max(done, total))
            if time.monotonic() - heard > self._silent_seconds:
                raise KafkaUnreachable(
                    f"{where[0].topic} could not be read to its end: {self._settings.bootstrap} has not answered for "
                    f"{self._silent_seconds:.0f} s. `sager doctor` looks further"
                )

    def newest(self, where: Sequence[TopicPartition]) -> dict[bytes, bytes]:
        """Return each key's newest value, without keys that end in a tombstone."""
        newest = {message.key() or b"": message.value() for message in self.read(where)}
        return {key: value for key, value in newest.items() if value is not None}

    def _bounds(self, where: TopicPartition) -> tuple[int, int]:
        try:
            return self._consumer.get_watermark_offsets(where, timeout=REQUEST_SECONDS) or (0, 0)
        except KafkaException as error:
            raise KafkaUnreachable(f"{where.topic} cannot be read: {error.args[0].str()}") from error

    def __exit__(self, *error: object) -> None:
        self._consumer.close()


def int_of(value: Any) -> int:
    """Return a message's partition or offset, which the client's types declare optional."""
    return int(value)


def sent_at_ms(message: Message) -> int:
    """Return a record's time in milliseconds since 1970; 0 if unknown."""
    return max(0, int_of(message.timestamp()[1]))
