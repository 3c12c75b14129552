"""Producers of commands: `send` blocks while full, `flush` raises delivery errors."""

import uuid
from collections.abc import Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from schemas import TOPICS, Event, encode, topic_of
from streams.exceptions import NotProduced, TopicsDiffer
from streams.kafka.clients import partition_of, producer_config
from streams.settings import Settings

METADATA_SECONDS, FLUSH_SECONDS = 5.0, 30.0
# Instead of a partition: the partition of the key.
BY_KEY = -1


class RecordWriter(AbstractContextManager["RecordWriter"]):
    """A producer that remembers refused records; the context manager flushes.

    `more` are further settings of librdkafka.
    """

    def __init__(self, settings: Settings, **more: Any) -> None:
        self._producer = Producer(producer_config(settings, **more))
        self._refused: list[str] = []
        self._settings = settings
        self._counts: dict[str, int] | None = None

    def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        partition: int = BY_KEY,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Produce a record or a tombstone on the topic of this name."""
        if partition != BY_KEY:
            self._check(topic)
        while True:
            try:
                self._producer.produce(
                    topic, value, key, partition, on_delivery=self._delivered, headers=dict(headers or {})
                )
            except BufferError:
                self._producer.poll(0.5)  # deliveries make room
                continue
            except KafkaException as error:  # larger than the producer's limit: no delivery report
                self._refused.append(f"{topic}: {error.args[0].str()}")
            self._producer.poll(0)
            return

    def send_event(self, event: Event) -> None:
        """Produce an event on its topic."""
        topic = topic_of(type(event))
        user_id = getattr(event, "user_id", None)
        # Explicit: the partition depends on the user alone, also if the key has the domain.
        partition = BY_KEY if user_id is None else partition_of(user_id, self._settings.partitions)
        self.send(topic.name(self._settings.prefix), topic.key_of(event), encode(event), partition)

    def _check(self, topic: str) -> None:
        """Raise if the topic's number of partitions differs from the settings."""
        # List all topics: a request for one may create it.
        if self._counts is None:
            try:
                listed = self._producer.list_topics(timeout=METADATA_SECONDS).topics
            except KafkaException:
                listed = {}
            self._counts = {name: len(found.partitions) for name, found in listed.items()}
        registered = TOPICS.get(topic.removeprefix(self._settings.prefix))
        if registered is None or topic not in self._counts:
            return
        found, wanted = self._counts[topic], registered.partitions(self._settings.partitions)
        if found != wanted:
            raise TopicsDiffer(
                f"SAGER_PARTITIONS is {self._settings.partitions}, but {topic} has {found} partitions: set "
                f"SAGER_PARTITIONS={found}, or SAGER_PREFIX to the right deployment"
            )

    def flush(self, seconds: float = FLUSH_SECONDS, what: str = "events") -> None:
        """Wait until the broker has every record; `what` names them in errors."""
        left = self._producer.flush(seconds)
        refused, self._refused = self._refused, []
        if left or refused:
            first = f"; the first: {refused[0]}" if refused else ""
            raise NotProduced(f"{left} {what} unsent after {seconds:.0f} s, {len(refused)} refused{first}")

    def __exit__(self, *error: object) -> None:
        self.flush()

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._refused.append(f"{message.topic()}: {error.str()}")


def envelope(at: datetime) -> dict[str, Any]:
    """Return the fields that every event has, with a new id."""
    return {"event_id": uuid.uuid4().hex, "occurred_at": at}
