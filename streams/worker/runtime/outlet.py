"""The outlet: a librdkafka producer per codec for all of a worker's records, its tables' changelogs included.

Faust's own producer costs a CPU millisecond and a half per choice: a buffer, a task and a wake-up per record. The
outlet returns a future per record. While any is open, the event loop polls the producer every few milliseconds.

**The fence.** The sender has checked its `membership`. After a freeze the producer would still send its queued records,
behind those that a successor has written since. So a record that is not delivered within `delivery_seconds` is dropped,
and membership must be certain for that much longer.

A dropped record may be in the log all the same, if only its acknowledgement was lost. Sending it again is harmless
where a newer value replaces an older one, and `evolve` looks for a diff in the log first.
"""

import asyncio
import logging
from functools import partial
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from faust.types import TP

from schemas.topics import TOPICS
from streams.kafka.clients import producer_config
from streams.settings import Compression, Settings

logger = logging.getLogger("sager.outlet")

SHARE_OF_SESSION, POLL_SECONDS = 0.7, 0.002
BATCH_BYTES = 256 * 1024
"""No more than the smallest limit of a topic: a batch that is refused is refused with all its records."""
QUEUE_KIBIBYTES = 64 * 1024
FASTEST, USUAL = 1, -1
"""Levels of compression: gzip's highest take five times the CPU."""
BROKEN = frozenset(
    {
        KafkaError._FATAL,
        KafkaError.PRODUCER_FENCED,
        KafkaError.INVALID_PRODUCER_EPOCH,
        KafkaError.OUT_OF_ORDER_SEQUENCE_NUMBER,
        KafkaError.UNKNOWN_PRODUCER_ID,
    }
)
"""After these a producer delivers nothing more. The embedded broker answers the second after any dropped record."""


class Delivered(NamedTuple):
    """The place of a record in its log."""

    topic_partition: TP
    offset: int


class Undelivered(Exception):
    """A record was not acknowledged in time, or was refused; it may be sent again."""


class MessageSizeTooLarge(Exception):
    """A record is larger than the topic takes, so another attempt would fail too."""


class Full(Exception):
    """The producer's queue is full: retry after checking the fence again."""


def delivery_seconds(session_seconds: float) -> float:
    """Return how long a record may take: it expires, with the lease that it was sent under, before the session."""
    return SHARE_OF_SESSION * session_seconds


class Outlet:
    """A worker's producer, bound to the event loop of its first use; `more` are further librdkafka settings."""

    def __init__(self, settings: Settings, **more: Any) -> None:
        self._codecs = {
            settings.topic(base): Compression(topic.compression or settings.compression)
            for base, topic in TOPICS.items()
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
        self._producers: dict[Compression, Producer] = {}
        self._retired: list[Producer] = []
        self._under_way = 0
        self._polls = False

    def send(self, topic: str, partition: int, key: bytes | None, value: bytes | None) -> "asyncio.Future[Delivered]":
        """Send a record; the future is done once all replicas have it, or fails with one of the errors below.

        Raises Full if nothing was sent, MessageSizeTooLarge if no topic of ours takes it, and Undelivered if the
        producer is broken; the next record goes to a new one.
        """
        loop = asyncio.get_running_loop()
        producer = self._producer(self._codecs.get(topic, self._settings.compression))
        future: asyncio.Future[Delivered] = loop.create_future()
        delivered = partial(self._on_delivery, producer, future, topic, partition)
        try:
            producer.produce(topic, value, key, partition, delivered)
        except BufferError as error:
            raise Full from error
        except KafkaException as error:
            raise self._failure(producer, error.args[0]) from error
        self._under_way += 1
        if not self._polls:
            self._polls = True
            loop.call_later(POLL_SECONDS, self._poll, loop)
        return future

    def _producer(self, codec: Compression) -> Producer:
        if codec not in self._producers:
            level = FASTEST if codec is Compression.GZIP else USUAL
            compression = {"compression.type": codec.value, "compression.level": level}
            self._producers[codec] = Producer(producer_config(self._settings, **self._own, **compression))
        return self._producers[codec]

    def _poll(self, loop: asyncio.AbstractEventLoop) -> None:
        for each in (*self._producers.values(), *self._retired):
            each.poll(0)
        self._retired = [old for old in self._retired if len(old)]
        self._polls = self._under_way > 0
        if self._polls:
            loop.call_later(POLL_SECONDS, self._poll, loop)

    def _on_delivery(
        self,
        producer: Producer,
        future: "asyncio.Future[Delivered]",
        topic: str,
        partition: int,
        error: KafkaError | None,
        message: Message,
    ) -> None:
        self._under_way -= 1
        failed = None if error is None else self._failure(producer, error)
        if future.done():  # its task was cancelled
            return
        if failed is not None:
            future.set_exception(failed)
        else:
            future.set_result(Delivered(TP(topic, partition), message.offset() or 0))

    def _failure(self, producer: Producer, error: KafkaError) -> Exception:
        """Return our exception for an error, and replace a producer that it breaks."""
        if error.code() == KafkaError.MSG_SIZE_TOO_LARGE:
            return MessageSizeTooLarge(error.str())
        if producer not in self._retired and (error.fatal() or error.code() in BROKEN):
            logger.warning("a new producer takes the place of one that is broken: %s", error.str())
            self._producers = {codec: each for codec, each in self._producers.items() if each is not producer}
            self._retired.append(producer)
            producer.purge(in_queue=True, in_flight=True, blocking=False)
        return Undelivered(error.str())
