"""Records on their way to Kafka: whoever sends waits where the queue is full, and is told of what was refused."""

from typing import Any

from confluent_kafka import KafkaError, Message, Producer

from streams.exceptions import NotProduced
from streams.kafka.clients import producer_config
from streams.settings import Settings

BY_KEY = -1
"""Instead of a partition: the one that the key decides."""


class Outbox:
    """A producer and what has become of its records.

    Args:
        settings: the deployment.
        more: settings of librdkafka besides, see `producer_config`.
    """

    def __init__(self, settings: Settings, **more: Any) -> None:
        self._producer = Producer(producer_config(settings, **more))
        self._refused: list[str] = []

    def send(self, topic: str, key: bytes | None, value: bytes, partition: int = BY_KEY) -> None:
        """Produce a record on the topic of this whole name.

        Raises:
            KafkaException: it is too large, or the topic's name or partition is none.
        """
        while True:
            try:
                self._producer.produce(topic, value, key, partition, on_delivery=self._delivered)
            except BufferError:
                # The queue is full: let deliveries make room, which is the back-pressure a sender should feel.
                self._producer.poll(0.5)
            else:
                self._producer.poll(0)
                return

    def flush(self, seconds: float, what: str) -> None:
        """Wait until the broker has all that was sent.

        Args:
            seconds: how long at most.
            what: the plural of what a record is, for the error.

        Raises:
            NotProduced: it took not all of it in time, or refused some, now or before.
        """
        left = self._producer.flush(seconds)
        if left or self._refused:
            first = f"; the first: {self._refused[0]}" if self._refused else ""
            raise NotProduced(f"{left} {what} unsent after {seconds:.0f} s, {len(self._refused)} refused{first}")

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._refused.append(f"{message.topic()}: {error.str()}")
