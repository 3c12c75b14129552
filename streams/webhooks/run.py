"""Runs `sager webhooks`: a consumer of slim skills for each endpoint, and the commit of their cursors."""

import asyncio
import logging
import signal
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime

import orjson
from confluent_kafka import OFFSET_INVALID, Consumer, KafkaException, Producer, TopicPartition

from schemas import DeadLetter, Position, SlimSkill, encode
from streams import shutdown
from streams.exceptions import NotProduced
from streams.kafka.clients import client_config, producer_config
from streams.kafka.follower import partitions_of
from streams.kafka.scanner import REQUEST_SECONDS
from streams.operations.dead_letters.reading import WEBHOOK
from streams.settings import Settings
from streams.webhooks.delivery import Cursor, Delivery, Reader
from streams.webhooks.endpoints import Endpoint
from streams.webhooks.messages import Notification, new_session

COMMIT_SECONDS = 1.0
FLUSH_SECONDS = 30.0
STUCK_SECONDS = 60.0

log = logging.getLogger("sager.webhooks")


class WebhooksHealth:
    """The health of the process, for `/live` and `/ready`.

    Attributes:
        doing: the step of the start; empty once it is done.
        turned_at: when the loop last turned, in monotonic seconds.
        is_ending: True once the shutdown has begun.
        down: the names of endpoints that accept no messages.
    """

    def __init__(self) -> None:
        self.doing, self.turned_at, self.is_ending = "looking for Kafka and its topics", time.monotonic(), False
        self.down: frozenset[str] = frozenset()

    def why_not_live(self) -> list[str]:
        """Return why the process should be restarted; an endpoint that is down is no reason."""
        still = time.monotonic() - self.turned_at
        return [f"nothing was read for {still:.0f} s"] if still > STUCK_SECONDS and not self.doing else []

    def why_not_ready(self) -> list[str]:
        """Return why messages do not arrive."""
        reasons = ["shutting down"] if self.is_ending else []
        reasons += [self.doing] if self.doing else []
        return reasons + [f"the endpoint {name} does not take messages" for name in sorted(self.down)]


class Webhooks:
    """The process.

    Args:
        health: updated as the loop runs.
    """

    def __init__(self, settings: Settings, health: WebhooksHealth) -> None:
        self._settings, self._health = settings, health
        self._topic = settings.topic(SlimSkill.TOPIC)
        self._stop = threading.Event()
        self._deliveries: list[Delivery] = []
        self._producer: Producer | None = None

    async def run(self, endpoints: Sequence[Endpoint]) -> None:
        """Deliver until SIGTERM or SIGINT."""
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, self._end)
        committing, *consumers = [self._consumer() for _ in (None, *endpoints)]
        try:
            ends, known = await asyncio.to_thread(self._committed, committing)
            async with new_session() as session:
                for endpoint, consumer in zip(endpoints, consumers, strict=True):
                    delivery = Delivery(endpoint, session, Reader(consumer, self._topic), self._give_up)
                    delivery.start(ends, known.get(endpoint.name, {}))
                    self._deliveries.append(delivery)
                tasks = [asyncio.create_task(each.run()) for each in self._deliveries]
                log.info("posting slim skills to %s endpoints", len(tasks))
                self._health.doing = ""
                while not self._stop.is_set():
                    await self._turn(committing)
                    await asyncio.sleep(COMMIT_SECONDS)
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
                await self._commit(committing)
        finally:
            for consumer in (committing, *consumers):
                await asyncio.to_thread(consumer.close)

    def _consumer(self) -> Consumer:
        # No consumer joins the group, so one process at a time may run.
        more = {
            "group.id": f"{self._settings.app_id}-webhooks",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
            "queued.max.messages.kbytes": 4_096,
        }
        return Consumer(client_config(self._settings, **more))

    def _end(self) -> None:
        shutdown.begin(self._settings.shutdown_seconds)
        self._health.is_ending = True
        self._stop.set()

    def _committed(self, consumer: Consumer) -> tuple[dict[int, int], dict[str, dict[int, Cursor]]]:
        """Return the end of each partition, and the cursors of each endpoint."""
        partitions = [TopicPartition(self._topic, each) for each in partitions_of(consumer, self._topic, self._stop)]
        ends = {}
        for each in partitions:
            marks = consumer.get_watermark_offsets(each, timeout=REQUEST_SECONDS)
            ends[each.partition] = marks[1] if marks else 0
        known: dict[str, dict[int, Cursor]] = {}
        for each in consumer.committed(partitions, timeout=REQUEST_SECONDS) if partitions else ():
            if each.offset != OFFSET_INVALID:
                for name, cursor in cursors_of(each.metadata).items():
                    known.setdefault(name, {})[each.partition] = cursor
        return ends, known

    async def _turn(self, consumer: Consumer) -> None:
        self._health.turned_at = time.monotonic()
        self._health.down = frozenset(each.endpoint.name for each in self._deliveries if each.is_down)
        for each in self._deliveries:
            each.measure()
        await self._commit(consumer)

    async def _commit(self, consumer: Consumer) -> None:
        """Commit the cursors as offsets with metadata; none while every endpoint starts over."""
        found = {each.endpoint.name: cursors for each in self._deliveries if (cursors := each.cursors())}
        offsets = []
        for partition in next(iter(found.values()), ()):
            own = {name: cursors[partition] for name, cursors in found.items()}
            least = min(cursor.offset for cursor in own.values())
            offsets.append(TopicPartition(self._topic, partition, least, metadata=metadata_of(own)))
        if offsets:
            try:
                await asyncio.to_thread(consumer.commit, offsets=offsets, asynchronous=False)
            except KafkaException as error:
                log.warning("the cursors of endpoints could not be committed: %s", error.args[0].str())

    async def _give_up(self, note: Notification, endpoint: Endpoint, reason: str) -> None:
        log.warning("the endpoint %s refuses a message for good (%s): it is a dead letter now", endpoint.name, reason)
        await asyncio.to_thread(self._produce, letter_of(note, endpoint.name, reason, self._topic))

    def _produce(self, letter: DeadLetter) -> None:
        self._producer = self._producer or Producer(producer_config(self._settings))
        failed: list[object] = []
        self._producer.produce(
            self._settings.topic(DeadLetter.TOPIC),
            encode(letter),
            letter.key,
            on_delivery=lambda error, _: failed.append(error) if error is not None else None,
        )
        if self._producer.flush(FLUSH_SECONDS) or failed:
            raise NotProduced("Kafka did not take a dead letter")


def metadata_of(cursors: dict[str, Cursor]) -> str:
    """Return the cursors of all endpoints on a partition as the metadata of its committed offset."""
    return orjson.dumps({name: [cursor.offset, cursor.at_ms] for name, cursor in cursors.items()}).decode()


def cursors_of(metadata: str | None) -> dict[str, Cursor]:
    """Return the cursors of such metadata; none if it is missing or another client's.

    >>> cursors_of(metadata_of({"shop": Cursor(7, 5)})), cursors_of("x")
    ({'shop': Cursor(offset=7, at_ms=5)}, {})
    """
    with suppress(orjson.JSONDecodeError, ValueError, TypeError, AttributeError):
        found = {name: Cursor(offset, at_ms) for name, (offset, at_ms) in orjson.loads(metadata or "").items()}
        if all(type(part) is int for cursor in found.values() for part in (cursor.offset, cursor.at_ms)):
            return found
    return {}


def letter_of(note: Notification, endpoint: str, reason: str, topic: str) -> DeadLetter:
    """Return the dead letter of a refused message. Replayed, every endpoint gets it again."""
    source = Position(topic=topic, partition=note.partition, offset=note.offset, timestamp_ms=note.at_ms)
    detail = f"the endpoint {endpoint} answered with {reason}"
    return DeadLetter.of(WEBHOOK, source, "refused", detail, note.key, note.value, datetime.now(UTC))
