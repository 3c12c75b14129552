"""Whether what rankings said of themselves came true: that nothing in them suits."""

from duckdb import DuckDBPyConnection

from streams.console.board import charts, words
from streams.console.board.curve import interval
from streams.console.board.figures import Column, Figure, table

TENTHS = 10
_CALIBRATION = """
    SELECT predicted_from, rankings, predicted, happened, said_unsuited FROM calibration
    WHERE domain = $1 ORDER BY predicted_from
"""


def calibration(con: DuckDBPyConnection, domain: str) -> Figure:
    """Said and happened, by tenth of what was said."""
    found = con.execute(_CALIBRATION, [domain]).fetchall()
    bounds = [interval(happened, rankings) for _, rankings, _, happened, _ in found]
    names = [f"{TENTHS * round(TENTHS * start)} to {TENTHS * round(TENTHS * start) + TENTHS} %" for start, *_ in found]
    drawn = dict(
        charts.lines(
            names,
            {
                "said": [charts.in_percent(row[2]) for row in found],
                "happened": [charts.in_percent(row[3]) for row in found],
            },
        )
    )
    drawn["yAxis"] = {**drawn["yAxis"], "max": 100, "axisLabel": charts.PERCENT}
    drawn["series"] = [
        *drawn["series"],
        *charts.band(
            "happened", [charts.in_percent(low) for low, _ in bounds], [charts.in_percent(high) for _, high in bounds]
        ),
    ]
    columns = [
        Column("said"),
        Column("rankings", is_number=True),
        Column("said, on average", is_number=True),
        Column("happened", is_number=True),
        Column("95 % interval", is_number=True),
        Column("said that nothing suits", is_number=True),
    ]
    rows = [
        (name, rankings, words.percent(said), words.percent(happened),
         f"{words.percent(low)} to {words.percent(high)}", unsuited)
        for name, (_, rankings, said, happened, unsuited), (low, high) in zip(names, found, bounds, strict=True)
    ]  # fmt: skip
    return Figure(
        "calibration",
        "Calibration",
        "How probable rankings said it was that the person would want nothing of what they show, and how often that "
        "was so. Where the two lines meet, what is said can be relied on. The shade is the 95 % interval.",
        table("Calibration", columns, rows),
        drawn,
        "No ranking that says how well it suits has been answered yet.",
    )
