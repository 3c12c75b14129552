"""Delivers slim skills to one endpoint: batch by batch from its own cursor, with backoff while it is down."""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

import aiohttp
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

from schemas import derived_id
from streams.kafka.scanner import int_of, sent_at_ms
from streams.webhooks import metrics
from streams.webhooks.endpoints import Endpoint
from streams.webhooks.messages import RESET, EndpointDown, Notification, body_of, post

LANES = 4
"""Messages on their way to an endpoint at once."""
BATCH = 500
MAX_REFUSALS = 5
MAX_WAIT_SECONDS = 300.0
POLL_SECONDS = 0.2
MAX_AWAY_MS = 20 * 3_600_000
"""An endpoint that is further behind starts over: Kafka keeps the tombstones of erased users for a day."""

log = logging.getLogger("sager.webhooks")


@dataclass(frozen=True)
class Cursor:
    """The progress of an endpoint on a partition: it has everything before `offset`, and all there was at `at_ms`."""

    offset: int
    at_ms: int


class Reader:
    """Reads the topic of slim skills, without blocking.

    Args:
        consumer: its own one, with events at the end of partitions.
    """

    def __init__(self, consumer: Consumer, topic: str) -> None:
        self._consumer, self._topic = consumer, topic
        self._unread: set[int] = set()

    @property
    def is_at_end(self) -> bool:
        """True if everything was read."""
        return not self._unread

    def seek(self, offsets: dict[int, int]) -> None:
        """Go on from these offsets by partition; 0 is the beginning."""
        self._unread = set(offsets)
        places = [TopicPartition(self._topic, each, offset or OFFSET_BEGINNING) for each, offset in offsets.items()]
        self._consumer.assign(places)

    def read(self) -> list[Notification]:
        """Return the next records that have arrived."""
        found = []
        for message in self._consumer.consume(BATCH, 0):
            error, partition = message.error(), int_of(message.partition())
            if error is None:
                offset, at_ms = int_of(message.offset()), sent_at_ms(message)
                found.append(Notification(message.key() or b"", message.value(), partition, offset, at_ms))
                self._unread.add(partition)
            elif error.code() == KafkaError._PARTITION_EOF:
                self._unread.discard(partition)
        return found

    def lag(self, offsets: dict[int, int]) -> int:
        """Return the number of records behind these offsets, as far as the consumer knows."""
        lag = 0
        for partition, offset in offsets.items():
            if marks := self._consumer.get_watermark_offsets(TopicPartition(self._topic, partition), cached=True):
                lag += max(0, marks[1] - max(offset, marks[0]))
        return lag


class Delivery:
    """The messages of one endpoint.

    Args:
        reader: of the topic.
        give_up: keeps a message that is refused for good.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        session: aiohttp.ClientSession,
        reader: Reader,
        give_up: Callable[[Notification, Endpoint, str], Awaitable[None]],
    ) -> None:
        self.endpoint, self._session, self._reader, self._give_up = endpoint, session, reader, give_up
        self.is_gone = False
        self._offsets: dict[int, int] = {}
        self._at_ms = 0
        self._must_reset = False
        self._delivered: dict[bytes, Notification] = {}
        """The newest of each key behind the cursor that the endpoint has already."""
        self._failures = 0
        metrics.begin(endpoint.name)

    @property
    def is_down(self) -> bool:
        """True while the endpoint accepts no messages."""
        return self.is_gone or self._failures > 1

    def start(self, ends: dict[int, int], cursors: dict[int, Cursor]) -> None:
        """Go on from the cursors, or start over if the endpoint may lack something.

        Args:
            ends: the end of each partition; a cursor beyond it is of an earlier topic of this name.
            cursors: the last ones that were committed.
        """
        self._offsets = {partition: cursors[partition].offset for partition in ends if partition in cursors}
        self._at_ms = min((each.at_ms for each in cursors.values()), default=0)
        if len(self._offsets) < len(ends) or any(offset > ends[each] for each, offset in self._offsets.items()):
            self._offsets = ends
            self._start_over()
        else:
            self._reader.seek(self._offsets)

    def cursors(self) -> dict[int, Cursor]:
        """Return the progress by partition; none while the endpoint starts over, or is gone."""
        if self._must_reset or self.is_gone:
            return {}
        return {partition: Cursor(offset, self._at_ms) for partition, offset in self._offsets.items()}

    def measure(self) -> None:
        """Update the metrics."""
        lag = self._reader.lag(self._offsets)
        metrics.PENDING.labels(self.endpoint.name).set(lag)
        metrics.OLDEST.labels(self.endpoint.name).set(max(0, now_ms() - self._at_ms) / 1000 if lag else 0)

    async def run(self) -> None:
        """Deliver until cancelled, or until the endpoint is gone."""
        while not self.is_gone:
            try:
                await self._round()
            except EndpointDown as down:
                await self._wait(down)
            except Exception:
                log.exception("a delivery to %s failed", self.endpoint.name)
                await self._wait(EndpointDown("an error of our own"))

    async def _round(self) -> None:
        """Deliver the records that have arrived, and advance the cursor."""
        if now_ms() - self._at_ms > MAX_AWAY_MS:
            self._start_over()
        if self._must_reset:
            now = datetime.now(UTC)
            message_id = f"msg_{derived_id(self.endpoint.name, RESET, now.isoformat())}"
            if refusal := await self._post(message_id, body_of(RESET, now, {})):
                raise EndpointDown(refusal)
            metrics.RESETS.labels(self.endpoint.name).inc()
            self._must_reset = False
        began = now_ms()
        found = self._reader.read()
        await self._deliver(found)
        for each in found:
            self._offsets[each.partition] = each.offset + 1
        self._delivered = {
            key: each for key, each in self._delivered.items() if each.offset >= self._offsets[each.partition]
        }
        if self._reader.is_at_end:
            self._at_ms = began
        if not found:
            await asyncio.sleep(POLL_SECONDS)

    def _start_over(self) -> None:
        log.warning("the endpoint %s is new or was away for too long: it starts over", self.endpoint.name)
        self._offsets, self._at_ms, self._must_reset = dict.fromkeys(self._offsets, 0), now_ms(), True
        self._delivered.clear()
        self._reader.seek(self._offsets)

    async def _deliver(self, found: Iterable[Notification]) -> None:
        """Deliver the newest of each key, several at once.

        Raises:
            EndpointDown: the endpoint does not accept all of them.
        """
        newest = {each.key: each for each in found if each.about is not None and self.endpoint.wants(*each.about)}
        known = self._delivered
        left = iter([each for key, each in newest.items() if key not in known or known[key].offset < each.offset])

        async def lane() -> None:
            for each in left:
                await self._send(each)
                self._delivered[each.key] = each

        lanes = 1 if self._failures else LANES
        for error in await asyncio.gather(*(lane() for _ in range(lanes)), return_exceptions=True):
            if error is not None:
                raise error

    async def _send(self, note: Notification) -> None:
        """Send one message; after several refusals it is given up, unless it is an erasure."""
        body = note.body()
        if body is None:
            return
        for refusals in range(1, MAX_REFUSALS + 1):
            refusal = await self._post(note.id_for(self.endpoint.name), body)
            if not refusal:
                return
            if refusals < MAX_REFUSALS:
                await asyncio.sleep(_backoff(refusals))
        if note.value is None:
            raise EndpointDown(f"it refuses an erasure with {refusal}")
        await self._give_up(note, self.endpoint, refusal)
        metrics.DELIVERIES.labels(self.endpoint.name, "given-up").inc()

    async def _post(self, message_id: str, body: bytes) -> str:
        refusal = await post(self._session, self.endpoint, message_id, body)
        if self._failures and not refusal:
            log.info("the endpoint %s answers again", self.endpoint.name)
            self._failures = 0
        metrics.DELIVERIES.labels(self.endpoint.name, "refused" if refusal else "delivered").inc()
        return refusal

    async def _wait(self, down: EndpointDown) -> None:
        """Wait before the next round, which reads the batch again: by then it may hold newer slim skills."""
        metrics.DELIVERIES.labels(self.endpoint.name, "failed").inc()
        self.is_gone = down.is_gone
        if self.is_gone:
            log.error("the endpoint %s is gone (410): it gets no message until the next start", self.endpoint.name)
            return
        self._failures += 1
        if self._failures == 1:
            log.warning("the endpoint %s accepts no messages: %s", self.endpoint.name, down)
        await asyncio.sleep(down.retry_after or _backoff(self._failures))
        self._reader.seek(self._offsets)


def now_ms() -> int:
    """Return the time in milliseconds since 1970."""
    return int(time.time() * 1000)


def _backoff(times: int) -> float:
    """Return the seconds until the next attempt: doubled each time, and by chance up to half less."""
    return min(MAX_WAIT_SECONDS, 2.0 ** min(times - 1, 10)) * random.uniform(0.5, 1.0)  # noqa: S311 - no secret  # nosec B311
