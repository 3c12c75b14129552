"""How `sager sql` prints rows: as a table, one value a line where a table would be too wide, as CSV or as JSON."""

import csv
import sys
from collections.abc import Iterator, Sequence
from enum import Enum, auto
from itertools import islice
from typing import Any

from streams.cli.output import console, note, plain, print_json_rows, printable, row, table

MOST_ROWS = 1_000
"""That are shown to people: a table is laid out as a whole."""
LONG_CELL = 60
"""Characters of a cell in a table; the rest is cut."""
LONG_VALUE = 600
"""Characters of a value on lines of its own."""
LONG_FRACTION = 12
_GAP = 3
"""Columns between two cells."""

Rows = Iterator[Sequence[Any]]


class Layout(Enum):
    """How rows are printed."""

    AUTO = auto()
    """A table, or one value a line if the terminal is too narrow for the table."""
    TABLE = auto()
    VERTICAL = auto()
    WRAPPED = auto()
    """A table whose cells are wrapped."""
    JSON = auto()
    CSV = auto()


def print_rows(columns: Sequence[str], rows: Rows, layout: Layout, *, full: bool) -> int:
    """Print rows; return how many there are, if people read them.

    Args:
        columns: their headings.
        rows: the values, as they come.
        layout: how.
        full: cut no long value.
    """
    if layout is Layout.JSON:
        print_json_rows(dict(zip(columns, cells, strict=True)) for cells in rows)
    elif layout is Layout.CSV:
        _print_csv(columns, rows)
    if not columns or layout in (Layout.JSON, Layout.CSV):
        return 0
    shown = [["" if cell is None else _shown(cell) for cell in cells] for cells in islice(rows, MOST_ROWS)]
    if next(rows, None) is not None:
        note(f"the first {MOST_ROWS:,} rows; --csv and --json print all")
    headings = [printable(name) for name in columns]
    if layout is Layout.WRAPPED:
        _print_wrapped(headings, shown)
        return len(shown)
    cut = shown if full else [[_cut(cell, LONG_CELL) for cell in cells] for cells in shown]
    width = _width(headings, cut)
    if layout is Layout.VERTICAL or (layout is Layout.AUTO and width > console().width):
        cut = shown if full else [[_cut(cell, LONG_VALUE) for cell in cells] for cells in shown]
        _print_vertical(headings, cut)
    else:
        _print_table(headings, cut, width)
    if cut != shown:
        note("… marks a value that is cut: --full prints all of it")
    return len(shown)


def _print_csv(columns: Sequence[str], rows: Rows) -> None:
    # Programs get the data as they are; a terminal would obey them.
    shown = printable if sys.stdout.isatty() else str
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(map(shown, columns))
    for cells in rows:
        out.writerow("" if cell is None else shown(_text(cell)) for cell in cells)


def _print_table(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> None:
    """One line per row, however wide: `less -S` scrolls sideways."""
    made = table(*headings, whole=headings)
    for cells in rows:
        row(made, cells)
    console(at_least=width).print(made, crop=False, soft_wrap=True)


def _print_wrapped(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    made = table(*headings, whole=headings[:-1])
    for cells in rows:
        row(made, cells)
    console().print(made)


def _print_vertical(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    out = console()
    name_width = max(map(len, headings))
    for number, cells in enumerate(rows, 1):
        print(f"─── row {number} ".ljust(min(out.width, 60), "─"))
        for heading, cell in zip(headings, cells, strict=True):
            lines = [part for line in cell.split("\n") for part in _chunks(line, out.width - name_width - 2)]
            print(f"{heading:<{name_width}}  {lines[0]}".rstrip())
            for line in lines[1:]:
                print(f"{'':<{name_width}}  {line}")


def _chunks(line: str, width: int) -> list[str]:
    from textwrap import wrap  # noqa: PLC0415

    return wrap(line, max(width, 20), break_on_hyphens=False, drop_whitespace=True) or [""]


def _width(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    from rich.cells import cell_len  # noqa: PLC0415

    columns = zip(*[headings, *rows], strict=True)
    return sum(max(cell_len(line) for cell in cells for line in cell.split("\n")) + _GAP for cells in columns) + 1


def _cut(cell: str, most: int) -> str:
    """The cell's beginning, with how much more there is."""
    if len(cell) <= most:
        return cell
    return f"{cell[:most]}… (+{len(cell) - most:,} characters)"


def _shown(cell: Any) -> str:
    """The value as people read it: six digits of a long fraction; --csv and --json have all."""
    text = printable(_text(cell))
    return f"{cell:.6g}" if isinstance(cell, float) and len(text) > LONG_FRACTION and abs(cell) < 1e6 else text  # noqa: PLR2004


def _text(cell: Any) -> str:
    return str(plain(cell)) if isinstance(cell, bytes) else str(cell)
