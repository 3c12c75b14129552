"""Tastes that changed or may have, by week, without the people."""

from datetime import date, timedelta
from typing import Any

from duckdb import DuckDBPyConnection

from streams.console.board import charts
from streams.console.board.figures import Column, Figure, table

WEEKS = 26
KINDS = ("stated", "observed", "overtaken", "faded")
_SHIFTS = """
    SELECT date_trunc('week', occurred_at)::DATE AS week, domain, how, count(*) AS lines,
           count(DISTINCT user_id) AS people
    FROM shifts WHERE occurred_at >= (SELECT max(occurred_at) FROM shifts) - $1 * INTERVAL 1 WEEK
    GROUP BY ALL ORDER BY week DESC, domain, how
"""


def shifts(con: DuckDBPyConnection) -> Figure:
    """Lines that fell because a taste changed or may have, by week and kind."""
    found = con.execute(_SHIFTS, [WEEKS]).fetchall()
    first, last = (found[-1][0], found[0][0]) if found else (date.max, date.min)
    weeks = [first + timedelta(weeks=at) for at in range((last - first).days // 7 + 1)]
    counts: dict[tuple[Any, str], int] = {}
    for week, _, how, count, _ in found:
        counts[week, how] = counts.get((week, how), 0) + count
    drawn = dict(
        charts.bars(
            [], {how: [counts.get((week, how), 0) for week in weeks] for how in KINDS}, unit="lines", stacked=True
        )
    )
    drawn["xAxis"] = {**drawn["xAxis"], "data": [week.isoformat() for week in weeks]}
    columns = [Column("week from"), Column("domain"), Column("how it was seen"), Column("lines", is_number=True),
               Column("people", is_number=True)]  # fmt: skip
    return Figure(
        "shifts",
        "Tastes that may have changed",
        "Lines that fell, by week. Stated: the person said so. Observed: it may have changed, since they seldom took "
        "it from the last lists that offered it. Overtaken: another change has made it old. Faded: nothing confirmed "
        "it for long. A sudden rise in one week more often means that the catalogue or the lists changed than that "
        "people did.",
        table("Tastes that may have changed", columns, found),
        drawn,
        "No taste has been seen to change.",
    )
