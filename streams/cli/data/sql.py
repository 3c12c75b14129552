"""`sager sql`: query the newest DuckDB snapshot without DuckDB's own command line."""

import csv
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from streams.cli.options import AsJson, examples, settings
from streams.cli.output import console, note, plain, print_json_rows, printable, row, table

GIB = 1024**3
MOST_ROWS = 1_000
"""People see so many rows: a table is laid out as a whole."""
LONG_VALUE = 600
"""Characters of a value on a line of its own; the rest is cut."""
LONG_FRACTION = 12
_GAP = 3
"""Columns between two cells."""

LISTED = """
    SELECT table_name AS name, 'table' AS kind, comment FROM duckdb_tables() WHERE database_name = 'snapshot'
    UNION ALL
    SELECT view_name, 'view', comment FROM duckdb_views() WHERE database_name = 'snapshot' AND NOT internal
    UNION ALL
    SELECT function_name || '(' || list_aggregate(parameters, 'string_agg', ', ') || ')', 'macro', comment
    FROM duckdb_functions() WHERE database_name = 'snapshot' AND NOT internal
    ORDER BY kind = 'table', kind = 'view', name
"""
DESCRIBED = """
    SELECT column_name AS column, data_type AS type, comment FROM duckdb_columns()
    WHERE database_name = 'snapshot' AND table_name = $1 ORDER BY column_index
"""

Rows = Iterator[Sequence[Any]]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "sql",
        epilog=examples(
            "sager sql --list",
            "sager sql \"FROM policy_at('ann', '2026-01-31')\" --json",
            "sager sql - < question.sql",
        ),
    )(sql)


def sql(
    query: Annotated[str | None, typer.Argument(help="DuckDB SQL; - reads it from stdin.", metavar="QUERY")] = None,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV and nothing else.")] = False,
    list_all: Annotated[bool, typer.Option("--list", help="List macros, tables and views.")] = False,
    describe: Annotated[str | None, typer.Option(help="List a table's or view's columns.", metavar="NAME")] = None,
    duckdb: Annotated[Path | None, typer.Option(help="The file, instead of SAGER_DUCKDB.", metavar="FILE")] = None,
    seconds: Annotated[float, typer.Option(min=0.1, max=86_400, help="Stop the query after so many seconds.")] = 60.0,
    memory: Annotated[float, typer.Option(min=0.05, max=4_096, help="Stop it at more memory, in GiB.")] = 2.0,
) -> None:
    """Query the newest DuckDB snapshot.

    It is some seconds behind. A query only reads: it can neither change nor slow down the pipeline, nor open another
    file. People see the first 1,000 rows, and the beginning of long values; --json and --csv print everything.
    """
    if sum([query is not None, list_all, describe is not None]) != 1:
        raise typer.BadParameter("give one of QUERY, --list and --describe; for a prompt: duckdb -readonly FILE")
    if as_json and as_csv:
        raise typer.BadParameter("give at most one of --json and --csv")
    if list_all:
        query = LISTED
    elif describe is not None:
        query = DESCRIBED
    elif query == "-":
        query = sys.stdin.read()
    if query and any("\ud800" <= sign <= "\udfff" for sign in query):
        raise typer.BadParameter("the query is not UTF-8")
    from streams.materializer.asking import Query, QueryFailed  # noqa: PLC0415

    if not (query or "").strip():
        raise QueryFailed("the query is empty; `sager sql --list` lists tables, views and macros")
    values = [describe] if describe is not None else []
    chosen, most_bytes = settings(duckdb=duckdb), int(memory * GIB)
    with Query(chosen, query or "", values, seconds=seconds, memory_bytes=most_bytes) as asked:
        columns = asked.columns()
        if as_json:
            print_json_rows(dict(zip(columns, cells, strict=True)) for cells in asked.rows())
        elif as_csv:
            _print_csv(columns, asked.rows())
        elif not _print_table(columns, asked.rows(), wrap=query in (LISTED, DESCRIBED)) and describe:
            raise QueryFailed(f"there is no table or view {describe!r}; `sager sql --list` lists them")


def _print_csv(columns: Sequence[str], rows: Rows) -> None:
    # Programs get the data as they are; a terminal would obey them.
    shown = printable if sys.stdout.isatty() else str
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(map(shown, columns))
    for cells in rows:
        out.writerow("" if cell is None else shown(_text(cell)) for cell in cells)


def _print_table(columns: Sequence[str], rows: Rows, *, wrap: bool) -> int:
    """Print rows for people, vertically if they are too wide, and return how many; `wrap`: wrap the last column."""
    if not columns:
        return 0
    shown = [["" if cell is None else _shown(cell) for cell in cells] for cells in islice(rows, MOST_ROWS)]
    if next(rows, None) is not None:
        note(f"the first {MOST_ROWS:,} rows; --csv and --json print all")
    headings = [printable(name) for name in columns]
    if wrap or _width(headings, shown) <= console().width:
        made = table(*headings, whole=headings[:-1] if wrap else headings)
        for cells in shown:
            row(made, cells)
        console().print(made)
        return len(shown)
    widest = max(map(len, headings))
    for number, cells in enumerate(shown, 1):
        print(f"─── row {number} ".ljust(60, "─"))
        for heading, cell in zip(headings, cells, strict=True):
            more = len(cell) - LONG_VALUE
            cut = f"… (+{more:,} characters)" if more > 0 else ""
            print(f"{heading:<{widest}}  {cell[:LONG_VALUE]}{cut}".rstrip())
    return len(shown)


def _width(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    from rich.cells import cell_len  # noqa: PLC0415

    columns = zip(*[headings, *rows], strict=True)
    return sum(max(cell_len(line) for cell in cells for line in cell.split("\n")) + _GAP for cells in columns) + 1


def _shown(cell: Any) -> str:
    """Format a value for people: six digits of a long fraction."""
    text = printable(_text(cell))
    return f"{cell:.6g}" if isinstance(cell, float) and len(text) > LONG_FRACTION and abs(cell) < 1e6 else text  # noqa: PLR2004


def _text(cell: Any) -> str:
    return str(plain(cell)) if isinstance(cell, bytes) else str(cell)
