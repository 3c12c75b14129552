"""The live page: the processes' state, and rates between two readings of their metrics."""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import pairwise
from weakref import WeakKeyDictionary

from starlette.responses import Response

from streams.console.board import scrape
from streams.console.board.figures import Figure, count
from streams.console.board.scrape import OWN, Reading, Series
from streams.console.formats import NOTHING, cut, duration, number, text
from streams.console.pages import OPERATE, Visit
from streams.http.api import Api
from streams.http.tokens import Scope
from streams.settings import Settings

SECONDS = 3
"""Between two requests of an open page."""
LEAST_SECONDS, GAP_SECONDS = 2.0, 60.0
"""A reading serves all pages for 2 s; after a minute without one, rates begin again."""
LAGGING = 1_000
"""Records; from here on lag is worth a look."""
OPEN, HALF_OPEN = 2.0, 1.0
ROLES = {
    "sager_in_flight": "worker",
    "sager_materializer_snapshot_timestamp_seconds": "materializer",
    "sager_http_auth_failures_total": "API",
}
"""Roles by a metric that only such a process has; every process has the last one, which answers at `/metrics`."""
ERRORS = (
    ("sager_dead_letters_total", "dead letter", ("stage", "reason")),
    ("sager_rerouted_total", "on the wrong partition, sent on", ("stage",)),
    ("sager_stale_total", "given up, because its partition moved", ("stage",)),
    ("sager_reasoner_failures_total", "the reasoner had no answer", ("action",)),
    ("sager_llm_circuit_openings_total", "outage of the LLM", ("outcome",)),
    ("sager_materializer_publish_failures_total", "a snapshot could not be published", ()),
    ("sager_http_auth_failures_total", "request without a valid token or scope", ("reason",)),
    ("sager_http_rate_limited_total", "request over a limit", ("by",)),
)
"""Counters of errors: a metric, its meaning, and the labels that explain it."""


class Watch:
    """Readings of a deployment's processes, taken when a page asks and shared by all pages.

    Args:
        fetch: reads all processes.
        clock: monotonic seconds.

    Attributes:
        readings: the newest.
        rises: the rise of each counter since the reading before; None at the first.
        seconds: the time between the two.
    """

    def __init__(self, fetch: Callable[[], Awaitable[Sequence[Reading]]], clock: Callable[[], float] = time.monotonic):
        self._fetch, self._clock = fetch, clock
        self._lock = asyncio.Lock()
        self._read_at = float("-inf")
        self.readings: Sequence[Reading] = ()
        self.rises: Counter[Series] | None = None
        self.seconds = 0.0

    async def look(self) -> None:
        """Read all processes, unless they were read just now."""
        async with self._lock:
            now = self._clock()
            if now - self._read_at < LEAST_SECONDS:
                return
            before, self.readings = self.readings, await self._fetch()
            self.seconds = now - self._read_at
            self.rises = rises(before, self.readings) if self.seconds <= GAP_SECONDS else None
            self._read_at = now

    def rates(self, name: str, label: str) -> dict[str, float]:
        """The rate of a counter, by one of its labels."""
        found = defaultdict[str, float](float)
        for (known, labels), value in (self.rises or {}).items():
            if known == name:
                found[dict(labels).get(label, "")] += value / self.seconds
        return found

    def rate(self, name: str) -> str:
        """The rate of a counter over all labels."""
        return NOTHING if self.rises is None else number(sum(self.rates(name, "").values()))

    def quantile(self, name: str, share: float, **labels: str) -> str:
        """A quantile of a histogram of durations, spread evenly within a bucket as Prometheus does."""
        buckets = Counter[float]()
        for (known, found), value in (self.rises or {}).items():
            if known == f"{name}_bucket" and labels.items() <= (named := dict(found)).items():
                buckets[float(named["le"])] += value  # type: ignore[assignment] # Counter's values need not be whole
        ordered = sorted(buckets.items())
        wanted = share * ordered[-1][1] if ordered else 0
        for (low, before), (high, until) in pairwise([(0.0, 0.0), *ordered]):
            if until >= wanted > 0:
                inside = low + (high - low) * (wanted - before) / (until - before)
                return duration(inside) if high < float("inf") else f"over {duration(low)}"
        return NOTHING

    def values(self, name: str, label: str, fold: Callable[[Iterable[float]], float] = sum) -> dict[str, float]:
        """The newest values of a metric by one of its labels, folded over everything else."""
        found = defaultdict[str, list[float]](list)
        for reading in self.readings:
            for labels, value in reading.of(name):
                found[labels.get(label, "")].append(value)
        return {key: fold(values) for key, values in found.items()}

    def value(self, name: str, fold: Callable[[Iterable[float]], float] = sum) -> float:
        """The newest value of a metric, folded over all labels and processes."""
        return self.values(name, "", fold).get("", 0.0)


def rises(before: Iterable[Reading], after: Iterable[Reading]) -> Counter[Series]:
    """The rise of each counter over all processes that answered both times.

    A counter that fell began again with its process. A process that was away counts for nothing: the time in which it
    counted is unknown.
    """
    known = {reading.source: reading.samples for reading in before if not reading.away}
    found = Counter[Series]()
    for reading in after:
        earlier = known.get(reading.source, {})
        for series, value in reading.samples.items() if earlier else ():
            if series[0].endswith(("_total", "_bucket")):
                rise = value - earlier.get(series, 0.0)
                found[series] += value if rise < 0 else rise  # type: ignore[assignment]
    return found


_WATCHES: WeakKeyDictionary[Api, Watch] = WeakKeyDictionary()


def watch_of(settings: Settings) -> Watch:
    """A watch of this process and of those in the settings."""
    urls = (settings.console_metrics or "").split(",") if settings.console_metrics else []
    token = settings.console_metrics_token

    async def fetch() -> Sequence[Reading]:
        others = await scrape.fetch(urls, token.get_secret_value() if token else None) if urls else []
        return [*others, scrape.own()]

    return Watch(fetch)


@OPERATE.get("/live", Scope.OPERATE, nav="Live", icon="pulse")
async def now(visit: Visit) -> Response:
    """The processes now. The page repeats its request every few seconds, unless it is to stand still."""
    watch = _WATCHES.setdefault(visit.api, watch_of(visit.api.settings))
    await watch.look()
    only_us = visit.api.settings.console_metrics is None
    shown = {"tiles": tiles(watch), "processes": [process(each) for each in watch.readings], "only_us": only_us}
    figures = [by_agent(watch), by_topic(watch, time.time()), errors(watch)]
    return visit.show("live.html", **shown, figures=figures, still="still" in visit.fields, seconds=SECONDS)


def process(reading: Reading) -> tuple[str, str, str, str]:
    """The address, role and state of a process, and a note on it."""
    if reading.away:
        return reading.source, "?", "away", reading.away
    names = {name for name, _ in reading.samples}
    role = "API and console" if reading.source == OWN else next((ROLES[name] for name in ROLES if name in names), "?")
    version = next((labels.get("version", "") for labels, _ in reading.of("sager_build_info")), "")
    # This process answers just now, whatever its readiness.
    is_ready = reading.source == OWN or reading.samples.get(("sager_ready", ())) != 0
    return reading.source, role, "ready" if is_ready else "not ready", cut(f"version {version}") if version else ""


def tiles(watch: Watch) -> list[tuple[str, str, str, str]]:
    """The most important numbers: a name, a value, a note and a tone each."""
    away = sum(bool(each.away) for each in watch.readings)
    lag, dead = int(watch.value("sager_lag_records")), int(watch.value("sager_dead_letters_total"))
    circuit = watch.value("sager_llm_circuit_state", max)
    llm = ("LLM calls", watch.rate("sager_llm_calls_total"), "a second", "")
    if circuit == OPEN:
        llm = ("LLM", "out of order", "calls pause, and start again by themselves", "bad")
    elif circuit == HALF_OPEN:
        llm = ("LLM", "on trial", "after an outage, one call tests whether it answers again", "wait")
    answering = f"{len(watch.readings) - away} of {len(watch.readings)}"
    return [
        ("Processes", answering, f"{away} away, see below" if away else "answer", "bad" if away else "good"),
        ("Records taken", watch.rate("sager_records_taken_total"), "a second, from Kafka", ""),
        ("Choice to slim skill", watch.quantile("sager_end_to_end_seconds", 0.95), "95th percentile", ""),
        ("Lag", text(lag), "records not done yet", "wait" if lag > LAGGING else ""),
        ("Dead letters", text(dead), "since the processes began", "wait" if dead else "good"),
        llm,
    ]


def by_agent(watch: Watch) -> Figure:
    """The agents' rates, durations and places."""
    limits, busy, queued = (
        watch.values(f"sager_{name}", "stage") for name in ("in_flight_limit", "in_flight", "queued")
    )
    rates = watch.rates("sager_events_total", "stage")
    rows = [
        (
            stage,
            rates.get(stage),
            *(watch.quantile("sager_stage_seconds", share, stage=stage) for share in (0.5, 0.95)),
            f"{busy.get(stage, 0):g} of {limits[stage]:g}",
            int(queued.get(stage, 0)),
        )
        for stage in sorted(limits)
    ]
    columns = {"agent": text, "events/s": number, "median": str, "95th percentile": str, "in flight": str,
               "queued": count}  # fmt: skip
    return Figure("by-agent", columns, rows)


def by_topic(watch: Watch, now: float) -> Figure:
    """The topics' rates and lag; `now` in seconds since 1970."""
    taken, sent = (watch.rates(f"sager_records_{name}_total", "topic") for name in ("taken", "sent"))
    lag, behind = (watch.values(name, "topic") for name in ("sager_lag_records", "sager_materializer_lag_records"))
    oldest = watch.values("sager_oldest_unprocessed_timestamp_seconds", "topic", min)
    topics = {name for found in (taken, sent, behind) for name, value in found.items() if value} | lag.keys()
    rows = [
        (
            topic,
            taken.get(topic),
            sent.get(topic),
            lag.get(topic),
            max(0.0, now - oldest[topic]) if lag.get(topic) and topic in oldest else None,
            behind.get(topic),
        )
        for topic in sorted(topics)
    ]
    columns = {"topic": text, "taken/s": number, "sent/s": number, "lag of workers": number,
               "oldest waits": duration, "lag of the snapshot": number}  # fmt: skip
    return Figure("by-topic", columns, rows)


def errors(watch: Watch) -> Figure:
    """The counters of errors that are not zero, the largest first."""
    found = Counter[tuple[str, str]]()
    for metric, meaning, kept in ERRORS:
        for reading in watch.readings:
            for labels, value in reading.of(metric):
                found[meaning, ", ".join(labels[name] for name in kept if name in labels)] += int(value)
    rows = [(*error, amount) for error, amount in found.most_common() if amount]
    return Figure("errors", {"error": text, "where and why": text, "count": count}, rows)
