"""Arms side by side: how high the chosen items ranked in each, with how sure that is."""

from duckdb import DuckDBPyConnection

from streams.console.board import charts, words
from streams.console.board.curve import SURE
from streams.console.board.figures import Column, Figure, table

MOST_ARMS = 40
_ARMS = """
    WITH per_user AS (
        SELECT arm, user_id, count(*)::DOUBLE AS n, sum(ndcg_at_5) AS s, count(*) FILTER (hit_at_1) AS one,
               count(*) FILTER (hit_at_3) AS three, sum(reciprocal_rank) AS mrr
        FROM outcomes WHERE domain = $1 GROUP BY ALL
    )
    SELECT arm, count(*) AS users, sum(n)::BIGINT AS choices, sum(one) / sum(n), sum(three) / sum(n),
           sum(s) / sum(n) AS ndcg, sum(mrr) / sum(n),
           -- Of a ratio of sums over users, linearised: a person's choices are not independent.
           CASE WHEN count(*) > 1 THEN
               sqrt(greatest(0, sum(s * s) - 2 * ndcg * sum(s * n) + ndcg ** 2 * sum(n * n))
                    * count(*) / (count(*) - 1)) / sum(n)
           END AS error
    FROM per_user GROUP BY arm ORDER BY choices DESC, arm LIMIT $2
"""


def arms(con: DuckDBPyConnection, domain: str) -> Figure:
    """All arms of a domain, over the whole time."""
    found = con.execute(_ARMS, [domain, MOST_ARMS]).fetchall()
    names = [f"{words.cut(row[0], 40)}\n{row[2]:,} choices" for row in found]
    bounds = [around(row[5], row[7]) for row in found]
    columns = [Column("arm"), Column("people", is_number=True), Column("choices", is_number=True),
               Column("NDCG@5", is_number=True), Column("95 % interval", is_number=True),
               Column("at the top", is_number=True), Column("in the first 3", is_number=True),
               Column("mean reciprocal rank", is_number=True)]  # fmt: skip
    rows = [
        (arm, users, choices, ndcg, told(low, high), words.percent(one), words.percent(three), mrr)
        for (arm, users, choices, one, three, ndcg, mrr, _), (low, high) in zip(found, bounds, strict=True)
    ]
    boxes = [
        [charts.rounded(each, 3) for each in (low, low, row[5], high, high)]
        for row, (low, high) in zip(found, bounds, strict=True)
    ]
    return Figure(
        "arms",
        "Arms side by side",
        "NDCG@5 of the lists that people chose from: the line is the mean, the box its 95 % interval, by people. Arms "
        "compare only where people were assigned to them at random.",
        table("Arms side by side", columns, rows),
        {
            **charts.ALONE,
            "tooltip": {"trigger": "item"},
            "xAxis": {"type": "category", "data": names, "axisLabel": {"lineHeight": 17}},
            "yAxis": {"type": "value", "name": "NDCG@5", "min": 0},
            "series": [
                {
                    "type": "boxplot",
                    "name": "NDCG@5",
                    "data": boxes,
                    "boxWidth": [14, 60],
                    "itemStyle": {"borderWidth": 2},
                }
            ],
        },
        "No choice has been matched with its list yet.",
    )


def around(middle: float | None, error: float | None) -> tuple[float | None, float | None]:
    """The 95 % interval around an estimate; none without its error."""
    if middle is None or error is None:
        return None, None
    return middle - SURE * error, middle + SURE * error


def told(low: float | None, high: float | None) -> str:
    """An interval in words.

    >>> told(0.1, 0.25), told(None, None)
    ('0.1 to 0.25', '—')
    """
    return words.NOTHING if low is None or high is None else f"{words.number(low)} to {words.number(high)}"
