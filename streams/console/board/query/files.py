"""A query's result as a CSV file, row by row."""

import csv
import io
from collections.abc import AsyncIterator, Sequence

from streams.console.board.query.frames import Cell, Frame

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula, which could send what is beside it elsewhere."""


async def as_csv(columns: Sequence[tuple[str, str]], frames: AsyncIterator[Frame]) -> AsyncIterator[bytes]:
    """The lines of a CSV file in UTF-8: a heading, and a line a row."""
    yield _lines([[name for name, _ in columns]])
    async for frame in frames:
        if frame.kind == "rows":
            yield _lines(frame.content)


def _lines(rows: Sequence[Sequence[Cell]]) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerows([value(cell) for cell in row] for row in rows)
    return out.getvalue().encode()


def value(cell: Cell) -> str | int | float:
    """A cell as a spreadsheet shows it, and does not carry out: a text that begins like a formula gets a `'` before it.

    >>> value("=HYPERLINK(1)"), value(-1.5), value(None), value(True)
    ("'=HYPERLINK(1)", -1.5, '', 'true')
    """
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, str):
        return f"'{cell}" if cell.startswith(FORMULA) else cell
    return "" if cell is None else cell
