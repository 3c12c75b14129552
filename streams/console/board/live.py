"""The live page: what the processes do now, out of two looks at their metrics and the looks before."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import add

from streams.console.board import charts, words
from streams.console.board.figures import Column, Figure, Table, table
from streams.console.board.polls import Point, Seen
from streams.console.board.rates import BEYOND, Span
from streams.console.board.scrape import OWN, Reading

IN_TABLE = 12
"""Looks that a figure's table shows, newest first."""
OPEN, HALF_OPEN = 2.0, 1.0
ROLES = (
    ("worker", "sager_in_flight"),
    ("materializer", "sager_materializer_snapshot_timestamp_seconds"),
    ("API", "sager_http_auth_failures_total"),
)
"""By a metric that such a process tells; the first that fits, as each has what answers at `/metrics` too."""


LAGGING = 1_000
"""Records; from here on lag is worth a look."""
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
"""Counters of what went wrong: a metric, what it is to people, and the labels that tell more."""


@dataclass(frozen=True)
class Tile:
    """One number that is seen first.

    Attributes:
        name: what it is.
        value: as text.
        note: what it means, or what is to be done.
        tone: `good`, `warn`, `bad`, or nothing; never told by colour alone.
    """

    name: str
    value: str
    note: str
    tone: str = ""


@dataclass(frozen=True)
class Process:
    """A process and how it is.

    Attributes:
        name: its address.
        role: worker, materializer or API.
        state: ready, not ready or away.
        note: why it is away, or its version.
    """

    name: str
    role: str
    state: str
    note: str


@dataclass(frozen=True)
class Live:
    """The live page.

    Attributes:
        processes: all that were asked.
        tiles: the numbers that are seen first.
        figures: over the last minutes.
        tables: by stage, by topic, and errors.
        measuring: whether rates are still to come, with the next look.
    """

    processes: tuple[Process, ...]
    tiles: tuple[Tile, ...]
    figures: tuple[Figure, ...]
    tables: tuple[Table, ...]
    measuring: bool


def live(seen: Seen) -> Live:
    """The page for what was seen."""
    there = [reading for reading in seen.readings if not reading.away]
    return Live(
        tuple(_process(reading) for reading in seen.readings),
        _tiles(seen, there),
        _figures(seen.points),
        (_by_stage(seen.span, there), _by_topic(seen.span, there, seen.at.timestamp()), _errors(there)),
        measuring=seen.span is None,
    )


def _process(reading: Reading) -> Process:
    if reading.away:
        return Process(reading.source, "?", "away", reading.away)
    told = {name for name, _ in reading.samples}
    role = "API and console" if reading.source == OWN else next((role for role, name in ROLES if name in told), "?")
    version = next((labels.get("version", "") for labels, _ in reading.of("sager_build_info")), "")
    # This process answers just now, whatever it has told its orchestrator.
    state = "not ready" if reading.one("sager_ready") == 0 and reading.source != OWN else "ready"
    return Process(reading.source, role, state, words.cut(f"version {version}") if version else "")


def _tiles(seen: Seen, there: Sequence[Reading]) -> tuple[Tile, ...]:
    span = seen.span
    slow = span.quantile("sager_end_to_end_seconds", 0.95) if span else None
    lag, dead = _sum(there, "sager_lag_records"), _sum(there, "sager_dead_letters_total")
    away = sum(bool(reading.away) for reading in seen.readings)
    answer = f"{len(there)} of {len(seen.readings)}"
    return (
        Tile("Processes", answer, f"{away} away, see below" if away else "answer", "bad" if away else "good"),
        Tile("Records taken", _rate(span, "sager_records_taken_total"), "a second, from Kafka"),
        Tile("Choice to slim skill", _seconds(slow), "95th percentile"),
        Tile("Lag", words.cell(int(lag)), "records not done yet", "warn" if lag > LAGGING else ""),
        Tile("Dead letters", words.cell(int(dead)), "since the processes began", "warn" if dead else "good"),
        _llm(span, there),
    )


def _llm(span: Span | None, there: Sequence[Reading]) -> Tile:
    circuit = max((reading.one("sager_llm_circuit_state") or 0.0 for reading in there), default=0.0)
    if circuit == OPEN:
        return Tile("LLM", "out of order", "calls pause, and start again by themselves", "bad")
    if circuit == HALF_OPEN:
        return Tile("LLM", "on trial", "after an outage, one call tells whether it answers again", "warn")
    return Tile("LLM calls", _rate(span, "sager_llm_calls_total"), "a second")


def _figures(points: Sequence[Point]) -> tuple[Figure, ...]:
    times = [f"{point.at:%H:%M:%S}" for point in points]
    taken = _series(points, [point.taken for point in points])
    finished = _series(points, [point.finished for point in points])
    delays = {
        "median": [charts.rounded(point.median_seconds, 3) for point in points],
        "95th percentile": [charts.rounded(point.slow_seconds, 3) for point in points],
    }
    lag = {"records": [point.lag for point in points]}
    nothing = "No rates yet: they need two looks, some seconds apart."
    return (
        Figure("taken", "Records taken, by topic", "A second, from Kafka, by all workers.", _over_time(times, taken),
               charts.lines(times, taken, unit="1/s", stacked=True), nothing),
        Figure("finished", "Events finished, by agent", "A second, whatever became of them.",
               _over_time(times, finished), charts.lines(times, finished, unit="1/s", stacked=True), nothing),
        Figure("delay", "From a choice to its slim skill",
               "Seconds from the time that the app gave a choice. Nothing is drawn while nobody chooses.",
               _over_time(times, delays), charts.lines(times, delays, unit="s"), nothing),
        Figure("lag", "Lag", "Records on the workers' partitions that they have not committed yet.",
               _over_time(times, lag), charts.lines(times, lag, unit="records", area=True), nothing),
    )  # fmt: skip


def _series(points: Sequence[Point], rates: Sequence[dict[str, float]]) -> dict[str, list[float | None]]:
    """A line for each name that ever had a rate, the busiest first."""
    totals: dict[str, float] = {}
    for each in rates:
        for name, rate in each.items():
            totals[name] = totals.get(name, 0.0) + rate
    busy = sorted((name for name, total in totals.items() if total > 0), key=lambda name: -totals[name])
    return {
        words.cut(name, 60): [charts.rounded(each.get(name, 0.0), 2) for each in rates]
        for name in (busy if points else [])
    }


def _over_time(times: Sequence[str], series: Mapping[str, Sequence[float | None]]) -> Table:
    rows = list(zip(times, *series.values(), strict=True)) if series else []
    columns = [Column("time (UTC)"), *(Column(name, is_number=True) for name in series)]
    return table("The newest looks", columns, reversed(rows[-IN_TABLE:]))


def _by_stage(span: Span | None, there: Sequence[Reading]) -> Table:
    limits = _by(there, "sager_in_flight_limit", "stage")
    busy, queued = _by(there, "sager_in_flight", "stage"), _by(there, "sager_queued", "stage")
    rates = span.per_second("sager_events_total", "stage") if span else {}
    rows = (
        (
            stage,
            charts.rounded(rates.get(stage)),
            *(
                _seconds(span.quantile("sager_stage_seconds", share, stage=stage) if span else None)
                for share in (0.5, 0.95)
            ),
            f"{busy.get(stage, 0):g} of {limits[stage]:g}",
            int(queued.get(stage, 0)),
        )
        for stage in sorted(limits)
    )
    return table("By agent", [
        Column("agent"), Column("events/s", is_number=True), Column("median", is_number=True),
        Column("95th percentile", is_number=True), Column("in flight", is_number=True),
        Column("queued", is_number=True),
    ], rows)  # fmt: skip


def _by_topic(span: Span | None, there: Sequence[Reading], now: float) -> Table:
    taken = span.per_second("sager_records_taken_total", "topic") if span else {}
    sent = span.per_second("sager_records_sent_total", "topic") if span else {}
    lag, behind = (_by(there, name, "topic") for name in ("sager_lag_records", "sager_materializer_lag_records"))
    oldest = _by(there, "sager_oldest_unprocessed_timestamp_seconds", "topic", min)
    topics = sorted(
        {name for name, rate in (*taken.items(), *sent.items()) if rate}
        | lag.keys()
        | {n for n, v in behind.items() if v}
    )
    rows = (
        (
            topic,
            charts.rounded(taken.get(topic)),
            charts.rounded(sent.get(topic)),
            None if topic not in lag else int(lag[topic]),
            words.duration(max(0.0, now - oldest[topic])) if lag.get(topic) and topic in oldest else None,
            None if topic not in behind else int(behind[topic]),
        )
        for topic in topics
    )
    return table("By topic", [
        Column("topic"), Column("taken/s", is_number=True), Column("sent/s", is_number=True),
        Column("lag of workers", is_number=True), Column("oldest waits", is_number=True),
        Column("lag of the snapshot", is_number=True),
    ], rows)  # fmt: skip


def _errors(there: Sequence[Reading]) -> Table:
    found: dict[tuple[str, str], float] = {}
    for metric, what, kept in ERRORS:
        for reading in there:
            for labels, value in reading.of(metric):
                detail = ", ".join(labels[name] for name in kept if name in labels)
                found[what, detail] = found.get((what, detail), 0.0) + value
    rows = sorted(((what, detail, int(count)) for (what, detail), count in found.items() if count), key=lambda r: -r[2])
    return table(
        "Errors since the processes began", [Column("what"), Column("where and why"), Column("count", is_number=True)],
        rows,
    )  # fmt: skip


def _by(
    there: Sequence[Reading], name: str, label: str, fold: Callable[[float, float], float] = add
) -> dict[str, float]:
    """A metric by one of its labels, folded over everything else."""
    found: dict[str, float] = {}
    for reading in there:
        for labels, value in reading.of(name):
            key = labels.get(label, "")
            found[key] = fold(found[key], value) if key in found else value
    return found


def _sum(there: Sequence[Reading], name: str, **wanted: str) -> float:
    return sum(value for reading in there for labels, value in reading.of(name) if wanted.items() <= labels.items())


def _rate(span: Span | None, name: str) -> str:
    return words.NOTHING if span is None else words.number(span.total(name) / span.seconds)


def _seconds(value: float | None) -> str:
    return "over 2 min" if value == BEYOND else words.duration(value)
