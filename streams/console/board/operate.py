"""The operator's pages over the snapshot: shifts in taste, and the cost of the LLM."""

from datetime import date, timedelta

from duckdb import DuckDBPyConnection
from starlette.responses import Response

from streams.console.board.figures import Figure, as_of, count
from streams.console.formats import dollars, duration, number, percent, text
from streams.console.pages import OPERATE, Visit
from streams.http.tokens import Scope

DAYS, WEEKS, MOST_ROWS = 60, 26, 50


@OPERATE.get("/shifts", Scope.OPERATE, nav="Shifts in taste", icon="shift")
async def shifted(visit: Visit) -> Response:
    """Shifts in taste, counted."""
    found = await visit.read(lambda con: {"as_of": as_of(con), "figures": [shifts(con)]})
    lead = "Counted, without the people: a sudden rise is worth a look at what is shown to them."
    return visit.show("figures.html", title="Tastes that may have changed", lead=lead, **found)


@OPERATE.get("/costs", Scope.OPERATE, nav="LLM cost", icon="coin")
async def costs(visit: Visit) -> Response:
    """The cost of LLM calls, and its return."""

    def read(con: DuckDBPyConnection) -> dict[str, object]:
        days = last_days(con)
        return {"as_of": as_of(con), "figures": [by_day(con, days), by_prompt(con, days), bought(con, days)]}

    lead = "At the prices that were set when the materializer started."
    return visit.show("figures.html", title="LLM cost", lead=lead, **await visit.read(read))


def shifts(con: DuckDBPyConnection) -> Figure:
    """Lines that fell because a taste changed or may have, by week and kind."""
    found = con.execute(
        """
        SELECT date_trunc('week', occurred_at)::DATE AS week, domain, how, count(*) AS lines,
               count(DISTINCT user_id) AS people
        FROM shifts WHERE occurred_at >= (SELECT max(occurred_at) FROM shifts) - $1 * INTERVAL 1 WEEK
        GROUP BY ALL ORDER BY week DESC, domain, how
        """,
        [WEEKS],
    ).fetchall()
    return Figure(
        "shifts",
        {"week from": text, "domain": text, "how it was seen": text, "lines": count, "people": count},
        found,
        {"kind": "bar", "x": 0, "by": 2, "y": [3], "stack": True, "days": 7, "unit": "lines"},
    )


def last_days(con: DuckDBPyConnection) -> tuple[date, date]:
    """The first day that is shown and the day after the last one; both in the past if there was never a call."""
    [(newest,)] = con.execute("SELECT max(occurred_at)::DATE FROM llm_calls").fetchall()
    newest = newest or date.min + timedelta(days=DAYS)
    return newest - timedelta(days=DAYS - 1), newest + timedelta(days=1)


def by_day(con: DuckDBPyConnection, days: tuple[date, date]) -> Figure:
    """Calls and dollars by day and purpose."""
    found = con.execute(
        """
        SELECT occurred_at::DATE AS day, part, sum(calls)::BIGINT, count(*) FILTER (fallback IS NOT NULL),
               sum(prompt_tokens)::BIGINT, sum(completion_tokens)::BIGINT, sum(cost_dollars)
        FROM llm_calls WHERE occurred_at >= $1 GROUP BY ALL ORDER BY day DESC, part
        """,
        days[:1],
    ).fetchall()
    return Figure(
        "llm-cost",
        {"day": text, "for": text, "calls": count, "answered by a fallback": count, "tokens sent": count,
         "tokens received": count, "cost": dollars},
        found,
        {"kind": "bar", "x": 0, "by": 1, "y": [6], "stack": True, "days": 1, "unit": "US$"},
    )  # fmt: skip


def by_prompt(con: DuckDBPyConnection, days: tuple[date, date]) -> Figure:
    """Calls, tokens, time and cost by purpose, model and prompt."""
    found = con.execute(
        """
        SELECT part, model, prompt, sum(calls)::BIGINT AS calls, count(*) FILTER (fallback IS NOT NULL),
               sum(prompt_tokens) / nullif(sum(calls), 0), sum(completion_tokens) / nullif(sum(calls), 0),
               avg(latency_ms) FILTER (calls > 0) / 1000, quantile_cont(latency_ms, 0.95) FILTER (calls > 0) / 1000,
               sum(cost_dollars)
        FROM llm_calls WHERE occurred_at >= $1 GROUP BY ALL ORDER BY calls DESC, part, model, prompt LIMIT $2
        """,
        [days[0], MOST_ROWS],
    ).fetchall()
    return Figure(
        "llm-prompts",
        {"for": text, "model": text, "prompt": text, "calls": count, "fallbacks": count, "tokens sent per call": number,
         "received": number, "mean time": duration, "95th percentile": duration, "cost": dollars},
        found,
    )  # fmt: skip


def bought(con: DuckDBPyConnection, days: tuple[date, date]) -> Figure:
    """The points of hit rate over rankings without a skill, and their price, by domain."""
    found = con.execute("FROM cost_per_point($1::TIMESTAMP, $2::TIMESTAMP)", list(days)).fetchall()
    return Figure(
        "llm-bought",
        {"domain": text, "choices without a skill": count, "choices with one": count, "at the top without": percent,
         "at the top with": percent, "points won": number, "calls": count, "cost": dollars,
         "cost of a point": dollars},
        found,
    )  # fmt: skip
