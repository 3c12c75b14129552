"""The learning curve and the cold start: how soon a skill is worth something."""

from math import sqrt

from duckdb import DuckDBPyConnection

from streams.console.board import charts, words
from streams.console.board.figures import Column, Figure, table

MOST_CHOICES = 100
"""Choices of a person that the curve follows."""
SURE = 1.96
"""Standard errors to each side of a 95 % interval."""
COLD_STEPS = 10
"""Choices after which a skill that is still cold is not told apart any more."""

_CURVE = """
    SELECT nth, users, hit_at_1, hit_at_3, hit_at_5, ndcg_at_5, mean_reciprocal_rank
    FROM learning_curve WHERE domain = $1 AND nth <= $2 ORDER BY nth
"""
_COLD = """
    SELECT least(choices, $2 + 1) AS after, count(*) FROM cold_start_age
    WHERE domain = $1 GROUP BY ALL ORDER BY after NULLS LAST
"""


def learning_curve(con: DuckDBPyConnection, domain: str) -> Figure:
    """How high the chosen items ranked, by the number of a person's choice."""
    found = con.execute(_CURVE, [domain, MOST_CHOICES]).fetchall()
    bounds = [interval(hit, users) for _, users, hit, *_ in found]
    columns = [Column("choice"), Column("people", is_number=True), Column("at the top", is_number=True),
               Column("95 % interval", is_number=True), Column("in the first 3", is_number=True),
               Column("in the first 5", is_number=True), Column("NDCG@5", is_number=True),
               Column("mean reciprocal rank", is_number=True)]  # fmt: skip
    rows = [
        (nth, users, words.percent(one), f"{words.percent(low)} to {words.percent(high)}", words.percent(three),
         words.percent(five), ndcg, mrr)
        for (nth, users, one, three, five, ndcg, mrr), (low, high) in zip(found, bounds, strict=True)
    ]  # fmt: skip
    series = {
        "at the top": [charts.in_percent(row[2]) for row in found],
        "in the first 3": [charts.in_percent(row[3]) for row in found],
        "in the first 5": [charts.in_percent(row[4]) for row in found],
    }
    drawn = dict(charts.lines([str(row[0]) for row in found], series))
    drawn["yAxis"] = {**drawn["yAxis"], "max": 100, "axisLabel": charts.PERCENT}
    drawn["xAxis"] = {**drawn["xAxis"], "name": "nth choice", "nameLocation": "middle", "nameGap": 28}
    lows, highs = [charts.in_percent(low) for low, _ in bounds], [charts.in_percent(high) for _, high in bounds]
    drawn["series"] = [*drawn["series"], *charts.band("at the top", lows, highs)]
    return Figure(
        "learning-curve",
        "Learning curve",
        "Where the item that was chosen stood in its list, by the number of a person's choice. The shade is the 95 % "
        "interval of the lowest line; it widens where fewer people have come so far.",
        table("Learning curve", columns, rows),
        drawn,
        "No choice has been matched with its list yet.",
    )


def cold_start(con: DuckDBPyConnection, domain: str) -> Figure:
    """After how many choices a skill has its first line that counts."""
    found = con.execute(_COLD, [domain, COLD_STEPS]).fetchall()
    total = sum(count for _, count in found)
    held = dict(found)
    steps = [*range(COLD_STEPS + 1), COLD_STEPS + 1, None] if total else []
    names = ["at once", *map(str, range(1, COLD_STEPS + 1)), f"more than {COLD_STEPS}", "still cold"][: len(steps)]
    counts = [held.get(step, 0) for step in steps]
    rows = [
        (name, count, words.percent(count / total), words.percent(sum(counts[: at + 1]) / total) if name else "")
        for at, (name, count) in enumerate(zip(names, counts, strict=True))
    ]
    return Figure(
        "cold-start",
        "Cold start",
        "After how many choices a skill has its first line of tier medium or high, from which on the slim skill says "
        "something. At once: what was known before the first choice was enough.",
        table(
            "Cold start",
            [Column("choices"), Column("skills", is_number=True), Column("share", is_number=True),
             Column("so far", is_number=True)],
            rows,
        ),
        charts.bars(names, {"skills": counts}, unit="skills", stacked=False),
        "There are no skills yet.",
    )  # fmt: skip


def interval(share: float | None, count: int) -> tuple[float | None, float | None]:
    """The 95 % interval of a share of so many independent cases, by Wilson.

    >>> [round(bound, 3) for bound in interval(0.5, 20)], interval(None, 0)
    ([0.299, 0.701], (None, None))
    """
    if share is None or count <= 0:
        return None, None
    square = SURE**2 / count
    middle = (share + square / 2) / (1 + square)
    half = SURE * sqrt(share * (1 - share) / count + square / (4 * count)) / (1 + square)
    return max(0.0, middle - half), min(1.0, middle + half)
