"""The analyst's pages: the learning curve, lines and tiers, arms, and calibration."""

from collections.abc import Callable
from datetime import date
from typing import Any

from duckdb import DuckDBPyConnection
from starlette.responses import Response

from streams.console.board.figures import Figure, around, as_of, count, number_range, share_range, wilson
from streams.console.formats import cut, number, percent, text
from streams.console.pages import ANALYSE, Visit
from streams.http.problems import Problem
from streams.http.tokens import Scope

Reader = Callable[[DuckDBPyConnection, str], Figure]
MOST_DOMAINS, MOST_CHOICES, MOST_LINES, MOST_ARMS = 40, 100, 100, 40
COLD_STEPS = 10
TIERS = ("high", "medium", "low", "silent")
COLOURS = {"high": "chart-1", "medium": "chart-5", "low": "chart-3", "silent": "muted", "new": "chart-2",
           "gone": "chart-4"}  # fmt: skip
NO_CHOICE = "No choice has been matched with its list yet."
_DOMAINS = "SELECT domain FROM skills GROUP BY domain ORDER BY count(*) DESC, domain LIMIT $1"
_WEEKS = "SELECT DISTINCT week FROM tier_flow WHERE domain = $1 ORDER BY week DESC LIMIT 26"


@ANALYSE.get("/learning", Scope.READ_ALL, nav="Learning curve", icon="curve")
async def learning(visit: Visit) -> Response:
    """The learning curve, and the cold start."""
    lead = "How soon lists get better, and how soon a skill says something at all."
    return await _page(visit, "Learning curve", lead, learning_curve, cold_start)


@ANALYSE.get("/lines", Scope.READ_ALL, nav="Lines and tiers", icon="flow")
async def lines(visit: Visit) -> Response:
    """The moves of lines between tiers, and their adoption."""
    try:
        week = date.fromisoformat(visit.fields["week"]) if visit.fields.get("week") else None
    except ValueError:
        raise Problem(400, "week is not a date, such as 2026-01-05") from None
    flow: Reader = lambda con, domain: tier_flow(con, domain, week)  # noqa: E731
    return await _page(visit, "Lines and tiers", "Which lines skills hold, and how they rise and fall.", flow, adoption)


@ANALYSE.get("/arms", Scope.READ_ALL, nav="Arms", icon="arms")
async def side_by_side(visit: Visit) -> Response:
    """Arms side by side, and shadow arms."""
    lead = "Whether skills make rankings better, and what other settings would have done."
    return await _page(visit, "Arms", lead, arms, shadow_arms)


@ANALYSE.get("/calibration", Scope.READ_ALL, nav="Calibration", icon="target")
async def calibrated(visit: Visit) -> Response:
    """The predictions of rankings against their outcomes."""
    lead = "A ranking says how probable it is that nothing in it suits. Here is how often that came true."
    return await _page(visit, "Calibration", lead, calibration)


async def _page(visit: Visit, title: str, lead: str, *readers: Reader) -> Response:
    """Figures of the domain in the address, by default the largest one."""

    def read(con: DuckDBPyConnection) -> dict[str, Any]:
        domains = [domain for (domain,) in con.execute(_DOMAINS, [MOST_DOMAINS]).fetchall()]
        wanted = visit.fields.get("domain", "")
        domain = wanted if wanted in domains else next(iter(domains), "")
        weeks = [week for (week,) in con.execute(_WEEKS, [domain]).fetchall()] if visit.place == "/lines" else []
        figures = [reader(con, domain) for reader in readers] if domain else []
        return {"as_of": as_of(con), "domains": domains, "domain": domain, "weeks": weeks, "figures": figures}

    return visit.show("figures.html", title=title, lead=lead, **await visit.read(read))


def learning_curve(con: DuckDBPyConnection, domain: str) -> Figure:
    """The place of the chosen item, by the number of a user's choice."""
    found = con.execute(
        "SELECT nth, users, hit_at_1, hit_at_3, hit_at_5, ndcg_at_5, mean_reciprocal_rank FROM learning_curve "
        "WHERE domain = $1 AND nth <= $2 ORDER BY nth",
        [domain, MOST_CHOICES],
    ).fetchall()
    return Figure(
        "learning-curve",
        {"choice": text, "people": count, "at the top": percent, "95 % interval": share_range,
         "in the first 3": percent, "in the first 5": percent, "NDCG@5": number, "mean reciprocal rank": number},
        [(nth, users, first, wilson(first, users), *rest) for nth, users, first, *rest in found],
        {"kind": "line", "x": 0, "y": [2, 4, 5], "bands": {"2": 3}, "percent": True, "along": "nth choice"},
    )  # fmt: skip


def cold_start(con: DuckDBPyConnection, domain: str) -> Figure:
    """The number of choices before a skill has its first line of tier medium or high."""
    found = dict(
        con.execute(
            "SELECT least(choices, $2 + 1) AS after, count(*) FROM cold_start_age WHERE domain = $1 GROUP BY ALL",
            [domain, COLD_STEPS],
        ).fetchall()
    )
    names = {0: "at once", COLD_STEPS + 1: f"more than {COLD_STEPS}", None: "still cold"}
    rows, total, until = [], sum(found.values()), 0
    for step in (*range(COLD_STEPS + 2), None) if found else ():
        skills = found.get(step, 0)
        until += skills
        rows.append((names.get(step, str(step)), skills, skills / total, until / total))
    return Figure(
        "cold-start",
        {"choices": text, "skills": count, "share": percent, "so far": percent},
        rows,
        {"kind": "bar", "x": 0, "y": [1]},
    )


def adoption(con: DuckDBPyConnection, domain: str) -> Figure:
    """The lines that most skills hold, by tier."""
    found = con.execute(
        "SELECT value, kind, dimension, users, share, high, medium, low, discovered FROM attribute_adoption "
        "WHERE domain = $1 ORDER BY users DESC, high DESC, attribute_id LIMIT $2",
        [domain, MOST_LINES],
    ).fetchall()
    return Figure(
        "adoption",
        {"line": text, "kind": text, "dimension": text, "people": count, "share of skills": percent, "high": count,
         "medium": count, "low": count, "discovered": count},
        found,
        {"kind": "bar", "x": 0, "y": [5, 6, 7], "stack": True, "most": 20, "tall": True, "colours": COLOURS},
    )  # fmt: skip


def tier_flow(con: DuckDBPyConnection, domain: str, week: date | None = None) -> Figure:
    """The moves of lines between tiers, in one week or ever."""
    found = con.execute(
        "SELECT source, target, sum(value)::BIGINT FROM tier_flow WHERE domain = $1 AND week = coalesce($2, week) "
        "GROUP BY ALL",
        [domain, week],
    ).fetchall()
    flows = {(source.removeprefix("was "), target.removeprefix("is ")): moved for source, target, moved in found}
    ordered = [(was, now) for was in ("new", *TIERS) for now in (*TIERS, "gone") if (was, now) in flows]
    total = sum(flows[each] for each in ordered)
    return Figure(
        "tier-flow",
        {"was": text, "is": text, "lines": count, "share": percent},
        [(*each, flows[each], flows[each] / total) for each in ordered],
        {"kind": "sankey", "x": 0, "by": 1, "y": [2], "tall": True, "colours": COLOURS},
    )


def arms(con: DuckDBPyConnection, domain: str) -> Figure:
    """All arms of a domain, over the whole time."""
    found = con.execute(
        """
        WITH per_user AS (
            SELECT arm, user_id, count(*)::DOUBLE AS n, sum(ndcg_at_5) AS s, count(*) FILTER (hit_at_1) AS one,
                   count(*) FILTER (hit_at_3) AS three, sum(reciprocal_rank) AS mrr
            FROM outcomes WHERE domain = $1 GROUP BY ALL
        )
        SELECT arm, count(*) AS users, sum(n)::BIGINT AS choices, sum(s) / sum(n) AS ndcg,
               -- Of a ratio of sums over users, linearised, as in shadow_arms: a user's choices are not independent.
               CASE WHEN count(*) > 1 THEN
                   sqrt(greatest(0, sum(s * s) - 2 * ndcg * sum(s * n) + ndcg ** 2 * sum(n * n))
                        * count(*) / (count(*) - 1)) / sum(n)
               END AS error,
               sum(one) / sum(n), sum(three) / sum(n), sum(mrr) / sum(n)
        FROM per_user GROUP BY arm ORDER BY choices DESC, arm LIMIT $2
        """,
        [domain, MOST_ARMS],
    ).fetchall()
    return Figure(
        "arms",
        {"arm": text, "people": count, "choices": count, "NDCG@5": number, "95 % interval": number_range,
         "at the top": percent, "in the first 3": percent, "mean reciprocal rank": number},
        [(*row[:4], around(row[3], row[4]), *row[5:]) for row in found],
        {"kind": "boxplot", "x": 0, "y": [3], "bands": {"3": 4}},
    )  # fmt: skip


def shadow_arms(con: DuckDBPyConnection, domain: str) -> Figure:
    """Shadow arms against the live one, by week."""
    found = con.execute(
        "SELECT week, arm, users, choices, choices_behind, live_ndcg_at_5, shadow_ndcg_at_5, difference, "
        "difference_error FROM shadow_arms WHERE domain = $1 ORDER BY arm, week",
        [domain],
    ).fetchall()
    return Figure(
        "shadow-arms",
        {"week from": text, "arm": text, "people": count, "choices": count, "of them behind": count, "live": number,
         "shadow": number, "difference": number, "95 % interval": number_range, "verdict": text},
        [(*row[:-1], around(*row[-2:]), verdict(*row[-2:])) for row in found],
        {"kind": "line", "x": 0, "by": 1, "y": [7], "bands": {"7": 8}, "free": True},
    )  # fmt: skip


def verdict(difference: float | None, error: float | None) -> str:
    """A difference and its standard error in words.

    >>> verdict(0.2, 0.05), verdict(-0.2, 0.05), verdict(0.01, 0.05), verdict(0.1, None)
    ('better', 'worse', 'no difference seen', 'one person only')
    """
    found = around(difference, error)
    if found is None:
        return "one person only"
    return "better" if found[0] > 0 else "worse" if found[1] < 0 else "no difference seen"


def calibration(con: DuckDBPyConnection, domain: str) -> Figure:
    """The predicted probability that nothing suits against its frequency, by tenth."""
    found = con.execute(
        "SELECT predicted_from, rankings, predicted, happened, said_unsuited FROM calibration WHERE domain = $1 "
        "ORDER BY predicted_from",
        [domain],
    ).fetchall()
    return Figure(
        "calibration",
        {"said": text, "rankings": count, "said, on average": percent, "happened": percent,
         "95 % interval": share_range, "said that nothing suits": count},
        [
            (cut(f"{100 * start:.0f} to {100 * start + 10:.0f} %"), rankings, said, happened,
             wilson(happened, rankings), unsuited)
            for start, rankings, said, happened, unsuited in found
        ],
        {"kind": "line", "x": 0, "y": [2, 3], "bands": {"3": 4}, "percent": True},
    )  # fmt: skip
