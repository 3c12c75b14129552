"""Figures: a table, and a chart that the browser draws from it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import sqrt
from typing import Any

from duckdb import DuckDBPyConnection

from streams.console.formats import NOTHING, number, percent, text

STANDARD_ERRORS = 1.96
"""To each side of a 95 % interval."""
_PUBLISHED = "SELECT max(published_at) FROM snapshot_info"
Range = tuple[float, float] | None


@dataclass(frozen=True)
class Figure:
    """A table with a chart.

    Attributes:
        name: its id in the page; `templates/words.html` has its title and explanation.
        columns: headings, each with the format of its cells.
        rows: values.
        chart: which columns to draw and how, as `static/console.js` documents; empty: the table alone.
    """

    name: str
    columns: Mapping[str, Callable[[Any], str]]
    rows: Sequence[Sequence[Any]]
    chart: Mapping[str, Any] = field(default_factory=dict)

    @property
    def headings(self) -> list[tuple[str, bool]]:
        """Each heading, and true if its cells are numbers, which are aligned by their end."""
        return [(name, form is not text) for name, form in self.columns.items()]

    @property
    def cells(self) -> Iterator[list[str]]:
        """The rows as text."""
        forms = list(self.columns.values())
        return ([form(value) for form, value in zip(forms, row, strict=True)] for row in self.rows)


def count(value: int | None) -> str:
    """A whole number."""
    return text(value)


def share_range(found: Range) -> str:
    """A range of shares, in percent."""
    return f"{percent(found[0])} to {percent(found[1])}" if found else NOTHING


def number_range(found: Range) -> str:
    """A range of numbers."""
    return f"{number(found[0])} to {number(found[1])}" if found else NOTHING


def wilson(share: float | None, cases: int) -> Range:
    """The 95 % interval of a share of independent cases, by Wilson.

    >>> [round(bound, 3) for bound in wilson(0.5, 20)]
    [0.299, 0.701]
    """
    if share is None or cases <= 0:
        return None
    square = STANDARD_ERRORS**2 / cases
    middle = (share + square / 2) / (1 + square)
    half = STANDARD_ERRORS * sqrt(share * (1 - share) / cases + square / (4 * cases)) / (1 + square)
    return max(0.0, middle - half), min(1.0, middle + half)


def around(mean: float | None, error: float | None) -> Range:
    """The 95 % interval around a mean; None without its standard error."""
    if mean is None or error is None:
        return None
    return mean - STANDARD_ERRORS * error, mean + STANDARD_ERRORS * error


def as_of(con: DuckDBPyConnection) -> datetime | None:
    """The time of the snapshot, in UTC."""
    [(newest,)] = con.execute(_PUBLISHED).fetchall()
    return None if newest is None else newest.replace(tzinfo=UTC)
