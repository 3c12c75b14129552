"""Runs `sager webhooks`: delivers slim skills to each endpoint in order."""

import asyncio
import logging
import random
import signal
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime

import aiohttp
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition
from prometheus_client import Counter

from schemas import SlimSkill, derived_id
from streams import shutdown
from streams.kafka.clients import client_config
from streams.kafka.follower import partitions_of
from streams.kafka.scanner import REQUEST_SECONDS, int_of, sent_at_ms
from streams.settings import Settings
from streams.webhooks.messages import (
    RESET,
    Endpoint,
    EndpointDown,
    Notification,
    body_of,
    new_session,
    post,
)

BATCH = 500
MAX_WAIT_SECONDS = 300.0
POLL_SECONDS, COMMIT_SECONDS, TURN_SECONDS = 0.2, 1.0, 1.0
STUCK_SECONDS = 60.0
# An endpoint further behind starts over: Kafka keeps tombstones of erased users for a day only.
MAX_AWAY_MS = 20 * 3_600_000

DELIVERIES = Counter("sager_webhook_deliveries", "Attempts to deliver, by outcome.", ["endpoint", "outcome"])

log = logging.getLogger("sager.webhooks")


class Reader:
    """Reads the topic of slim skills for one endpoint."""

    def __init__(self, settings: Settings, endpoint: str) -> None:
        # No consumer joins the group, so one process at a time may run.
        config = {
            "group.id": f"{settings.app_id}-webhooks-{endpoint}",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
            "queued.max.messages.kbytes": 4_096,
        }
        self._consumer = Consumer(client_config(settings, **config))
        self._topic = settings.topic(SlimSkill.TOPIC)
        self._unread: dict[int, int] = {}  # by partition, the time of its last record that was read
        self.close = self._consumer.close

    @property
    def read_until_ms(self) -> int:
        """The time up to which all records were read; a busy partition never reports an end."""
        return min(self._unread.values(), default=now_ms())

    def progress(self, is_over: threading.Event) -> tuple[dict[int, int], dict[int, int], int]:
        """Return ends, committed offsets, and the newest commit's time. Blocks."""
        places = [TopicPartition(self._topic, each) for each in partitions_of(self._consumer, self._topic, is_over)]
        ends, committed, at_ms = dict[int, int](), dict[int, int](), 0
        for each in self._consumer.committed(places, timeout=REQUEST_SECONDS) if places else ():
            marks = self._consumer.get_watermark_offsets(each, timeout=REQUEST_SECONDS)
            ends[each.partition] = marks[1] if marks else 0
            if each.offset >= 0:
                committed[each.partition] = each.offset
                with suppress(ValueError):
                    at_ms = max(at_ms, int(each.metadata or ""))
        return ends, committed, at_ms

    def commit(self, offsets: dict[int, int], at_ms: int) -> None:
        """Commit offsets with their delivery time. Blocks."""
        places = [TopicPartition(self._topic, *each, metadata=str(at_ms)) for each in offsets.items()]
        self._consumer.commit(offsets=places, asynchronous=False)

    def seek(self, offsets: dict[int, int]) -> None:
        """Continue from these offsets by partition; 0 is the beginning."""
        self._unread = dict.fromkeys(offsets, 0)
        places = [TopicPartition(self._topic, each, offset or OFFSET_BEGINNING) for each, offset in offsets.items()]
        self._consumer.assign(places)

    def read(self) -> list[Notification]:
        """Return the records that have arrived, without blocking."""
        found = []
        for message in self._consumer.consume(BATCH, 0):
            error, partition = message.error(), int_of(message.partition())
            if error is None:
                offset, at_ms = int_of(message.offset()), sent_at_ms(message)
                found.append(Notification(message.key() or b"", message.value(), partition, offset, at_ms))
                self._unread[partition] = at_ms
            elif error.code() == KafkaError._PARTITION_EOF:
                self._unread.pop(partition, None)
        return found


class Delivery:
    """The messages of one endpoint."""

    def __init__(self, endpoint: Endpoint, session: aiohttp.ClientSession, reader: Reader) -> None:
        self.endpoint, self._session, self.reader = endpoint, session, reader
        self.offsets: dict[int, int] = {}
        self._at_ms = 0
        self._must_reset = False
        self._failures = 0
        self._committed_at = 0.0
        for outcome in ("delivered", "failed", "refused"):  # from 0, so that rates exist before the first
            DELIVERIES.labels(endpoint.name, outcome)

    @property
    def is_down(self) -> bool:
        """True while the endpoint accepts no messages."""
        return self._failures > 1

    def start(self, ends: dict[int, int], committed: dict[int, int], at_ms: int) -> None:
        """Continue from the committed offsets, or start over after a gap."""
        # An offset beyond the partition's end belongs to an earlier topic of this name.
        self.offsets, self._at_ms = ends | committed, at_ms
        if committed.keys() < ends.keys() or any(offset > ends.get(each, 0) for each, offset in committed.items()):
            self.offsets = ends
            self._start_over()
        else:
            self.reader.seek(self.offsets)

    async def run(self) -> None:
        """Deliver until cancelled."""
        while True:
            try:
                await self._round()
            except EndpointDown as down:
                await self._wait(down)
            except Exception:
                log.exception("a delivery to %s failed", self.endpoint.name)
                await self._wait(EndpointDown("an error of our own"))

    async def commit(self) -> None:
        """Commit the progress; none while the endpoint starts over."""
        if not self._must_reset:
            await asyncio.to_thread(self.reader.commit, dict(self.offsets), self._at_ms)

    async def _round(self) -> None:
        """Deliver the arrived records, of each key only the newest."""
        if now_ms() - self._at_ms > MAX_AWAY_MS:
            self._start_over()
        if self._must_reset:
            now = datetime.now(UTC)
            message_id = f"msg_{derived_id(self.endpoint.name, RESET, now.isoformat())}"
            if refusal := await self._post(message_id, body_of(RESET, now, {})):
                raise EndpointDown(refusal)
            self._must_reset = False
        began = now_ms()
        found = self.reader.read()
        newest = {each.key: each for each in found if each.subject is not None and self.endpoint.wants(*each.subject)}
        for each in found:
            if newest.get(each.key) is each:
                await self._send(each)
            self.offsets[each.partition] = each.offset + 1
        self._at_ms = max(self._at_ms, min(began, self.reader.read_until_ms))
        if time.monotonic() - self._committed_at >= COMMIT_SECONDS:
            await self.commit()
            self._committed_at = time.monotonic()
        if not found:
            await asyncio.sleep(POLL_SECONDS)

    def _start_over(self) -> None:
        log.warning("the endpoint %s is new or was down for too long: it starts over", self.endpoint.name)
        self.offsets, self._at_ms, self._must_reset = dict.fromkeys(self.offsets, 0), now_ms(), True
        self.reader.seek(self.offsets)

    async def _send(self, note: Notification) -> None:
        """Send a message; drop it if refused, but never an erasure."""
        body = note.body()
        if body is None:
            return
        if refusal := await self._post(note.id_for(self.endpoint.name), body):
            if note.value is None:
                raise EndpointDown(f"it refuses an erasure with {refusal}")
            log.warning("the endpoint %s refuses a message for good (%s)", self.endpoint.name, refusal)

    async def _post(self, message_id: str, body: bytes) -> str:
        refusal = await post(self._session, self.endpoint, message_id, body)
        if self._failures and not refusal:
            log.info("the endpoint %s answers again", self.endpoint.name)
            self._failures = 0
        DELIVERIES.labels(self.endpoint.name, "refused" if refusal else "delivered").inc()
        return refusal

    async def _wait(self, down: EndpointDown) -> None:
        """Wait before the next round, which reads the records again."""
        DELIVERIES.labels(self.endpoint.name, "failed").inc()
        self._failures += 1
        if self._failures == 1:
            log.warning("the endpoint %s accepts no messages: %s", self.endpoint.name, down)
        await asyncio.sleep(_backoff(self._failures))
        # Newer slim skills or erasures may have arrived.
        self.reader.seek(self.offsets)


class WebhooksHealth:
    """The health of the process; `down` names failing endpoints."""

    def __init__(self) -> None:
        self.doing, self.turned_at, self.is_ending = "looking for Kafka and its topics", time.monotonic(), False
        self.down: frozenset[str] = frozenset()

    def why_not_live(self) -> list[str]:
        """Return the reasons to restart the process."""
        still = time.monotonic() - self.turned_at
        return [f"nothing was read for {still:.0f} s"] if still > STUCK_SECONDS and not self.doing else []

    def why_not_ready(self) -> list[str]:
        """Return the reasons why messages do not arrive."""
        reasons = ["shutting down"] if self.is_ending else []
        reasons += [self.doing] if self.doing else []
        return reasons + [f"the endpoint {name} does not accept messages" for name in sorted(self.down)]


async def run(settings: Settings, health: WebhooksHealth, endpoints: Sequence[Endpoint]) -> None:
    """Deliver until SIGTERM or SIGINT, and update the health."""
    stop = threading.Event()

    def end() -> None:
        shutdown.start(settings.shutdown_seconds)
        health.is_ending = True
        stop.set()

    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, end)
    async with new_session() as session:
        deliveries = [Delivery(each, session, Reader(settings, each.name)) for each in endpoints]
        try:
            for each in deliveries:
                each.start(*await asyncio.to_thread(each.reader.progress, stop))
            tasks = [asyncio.create_task(each.run()) for each in deliveries]
            log.info("posting slim skills to %s endpoints", len(tasks))
            health.doing = ""
            while not stop.is_set():
                health.turned_at = time.monotonic()
                health.down = frozenset(each.endpoint.name for each in deliveries if each.is_down)
                await asyncio.sleep(TURN_SECONDS)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.gather(*(each.commit() for each in deliveries), return_exceptions=True)
        finally:
            for each in deliveries:
                await asyncio.to_thread(each.reader.close)


def now_ms() -> int:
    """Return the time in milliseconds since 1970."""
    return int(time.time() * 1000)


def _backoff(times: int) -> float:
    """Return the seconds until the next attempt, with jitter."""
    return min(MAX_WAIT_SECONDS, 2.0 ** min(times - 1, 10)) * random.uniform(0.5, 1.0)  # noqa: S311 - no secret  # nosec B311
