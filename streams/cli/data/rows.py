"""How `sager sql` prints rows: CSV, a table, or one value a line where a table would be too wide."""

import csv
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from streams.cli.output import console, note, plain, printable, row, table

MOST_ROWS = 1_000
"""People see so many rows: a table is laid out as a whole."""
LONG_VALUE = 600
"""Characters of a value on a line of its own; the rest is cut."""
LONG_FRACTION = 12
_GAP = 3
"""Columns between two cells."""

Rows = Iterator[Sequence[Any]]


def print_csv(columns: Sequence[str], rows: Rows) -> None:
    """Print rows as CSV."""
    # Programs get the data as they are; a terminal would obey them.
    shown = printable if sys.stdout.isatty() else str
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(map(shown, columns))
    for cells in rows:
        out.writerow("" if cell is None else shown(_text(cell)) for cell in cells)


def print_table(columns: Sequence[str], rows: Rows, *, wrap: bool) -> int:
    """Print rows for people; return how many.

    Args:
        columns: their headings.
        rows: the values, as they come.
        wrap: always print a table, and wrap its last column.
    """
    if not columns:
        return 0
    shown = [["" if cell is None else _shown(cell) for cell in cells] for cells in islice(rows, MOST_ROWS)]
    if next(rows, None) is not None:
        note(f"the first {MOST_ROWS:,} rows; --csv and --json print all")
    headings = [printable(name) for name in columns]
    if not wrap and _width(headings, shown) > console().width:
        _print_vertical(headings, shown)
    else:
        made = table(*headings, whole=headings[:-1] if wrap else headings)
        for cells in shown:
            row(made, cells)
        console().print(made)
    return len(shown)


def _print_vertical(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from textwrap import wrap  # noqa: PLC0415

    width, name_width, cut = console().width, max(map(len, headings)), False
    for number, cells in enumerate(rows, 1):
        print(f"─── row {number} ".ljust(min(width, 60), "─"))
        for heading, cell in zip(headings, cells, strict=True):
            if len(cell) > LONG_VALUE:
                cut, cell = True, f"{cell[:LONG_VALUE]}… (+{len(cell) - LONG_VALUE:,} characters)"  # noqa: PLW2901
            lines = [
                part
                for line in cell.split("\n")
                for part in wrap(line, max(width - name_width - 2, 20), break_on_hyphens=False) or [""]
            ]
            print(f"{heading:<{name_width}}  {lines[0]}".rstrip())
            for line in lines[1:]:
                print(f"{'':<{name_width}}  {line}")
    if cut:
        note("… marks a value that is cut: --csv and --json print all of it")


def _width(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    from rich.cells import cell_len  # noqa: PLC0415

    columns = zip(*[headings, *rows], strict=True)
    return sum(max(cell_len(line) for cell in cells for line in cell.split("\n")) + _GAP for cells in columns) + 1


def _shown(cell: Any) -> str:
    """The value as people read it: six digits of a long fraction; --csv and --json have all."""
    text = printable(_text(cell))
    return f"{cell:.6g}" if isinstance(cell, float) and len(text) > LONG_FRACTION and abs(cell) < 1e6 else text  # noqa: PLR2004


def _text(cell: Any) -> str:
    return str(plain(cell)) if isinstance(cell, bytes) else str(cell)
