"""What skills hold: how many have which line, and how lines move between tiers."""

from datetime import date

from duckdb import DuckDBPyConnection

from streams.console.board import charts, words
from streams.console.board.figures import Column, Figure, table

MOST_LINES = 20
"""Lines that the chart shows; the table has more."""
MOST_ROWS = 100
TIERS = ("high", "medium", "low", "silent")
_ADOPTION = """
    SELECT kind, dimension, value, users, share, high, medium, low, discovered FROM attribute_adoption
    WHERE domain = $1 ORDER BY users DESC, high DESC, attribute_id LIMIT $2
"""
_SKILLS = "SELECT count(*) FROM skills WHERE domain = $1"
_FLOW = """
    SELECT source, target, sum(value)::BIGINT AS value FROM tier_flow
    WHERE domain = $1 AND week = coalesce($2, week) GROUP BY ALL
"""
_WEEKS = "SELECT DISTINCT week FROM tier_flow WHERE domain = $1 ORDER BY week DESC LIMIT 26"


def adoption(con: DuckDBPyConnection, domain: str) -> Figure:
    """Which lines most skills hold, by tier."""
    found = con.execute(_ADOPTION, [domain, MOST_ROWS]).fetchall()
    [(skills,)] = con.execute(_SKILLS, [domain]).fetchall()
    shown = found[:MOST_LINES]
    names = [words.cut(f"{value} ({dimension})", 48) for _, dimension, value, *_ in shown]
    series = {
        tier: [charts.in_percent(row[place] / skills if skills else None) for row in shown]
        for place, tier in enumerate(TIERS[:3], 5)
    }
    drawn = dict(charts.bars(names, series, stacked=True))
    drawn["series"] = [{**each, "itemStyle": {"color": charts.colour_of(each["name"])}} for each in drawn["series"]]
    axis = "xAxis" if drawn["xAxis"]["type"] == "value" else "yAxis"
    drawn[axis] = {**drawn[axis], "axisLabel": charts.PERCENT}
    columns = [
        Column("line"),
        Column("kind"),
        Column("dimension"),
        Column("people", is_number=True),
        Column("share of skills", is_number=True),
        Column("high", is_number=True),
        Column("medium", is_number=True),
        Column("low", is_number=True),
        Column("discovered", is_number=True),
    ]
    rows = [
        (value, kind, dimension, users, words.percent(share), high, medium, low, discovered)
        for kind, dimension, value, users, share, high, medium, low, discovered in found
    ]  # fmt: skip
    return Figure(
        "adoption",
        "Adoption of lines",
        f"In how many of {skills:,} skills a line stands, by its tier. Silent lines are not counted: they say nothing.",
        table("Adoption of lines", columns, rows),
        drawn,
        "There are no skills yet.",
        tall=True,
    )


def weeks(con: DuckDBPyConnection, domain: str) -> list[date]:
    """The weeks in which lines moved, the newest first."""
    return [week for (week,) in con.execute(_WEEKS, [domain]).fetchall()]


def tier_flow(con: DuckDBPyConnection, domain: str, week: date | None = None) -> Figure:
    """How lines moved between tiers: in one week, or ever."""
    found = con.execute(_FLOW, [domain, week]).fetchall()
    was, now = [f"was {tier}" for tier in ("new", *TIERS)], [f"is {tier}" for tier in (*TIERS, "gone")]
    flows = [row for source in was for target in now for row in found if row[:2] == (source, target)]
    total = sum(count for *_, count in flows)
    rows = [
        (source.removeprefix("was "), target.removeprefix("is "), count, words.percent(count / total))
        for source, target, count in flows
    ]
    when = "over the whole time" if week is None else f"in the week from {week.isoformat()}"
    return Figure(
        "tier-flow",
        "Tier flow",
        f"From which tier to which lines moved {when}: {total:,} moves. A line that stayed where it was is not drawn.",
        table(
            "Tier flow",
            [Column("was"), Column("is"), Column("lines", is_number=True), Column("share", is_number=True)],
            rows,
        ),
        charts.sankey(flows, was, now),
        "No line has moved yet.",
        tall=True,
    )
