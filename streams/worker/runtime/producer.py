"""Sends a worker's records and the changelogs of its tables.

Faust's producer costs 1.5 CPU ms per choice: a buffer, a task and a wake-up per record. This one is librdkafka's with a
future per record, which the event loop polls while any is open. Agents and tables of users keep Faust's producer.

A record that is not delivered within `delivery_seconds` is dropped (see `membership`). It may be in the log
nevertheless, if only its acknowledgement was lost. Sending it again is harmless on compacted topics; for diffs, the
writer reads the end of the log first.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, Message
from faust.types import TP

from schemas.topics import TOPICS
from streams.kafka.clients import partition_of, producer_config
from streams.settings import Settings
from streams.worker import metrics
from streams.worker.runtime.membership import CLOCK, Membership, PartitionRevoked

logger = logging.getLogger("sager.producer")

SESSION_SHARE, POLL_SECONDS = 0.7, 0.002
# At most the smallest limit of a topic: the broker refuses a batch with all its records.
BATCH_BYTES = 256 * 1024
QUEUE_KIBIBYTES = 64 * 1024
# After these errors a producer delivers nothing more. The embedded broker answers PRODUCER_FENCED after any dropped
# record.
FATAL_CODES = frozenset(
    {
        KafkaError._FATAL,
        KafkaError.PRODUCER_FENCED,
        KafkaError.INVALID_PRODUCER_EPOCH,
        KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER,
        KafkaError.UNKNOWN_PRODUCER_ID,
    }
)
FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS, QUEUE_FULL_SECONDS = 0.2, 10.0, 0.01

_Result = TypeVar("_Result")


class RecordPosition(NamedTuple):
    """The partition and offset of a delivered record."""

    topic_partition: TP
    offset: int


class DeliveryFailed(Exception):
    """A record was refused or not acknowledged; it may be sent again."""


class MessageSizeTooLarge(Exception):
    """A record exceeds the topic's limit, so another attempt would fail too."""


class QueueFull(Exception):
    """The producer's queue is full. Retry after re-checking the fence."""


def delivery_seconds(session_seconds: float) -> float:
    """Return after how many seconds a record expires, within the session."""
    return SESSION_SHARE * session_seconds


class KafkaProducer:
    """One librdkafka producer per codec; `more` are further librdkafka settings."""

    def __init__(self, settings: Settings, **more: Any) -> None:
        self._codecs = {
            settings.topic(base): topic.compression or settings.compression for base, topic in TOPICS.items()
        }
        self._settings = settings
        self._own = {
            "acks": "all",
            "linger.ms": 1_000 * settings.linger_seconds,
            "batch.size": BATCH_BYTES,
            "queue.buffering.max.kbytes": QUEUE_KIBIBYTES,
            "message.timeout.ms": int(1_000 * delivery_seconds(settings.session_seconds)),
            **more,
        }
        self._producers: dict[str, confluent_kafka.Producer] = {}
        self._retired: list[confluent_kafka.Producer] = []
        self._under_way = 0
        self._polls = False

    def producer_of(self, topic: str) -> confluent_kafka.Producer:
        """Return the librdkafka producer for this topic's codec."""
        codec = self._codecs.get(topic, self._settings.compression)
        if codec not in self._producers:
            # gzip's default level takes five times the CPU of its fastest; -1 is the default of a codec.
            compression = {"compression.type": codec, "compression.level": 1 if codec == "gzip" else -1}
            config = producer_config(self._settings, **self._own, **compression)
            self._producers[codec] = confluent_kafka.Producer(config)
        return self._producers[codec]

    def send(
        self, topic: str, partition: int, key: bytes | None, value: bytes | None
    ) -> "asyncio.Future[RecordPosition]":
        """Send a record; the future resolves once all replicas have it.

        Raises QueueFull if nothing was sent, MessageSizeTooLarge if no topic accepts the record, and DeliveryFailed if
        the producer is broken; the next record goes to a new one.
        """
        loop = asyncio.get_running_loop()
        producer = self.producer_of(topic)
        future: asyncio.Future[RecordPosition] = loop.create_future()
        delivered = partial(self._on_delivery, producer, future, topic)
        try:
            producer.produce(topic, value, key, partition, delivered)
        except BufferError as error:
            raise QueueFull from error
        except KafkaException as error:
            raise self._handle_failure(producer, error.args[0]) from error
        self._under_way += 1
        if not self._polls:
            self._polls = True
            loop.call_later(POLL_SECONDS, self._poll, loop)
        return future

    def _poll(self, loop: asyncio.AbstractEventLoop) -> None:
        for each in (*self._producers.values(), *self._retired):
            each.poll(0)
        self._retired = [old for old in self._retired if len(old)]
        self._polls = self._under_way > 0
        if self._polls:
            loop.call_later(POLL_SECONDS, self._poll, loop)

    def _on_delivery(
        self,
        producer: confluent_kafka.Producer,
        future: "asyncio.Future[RecordPosition]",
        topic: str,
        error: KafkaError | None,
        message: Message,
    ) -> None:
        self._under_way -= 1
        failed = None if error is None else self._handle_failure(producer, error)
        if future.done():  # its task was cancelled
            return
        if failed is not None:
            future.set_exception(failed)
        else:
            future.set_result(RecordPosition(TP(topic, message.partition()), message.offset() or 0))

    def _handle_failure(self, producer: confluent_kafka.Producer, error: KafkaError) -> Exception:
        """Return the exception for an error; replace a broken producer."""
        if error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
            return MessageSizeTooLarge(error.str())
        if producer not in self._retired and (error.fatal() or error.code() in FATAL_CODES):
            logger.warning("replacing a broken producer: %s", error.str())
            self._producers = {codec: each for codec, each in self._producers.items() if each is not producer}
            self._retired.append(producer)
            producer.purge(in_queue=True, in_flight=True, blocking=False)
        return DeliveryFailed(error.str())


class Producer:
    """Sends a worker's records while its partitions are certainly its own."""

    def __init__(self, app: Any, settings: Settings) -> None:
        self._app = app
        self.kafka = KafkaProducer(settings)
        self.partitions = settings.partitions
        self._names = {base: settings.topic(base) for base in TOPICS}

    def generation(self) -> int:
        """Return the consumer generation, which changes with every rebalance."""
        return int(self._app.consumer_generation_id)

    async def send(
        self,
        event: Any,
        base: str,
        key: bytes | None,
        value: bytes | None,
        partition: int | None = None,
        is_logged: Callable[[], Awaitable[bool]] | None = None,
    ) -> RecordPosition:
        """Send a record or tombstone, and retry until the broker has it.

        `partition` defaults to that of the key. For a record that must not be in the log twice, `is_logged` is called
        before each further attempt and returns true if the log has it. Raises as `retry` does.
        """
        if partition is None:
            partition = partition_of((key or b"").decode(), TOPICS[base].partitions(self.partitions))
        topic, has_tried = self._names[base], False

        async def attempt() -> RecordPosition:
            nonlocal has_tried
            if has_tried and is_logged is not None and await is_logged():
                return RecordPosition(TP(topic, partition), 0)
            sending = self.kafka.send(topic, partition, key, value)
            has_tried = True
            return await sending

        sent = await self.retry(event, base, attempt)
        metrics.labelled(metrics.SENT, base).inc()
        return sent

    async def retry(self, event: Any, purpose: str, attempt: Callable[[], Awaitable[_Result]]) -> _Result:
        """Repeat an attempt until it succeeds, and return its result.

        Raises PartitionRevoked if the event's partition has moved, and MessageSizeTooLarge.
        """
        delay = FIRST_RETRY_SECONDS
        while True:
            member: Membership = self._app.membership
            if time.clock_gettime(CLOCK) >= member.send_until and not await member.wait_until_sendable():
                raise PartitionRevoked
            if event.generation_id != self._app.consumer_generation_id:
                raise PartitionRevoked
            try:
                return await attempt()
            except MessageSizeTooLarge:
                raise
            except QueueFull:
                await asyncio.sleep(QUEUE_FULL_SECONDS)
            except Exception as error:
                logger.warning("%s failed, again in %.1f s: %s", purpose, delay, error)
                await asyncio.sleep(delay)
                delay = min(2 * delay, LAST_RETRY_SECONDS)
