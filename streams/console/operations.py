"""Pages for operators: the processes, and dead letters with their replay."""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any, TypeVar

from starlette.responses import Response

from streams.console.pages import NOTHING, PageContext, cut, number, page, table, text
from streams.exceptions import StreamsError
from streams.http.problems import RETRY, Problem
from streams.http.tokens import Scope
from streams.operations import dead_letters, process_metrics
from streams.operations.dead_letters import LetterFilter
from streams.operations.process_metrics import THIS_PROCESS, ProcessMetrics, Series
from streams.settings import Settings

SECONDS = 3  # between two requests of an open page
# One reading serves all pages for 2 s; rates need two readings within a minute.
LEAST_SECONDS, GAP_SECONDS = 2.0, 60.0
LAGGING = 1_000  # records; above it lag is highlighted
# Roles by a metric of theirs, most specific first: all processes have the last one.
ROLES = {
    "sager_in_flight": "worker",
    "sager_materializer_snapshot_timestamp_seconds": "materializer",
    "sager_http_auth_failures_total": "API",
}
ERRORS = {
    "sager_dead_letters_total": "dead letter",
    "sager_rerouted_total": "on the wrong partition, sent on",
    "sager_stale_total": "abandoned, because its partition moved",
    "sager_reasoner_failures_total": "the reasoner had no answer",
    "sager_llm_circuit_openings_total": "outage of the LLM",
    "sager_materializer_publish_failures_total": "a snapshot could not be published",
    "sager_http_auth_failures_total": "request without a valid token or scope",
    "sager_http_rate_limited_total": "request over a limit",
}
# One form must hold all dead letters of a page; of each only the first bytes are shown.
MOST_SHOWN, SHOWN_BYTES = 50, 4_096
PREFIX = "letter-"  # of the form's checkboxes
_ONE_AT_A_TIME = asyncio.Semaphore(1)
_Result = TypeVar("_Result")


class ProcessMonitor:
    """Readings of all processes, shared by all pages."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = asyncio.Lock()
        self._read_at = float("-inf")
        self.readings: Sequence[ProcessMetrics] = ()
        self.rates: ProcessMetrics | None = None  # per second; None after a pause

    async def refresh(self) -> None:
        """Read all processes, at most every 2 s."""
        async with self._lock:
            now = time.monotonic()
            seconds = now - self._read_at
            if seconds >= LEAST_SECONDS:
                before = self.readings
                self.readings = [*await process_metrics.fetch(self._settings), process_metrics.local_metrics()]
                self.rates = rates(before, self.readings, seconds) if seconds <= GAP_SECONDS else None
                self._read_at = now


def rates(before: Iterable[ProcessMetrics], after: Iterable[ProcessMetrics], seconds: float) -> ProcessMetrics:
    """Return the rates of counters, of processes in both readings."""
    known = {reading.source: reading.samples for reading in before}
    found = defaultdict[Series, float](float)
    for reading in after:
        earlier = known.get(reading.source, {})
        for series, value in reading.samples.items() if earlier else ():
            if series[0].endswith("_total"):
                rise = value - earlier.get(series, 0.0)
                # A counter falls when its process restarts.
                found[series] += (value if rise < 0 else rise) / seconds
    return ProcessMetrics("rates", found)


def sum_by(label: str, readings: Iterable[ProcessMetrics | None], name: str) -> dict[str, float]:
    """Sum a metric by one of its labels."""
    found = defaultdict[str, float](float)
    for reading in filter(None, readings):
        for labels, value in reading.samples_of(name):
            found[labels.get(label, "")] += value
    return found


def total(readings: Iterable[ProcessMetrics | None], name: str) -> float:
    """Sum a metric over all processes and labels."""
    return sum(sum_by("", readings, name).values())


@page("GET", "/live", Scope.OPERATE)
async def live_page(ctx: PageContext) -> Response:
    """Show the processes; the page reloads every few seconds unless paused."""
    monitor: ProcessMonitor = ctx.request.app.state.monitor
    await monitor.refresh()
    processes, tables = list(map(process, monitor.readings)), [by_agent(monitor), by_topic(monitor), errors(monitor)]
    shown: dict[str, Any] = {"tiles": tiles(monitor), "processes": processes, "tables": tables, "seconds": SECONDS}
    only_us, still = ctx.api.settings.console_metrics is None, "still" in ctx.fields
    return ctx.render("live.html", only_us=only_us, still=still, **shown)


def process(reading: ProcessMetrics) -> tuple[str, str, str, str]:
    """Return the address, role, state and version of a process."""
    if reading.unreachable:
        return reading.source, "?", "unreachable", reading.unreachable
    names = {name for name, _ in reading.samples}
    is_ours = reading.source == THIS_PROCESS
    role = "API and console" if is_ours else next((ROLES[name] for name in ROLES if name in names), "?")
    version = next((labels.get("version", "") for labels, _ in reading.samples_of("sager_build_info")), "")
    # This process is answering, whatever its readiness.
    is_ready = is_ours or reading.samples.get(("sager_ready", ())) != 0
    return reading.source, role, "ready" if is_ready else "not ready", cut(f"version {version}") if version else ""


def tiles(monitor: ProcessMonitor) -> list[tuple[str, str, str, str]]:
    """Return the key figures: name, value, note and tone."""
    readings, rates = monitor.readings, monitor.rates
    missing = sum(bool(each.unreachable) for each in readings)
    lag, dead = int(total(readings, "sager_lag_records")), int(total(readings, "sager_dead_letters_total"))
    taken, called = (
        number(total([rates], f"sager_{name}_total")) if rates else NOTHING for name in ("records_taken", "llm_calls")
    )
    is_out = any(value for each in readings for _, value in each.samples_of("sager_llm_circuit_state"))
    answering = f"{len(readings) - missing} of {len(readings)}"
    note, tone = (f"{missing} unreachable, see below", "bad") if missing else ("answer", "good")
    return [
        ("Processes", answering, note, tone),
        ("Records taken", taken, "a second, from Kafka", ""),
        ("Lag", text(lag), "records waiting", "wait" if lag > LAGGING else ""),
        ("Dead letters", text(dead), "since the processes started", "wait" if dead else "good"),
        ("LLM calls", called, "a second; paused after an outage" if is_out else "a second", "bad" if is_out else ""),
    ]


def by_agent(monitor: ProcessMonitor) -> dict[str, Any]:
    """Return the table of agents: rates, events in flight and queued."""
    names = ("in_flight", "in_flight_limit", "queued")
    busy, limits, queued = (sum_by("stage", monitor.readings, f"sager_{name}") for name in names)
    finished = sum_by("stage", [monitor.rates], "sager_events_total")
    rows = [(each, finished.get(each), busy[each], limits[each], queued[each]) for each in sorted(limits)]
    return table("by-agent", ("agent", "events/s", "in flight", "at most", "queued"), rows)


def by_topic(monitor: ProcessMonitor) -> dict[str, Any]:
    """Return the table of topics: rates and lag."""
    taken, sent = (sum_by("topic", [monitor.rates], f"sager_records_{name}_total") for name in ("taken", "sent"))
    names = ("sager_lag_records", "sager_materializer_lag_records")
    lag, behind = (sum_by("topic", monitor.readings, name) for name in names)
    topics = {name for found in (taken, sent, behind) for name, value in found.items() if value} | lag.keys()
    rows = [(each, *(found.get(each) for found in (taken, sent, lag, behind))) for each in sorted(topics)]
    return table("by-topic", ("topic", "taken/s", "sent/s", "lag of workers", "lag of the snapshot"), rows)


def errors(monitor: ProcessMonitor) -> dict[str, Any]:
    """Return the table of error counters above zero, largest first."""
    found = Counter[tuple[str, str]]()
    for metric, reading in product(ERRORS, monitor.readings):
        for labels, value in reading.samples_of(metric):
            found[ERRORS[metric], ", ".join(labels.values())] += int(value)
    rows = [(*error, amount) for error, amount in found.most_common() if amount]
    return table("errors", ("error", "where and why", "count"), rows)


@page("GET", "/letters", Scope.OPERATE)
async def listed(ctx: PageContext) -> Response:
    """List the newest dead letters."""
    found = await _kafka(ctx, lambda: dead_letters.list_letters(ctx.api.settings, LetterFilter(), MOST_SHOWN))
    return ctx.render("letters.html", found=found, prefix=PREFIX)


@page("GET", "/letters/one", Scope.OPERATE, parent="/letters")
async def one(ctx: PageContext) -> Response:
    """Show one dead letter with its original."""
    found, replayed = await _kafka(ctx, lambda: dead_letters.find_letter(ctx.api.settings, ctx.fields.get("id", "")))
    letter = found.letter
    parts = [(name, value, readable(value)) for name, value in (("Key", letter.key), ("Value", letter.value))]
    shown: dict[str, Any] = {"clipped": found.is_clipped, "most": SHOWN_BYTES, "prefix": PREFIX}
    return ctx.render("letter.html", found=found, letter=letter, replayed=replayed, parts=parts, **shown)


@page("POST", "/letters/plan", Scope.OPERATE, parent="/letters")
async def planned(ctx: PageContext) -> Response:
    """Preview a replay of the selected dead letters."""
    ids = _selected_ids(ctx)
    plan = await _kafka(ctx, lambda: dead_letters.plan(ctx.api.settings, LetterFilter(ids=ids)))
    return ctx.render("plan.html", plan=plan, prefix=PREFIX)


@page("POST", "/letters/replay", Scope.OPERATE, parent="/letters")
async def replayed(ctx: PageContext) -> Response:
    """Replay the selected dead letters, each exactly once."""
    ids, settings = _selected_ids(ctx), ctx.api.settings
    sent = await _kafka(ctx, lambda: dead_letters.replay(settings, dead_letters.plan(settings, LetterFilter(ids=ids))))
    notice = f"{sent} {'record was' if sent == 1 else 'records were'} sent again."
    notice += f" {rest} had been already, or cannot be." if (rest := len(ids) - sent) else ""
    return ctx.redirect("/letters", notice, "good" if sent else "wait")


def _selected_ids(ctx: PageContext) -> frozenset[str]:
    ids = frozenset(name.removeprefix(PREFIX) for name in ctx.fields if name.startswith(PREFIX))
    if not ids:
        raise Problem(400, "no dead letter is selected: tick at least one")
    return ids


async def _kafka(ctx: PageContext, do: Callable[[], _Result]) -> _Result:
    # One at a time: concurrent replays would send records twice, and each call reads the whole topic.
    try:
        async with _ONE_AT_A_TIME:
            return await ctx.api.read(ctx.token, do)
    except dead_letters.LetterNotFound:
        raise Problem(404, "there is no dead letter with this id: they are kept for 90 days") from None
    except StreamsError as error:
        raise Problem(503, f"dead letters cannot be read or sent: {error}", RETRY) from None


def readable(value: bytes | None) -> str:
    r"""Return the beginning of a value as inert text, invalid bytes escaped.

    >>> readable("<b>\u202e".encode()), readable(b"\xff<b>")
    ('<b>\\u202e', '\\xff<b>')
    """
    text = (value or b"")[:SHOWN_BYTES].decode(errors="backslashreplace")
    return "".join(sign if sign.isprintable() or sign == "\n" else ascii(sign)[1:-1] for sign in text)
