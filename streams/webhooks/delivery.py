"""Delivers to one endpoint: a few at once, one of a person and domain at a time, and with patience while it is down."""

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import UTC, datetime

import aiohttp

from schemas import derived_id
from streams.webhooks import metrics
from streams.webhooks.endpoints import Endpoint
from streams.webhooks.messages import RESET, News, body_of, message_id, reset_body
from streams.webhooks.places import Place
from streams.webhooks.posting import Answer, Outcome, post
from streams.webhooks.queue import Queue

LANES = 4
"""Messages on their way to an endpoint at once."""
REFUSALS = 5
"""After so many refusals a message is given up."""
MOST_PENDING = 100_000
"""Keys that wait for an endpoint; beyond it, it begins anew. Some 50 MB."""
LEAST_WAIT_SECONDS, MAX_WAIT_SECONDS = 0.5, 300.0
IDLE_SECONDS = 1.0
AWAY_HOURS = 20
"""Who was told nothing for longer begins anew: Kafka keeps tombstones for a day."""
MS_PER_HOUR = 3_600_000

log = logging.getLogger("sager.webhooks")

GiveUp = Callable[[News, Endpoint, str], Awaitable[None]]
Everything = Callable[[], AsyncIterator[Sequence[News]]]


class Delivery:
    """One endpoint. Everything is called in one event loop.

    Args:
        endpoint: where to, and of whom.
        session: posts.
        everything: reads the whole topic, for those who begin anew.
        give_up: keeps a message that is refused for good.
        most: how many keys may wait.

    Attributes:
        queue: what it was not told yet.
        is_gone: whether it wants nothing any more.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        session: aiohttp.ClientSession,
        everything: Everything,
        give_up: GiveUp,
        most: int = MOST_PENDING,
    ) -> None:
        self.endpoint, self.queue = endpoint, Queue(most)
        self.is_gone = False
        self._session, self._everything, self._give_up = session, everything, give_up
        self._room = most // 2
        self._news = asyncio.Event()
        self._flying: set[asyncio.Task[None]] = set()
        self._anew, self._reading = False, False
        self._reader: asyncio.Task[None] | None = None
        self._heard: dict[bytes, int] = {}
        """While everything is read: the newest offset of each key that came meanwhile."""
        self._failures, self._not_before = 0, 0.0
        metrics.begin(endpoint.name)

    @property
    def is_down(self) -> bool:
        """Whether it takes no messages at the moment."""
        return self.is_gone or self._failures > 1

    def begin_anew(self) -> None:
        """Has it drop all that it holds and hear everything; what waits for it is in that."""
        if self._reader is not None:
            self._reader.cancel()
        self.queue.clear()
        self._heard.clear()
        self._anew, self._reading = True, False
        self._news.set()

    def take(self, news: News) -> None:
        """Takes a record of the topic."""
        if self._anew or self.is_gone or not self._is_wanted(news):
            return
        if self._reading:
            self._heard[news.key] = news.offset
        self._offer(news)

    def _offer(self, news: News) -> None:
        if not self.queue.offer(news):
            log.warning("too much waits for the endpoint %s: it begins anew", self.endpoint.name)
            self.begin_anew()
        self._news.set()

    def place(self, following: dict[int, int], now_ms: int) -> dict[int, Place] | None:
        """Where it is on each partition; None while that is nowhere: it begins anew, or is gone."""
        if self._anew or self._reading or self.is_gone:
            return None
        oldest = self.queue.oldest_ms()
        if oldest is not None and now_ms - oldest > AWAY_HOURS * MS_PER_HOUR:
            log.warning("the endpoint %s was away for %s hours: it begins anew", self.endpoint.name, AWAY_HOURS)
            self.begin_anew()
            return None
        at_ms = now_ms if oldest is None else oldest
        return {partition: Place(offset, at_ms) for partition, offset in self.queue.lowest(following).items()}

    def measure(self, now_ms: int) -> None:
        """Tells Prometheus."""
        oldest = self.queue.oldest_ms()
        metrics.PENDING.labels(self.endpoint.name).set(len(self.queue))
        metrics.OLDEST.labels(self.endpoint.name).set(0 if oldest is None else max(0.0, (now_ms - oldest) / 1000))

    async def run(self) -> None:
        """Delivers until it is cancelled, or the endpoint is gone."""
        try:
            while not self.is_gone:
                await self._turn()
        finally:
            tasks = [*self._flying, *([] if self._reader is None else [self._reader])]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _turn(self) -> None:
        wait = self._not_before - time.monotonic()
        if wait > 0:
            await asyncio.sleep(wait)
        elif self._anew:
            await self._reset()
        elif len(self._flying) >= (1 if self._failures else LANES):
            await asyncio.wait(self._flying, return_when=asyncio.FIRST_COMPLETED)
        elif (news := self.queue.take(time.monotonic())) is not None:
            task = asyncio.create_task(self._send(news))
            self._flying.add(task)
            task.add_done_callback(self._flown)
        else:
            self._news.clear()
            try:
                async with asyncio.timeout(IDLE_SECONDS):
                    await self._news.wait()
            except TimeoutError:
                return

    def _flown(self, task: asyncio.Task[None]) -> None:
        self._flying.discard(task)
        self._news.set()
        if not task.cancelled() and task.exception() is not None:
            log.error("a delivery to %s failed with %s", self.endpoint.name, type(task.exception()).__name__)

    async def _send(self, news: News) -> None:
        body = body_of(news)
        if body is None:
            self.queue.done(news)
            return
        try:
            answer = await post(self._session, self.endpoint, message_id(self.endpoint.name, news), body)
            if answer.outcome is Outcome.DELIVERED:
                self._counts(answer)
                self.queue.done(news)
            elif answer.outcome is Outcome.REFUSED:
                await self._refused(news, answer)
            else:
                self._failed(answer)
                self.queue.again(news)
        except BaseException:
            self.queue.again(news)
            raise

    async def _reset(self) -> None:
        """Before and after it nothing is on its way: it must not overtake anything."""
        if self._flying:
            await asyncio.wait(self._flying)
        now = datetime.now(UTC)
        ident = f"msg_{derived_id(self.endpoint.name, RESET, now.isoformat())}"
        answer = await post(self._session, self.endpoint, ident, reset_body(now))
        if answer.outcome is not Outcome.DELIVERED:
            self._failed(answer)
            return
        self._counts(answer)
        metrics.RESETS.labels(self.endpoint.name).inc()
        self._anew, self._reading = False, True
        self._reader = asyncio.create_task(self._read_all())  # held: a task without a reference may be collected

    async def _read_all(self) -> None:
        try:
            async for batch in self._everything():
                for news in batch:
                    while len(self.queue) >= self._room and not self._anew:  # noqa: ASYNC110 - many things make room
                        await asyncio.sleep(IDLE_SECONDS / 10)
                    if self._anew:
                        return
                    # What came meanwhile is newer: told before, it must not be followed by what was before it.
                    if self._heard.get(news.key, -1) < news.offset and self._is_wanted(news):
                        self._offer(news)
        except Exception as error:
            log.warning("the topic could not be read for %s (%s): it begins anew", self.endpoint.name, error)
            self._not_before = time.monotonic() + IDLE_SECONDS
            self.begin_anew()
            return
        self._reading = False
        self._heard.clear()

    async def _refused(self, news: News, answer: Answer) -> None:
        """It answers, and does not want this message."""
        self._counts(answer)
        times = self.queue.refusals(news) + 1
        if times < REFUSALS or news.value is None:
            # Who was forgotten has to be told, however often.
            self.queue.refused(news, time.monotonic() + _wait(times))
            return
        await self._give_up(news, self.endpoint, answer.what)
        metrics.DELIVERIES.labels(self.endpoint.name, "given-up").inc()
        self.queue.done(news)

    def _counts(self, answer: Answer) -> None:
        if self._failures:
            log.info("the endpoint %s answers again", self.endpoint.name)
        self._failures = 0
        metrics.DELIVERIES.labels(self.endpoint.name, answer.outcome.value).inc()

    def _failed(self, answer: Answer) -> None:
        metrics.DELIVERIES.labels(self.endpoint.name, Outcome.DOWN.value).inc()
        if answer.outcome is Outcome.GONE:
            log.error("the endpoint %s is gone (410): nothing is sent to it until the next start", self.endpoint.name)
            self.is_gone = True
            return
        self._failures += 1
        wait = _wait(self._failures) if answer.retry_after is None else max(answer.retry_after, LEAST_WAIT_SECONDS)
        self._not_before = time.monotonic() + wait
        if self._failures == 1:
            log.warning("the endpoint %s does not take messages: %s", self.endpoint.name, answer.what)

    def _is_wanted(self, news: News) -> bool:
        about = news.about
        return about is not None and self.endpoint.wants(*about)


def _wait(times: int) -> float:
    """Seconds until the next attempt: doubled each time, and by chance up to half less: not all are to come at once."""
    return min(MAX_WAIT_SECONDS, 2.0 ** min(times - 1, 10)) * random.uniform(0.5, 1.0)  # noqa: S311 - no secret  # nosec B311
