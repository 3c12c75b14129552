"""Looks at the processes when somebody looks at the page, and keeps a few minutes of what it saw.

Nothing is asked while nobody looks. Several who look at once share one look.
"""

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from streams.console.board import scrape
from streams.console.board.rates import Span, between
from streams.console.board.scrape import Reading
from streams.settings import Settings

LEAST_SECONDS = 2.0
"""Between two looks; who asks sooner gets the last one."""
GAP_SECONDS = 60.0
"""After so long without a look, what was seen before is of another time."""
KEPT = 240
"""Looks that are kept: 12 minutes, at one every three seconds. Each takes some kilobytes."""

Fetch = Callable[[], Awaitable[Sequence[Reading]]]


@dataclass(frozen=True)
class Point:
    """What a chart over time keeps of one look.

    Attributes:
        at: when, in UTC.
        taken: records taken from Kafka a second, by topic.
        finished: events finished a second, by stage.
        median_seconds, slow_seconds: from a selection to its slim skill, the median and the 95th percentile.
        lag: records that workers have not committed yet.
    """

    at: datetime
    taken: dict[str, float]
    finished: dict[str, float]
    median_seconds: float | None
    slow_seconds: float | None
    lag: float


@dataclass(frozen=True)
class Seen:
    """What there is to show.

    Attributes:
        readings: every process' newest.
        span: what happened since the look before; None at the first.
        points: one for each look, oldest first.
        at: when the newest look was, in UTC.
    """

    readings: tuple[Reading, ...] = ()
    span: Span | None = None
    points: tuple[Point, ...] = ()
    at: datetime = field(default_factory=lambda: datetime.now(UTC))


class Polls:
    """Looks at the processes of a deployment.

    Args:
        fetch: reads all of them.
        clock: seconds that only grow.
        now: the time, in UTC.
    """

    def __init__(
        self,
        fetch: Fetch,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._fetch, self._clock, self._now = fetch, clock, now
        self._lock = asyncio.Lock()
        self._looked_at: float | None = None
        self._seen = Seen()
        self._points: deque[Point] = deque(maxlen=KEPT)

    async def look(self) -> Seen:
        """What there is to show now."""
        async with self._lock:
            at = self._clock()
            since = None if self._looked_at is None else at - self._looked_at
            if since is not None and since < LEAST_SECONDS:
                return self._seen
            readings = tuple(await self._fetch())
            if since is None or since > GAP_SECONDS:
                self._points.clear()
                span = None
            else:
                span = between(self._seen.readings, readings, since)
                self._points.append(_point(self._now(), span, readings))
            self._looked_at = at
            self._seen = Seen(readings, span, tuple(self._points), self._now())
            return self._seen


def of(settings: Settings) -> Polls:
    """Looks at this process and at those that the settings name."""
    urls = (settings.console_metrics or "").split(",") if settings.console_metrics else []
    token = settings.console_metrics_token

    async def fetch() -> Sequence[Reading]:
        others = await scrape.fetch(urls, token.get_secret_value() if token else None) if urls else []
        return [*others, scrape.own()]

    return Polls(fetch)


def _point(at: datetime, span: Span, readings: Sequence[Reading]) -> Point:
    return Point(
        at,
        span.per_second("sager_records_taken_total", "topic"),
        span.per_second("sager_events_total", "stage"),
        span.quantile("sager_end_to_end_seconds", 0.5),
        span.quantile("sager_end_to_end_seconds", 0.95),
        sum(value for reading in readings for _, value in reading.of("sager_lag_records")),
    )
