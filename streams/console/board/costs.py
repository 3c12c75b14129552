"""What LLM calls cost, day by day and by what they were for; and what they bought."""

from collections.abc import Sequence
from datetime import date, timedelta
from typing import Any

from duckdb import DuckDBPyConnection

from streams.console.board import charts, words
from streams.console.board.figures import Column, Figure, Table, table

DAYS = 60
MOST_ROWS = 50
_DAYS = """
    SELECT occurred_at::DATE AS day, part, sum(calls)::BIGINT AS calls, sum(cost_dollars) AS dollars,
           count(*) FILTER (fallback IS NOT NULL) AS fallbacks, sum(prompt_tokens)::BIGINT,
           sum(completion_tokens)::BIGINT
    FROM llm_calls WHERE occurred_at >= $1 GROUP BY ALL ORDER BY day, part
"""
_NEWEST = "SELECT max(occurred_at)::DATE FROM llm_calls"
_BY_PROMPT = """
    SELECT part, model, prompt, sum(calls)::BIGINT AS calls, count(*) FILTER (fallback IS NOT NULL) AS fallbacks,
           sum(prompt_tokens) / nullif(sum(calls), 0), sum(completion_tokens) / nullif(sum(calls), 0),
           avg(latency_ms) FILTER (calls > 0) / 1000, quantile_cont(latency_ms, 0.95) FILTER (calls > 0) / 1000,
           sum(cost_dollars)
    FROM llm_calls WHERE occurred_at >= $1 GROUP BY ALL ORDER BY calls DESC, part, model, prompt LIMIT $2
"""
_BOUGHT = "FROM cost_per_point($1::TIMESTAMP, $2::TIMESTAMP)"


def span(con: DuckDBPyConnection) -> tuple[date, date] | None:
    """The days that are shown, the last one not included; None if there was never a call."""
    [(newest,)] = con.execute(_NEWEST).fetchall()
    return None if newest is None else (newest - timedelta(days=DAYS - 1), newest + timedelta(days=1))


def by_day(con: DuckDBPyConnection) -> Figure:
    """Calls and dollars of the last days with any."""
    days = span(con)
    found = con.execute(_DAYS, [days[0]]).fetchall() if days else []
    return Figure(
        "llm-cost",
        "LLM cost by day",
        f"US dollars at the prices that are configured, by what the calls were for; the last {DAYS} days with calls.",
        table(
            "LLM calls and cost by day",
            [Column("day"), Column("for"), Column("calls", is_number=True), Column("answered by a fallback",
             is_number=True), Column("tokens sent", is_number=True), Column("tokens received", is_number=True),
             Column("cost", is_number=True)],
            [(day, part, calls, fallbacks, sent, received, words.dollars(cost))
             for day, part, calls, cost, fallbacks, sent, received in reversed(found)],
        ),
        _drawn(found),
        "No LLM has been called.",
    )  # fmt: skip


def _drawn(found: Sequence[tuple[Any, ...]]) -> dict[str, Any]:
    first, last = (found[0][0], found[-1][0]) if found else (date.max, date.min)
    days = [first + timedelta(days=at) for at in range((last - first).days + 1)]
    costs = {(row[0], row[1]): row[3] for row in found}
    series = {
        part: [charts.rounded(costs.get((day, part)), 4) for day in days] for part in sorted({row[1] for row in found})
    }
    # Days lie upright, however many there are.
    drawn = dict(charts.bars([], series, unit="US$", stacked=True))
    drawn["xAxis"] = {**drawn["xAxis"], "data": [day.isoformat() for day in days]}
    return drawn


def by_prompt(con: DuckDBPyConnection) -> Table:
    """Calls, tokens, time and cost by part, model and prompt."""
    days = span(con)
    found = con.execute(_BY_PROMPT, [days[0], MOST_ROWS]).fetchall() if days else []
    columns = [
        Column("for"),
        Column("model"),
        Column("prompt"),
        Column("calls", is_number=True),
        Column("fallbacks", is_number=True),
        Column("tokens sent per call", is_number=True),
        Column("received", is_number=True),
        Column("mean time", is_number=True),
        Column("95th percentile", is_number=True),
        Column("cost", is_number=True),
    ]
    rows = [
        (part, model, prompt, calls, fallbacks, sent, received, words.duration(mean), words.duration(slow),
         words.dollars(cost))
        for part, model, prompt, calls, fallbacks, sent, received, mean, slow, cost in found
    ]  # fmt: skip
    return table("By model and prompt", columns, rows)


def bought(con: DuckDBPyConnection) -> Table:
    """What the calls of these days bought, per domain: points of hit rate over rankings without a skill."""
    days = span(con)
    found = con.execute(_BOUGHT, list(days)).fetchall() if days else []
    columns = [
        Column("domain"),
        Column("choices without a skill", is_number=True),
        Column("choices with one", is_number=True),
        Column("at the top without", is_number=True),
        Column("at the top with", is_number=True),
        Column("points won", is_number=True),
        Column("calls", is_number=True),
        Column("cost", is_number=True),
        Column("cost of a point", is_number=True),
    ]
    rows = [
        (domain, base, other, words.percent(before), words.percent(after), points, calls, words.dollars(cost),
         words.dollars(per_point))
        for domain, base, other, before, after, points, calls, cost, per_point in found
    ]  # fmt: skip
    return table("What it bought", columns, rows)
