"""Sends records to Kafka and waits, without blocking the event loop, until it has acknowledged them."""

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from schemas import Event, encode, topic_of
from streams.http.problems import Problem
from streams.kafka.clients import partition_of, producer_config
from streams.kafka.producer import BY_KEY
from streams.settings import Settings

POLL_SECONDS = 1.0
ACKNOWLEDGED_SECONDS = 20.0
RETRY = {"Retry-After": "5"}


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A record to be sent.

    Attributes:
        topic: the topic's whole name.
        key, value: its bytes.
        partition: where it belongs.
    """

    topic: str
    key: bytes | None
    value: bytes
    partition: int


class _Batch:
    """Records that are on their way together."""

    def __init__(self, size: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._left, self._failed = size, False
        self.done: asyncio.Future[bool] = self._loop.create_future()

    def delivered(self, error: KafkaError | None, _: Message) -> None:
        """One record is there, or refused; called in the polling thread only."""
        self._failed = self._failed or error is not None
        self._left -= 1
        if not self._left:
            self._loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        if not self.done.done():
            self.done.set_result(not self._failed)


class Sender:
    """A producer for the event loop. It connects with its first record.

    Args:
        settings: the deployment.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._producer: Producer | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._poll, name="deliveries", daemon=True)

    def outgoing(self, event: Event) -> Outgoing:
        """An event of the registry as a record on the partition of its user."""
        topic, user = topic_of(type(event)), getattr(event, "user_id", None)
        partition = BY_KEY if user is None else partition_of(user, self._settings.partitions)
        return Outgoing(topic.name(self._settings.prefix), topic.key_of(event), encode(event), partition)

    async def send(self, records: Sequence[Outgoing]) -> None:
        """Sends the records and returns once all are acknowledged by all replicas in sync.

        Raises:
            Problem: Kafka did not take all of them in time; some may be there, so the same may be sent again.
        """
        if not records:
            return
        batch = _Batch(len(records))
        try:
            producer = self._connected()
            for each in records:
                producer.produce(each.topic, each.value, each.key, each.partition, on_delivery=batch.delivered)
            async with asyncio.timeout(ACKNOWLEDGED_SECONDS):
                is_there = await batch.done
        except (BufferError, TimeoutError, KafkaException) as error:
            raise _not_taken() from error
        if not is_there:
            raise _not_taken()

    def close(self) -> None:
        """Ends the thread; what is not acknowledged yet was told to nobody as sent."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(2 * POLL_SECONDS)

    def _connected(self) -> Producer:
        if self._producer is None:
            # Who was told that Kafka has not acknowledged it sends it again: it must not pile up here meanwhile.
            give_up = {"message.timeout.ms": int(1000 * ACKNOWLEDGED_SECONDS)}
            self._producer = Producer(producer_config(self._settings, **give_up))
            self._thread.start()
        return self._producer

    def _poll(self) -> None:
        while not self._stop.is_set():
            if self._producer is not None:
                self._producer.poll(POLL_SECONDS)


def _not_taken() -> Problem:
    return Problem(
        503,
        "Kafka has not acknowledged everything; some of it may be there. Send the same again, with the same event ids",
        RETRY,
    )
