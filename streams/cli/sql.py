"""`sager sql`: query the newest DuckDB snapshot without DuckDB's own command line."""

import csv
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streams.cli.options import AsJson, examples, settings
from streams.cli.output import json_value, note, print_json_rows, print_table, printable
from streams.exceptions import StreamsError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

GIB = 1024**3
CHUNK = 5_000  # rows per fetch
MOST_ROWS = 1_000  # in a table for people: rich lays out the whole table in memory
MOST_COLUMNS = 10  # of a table: more would leave too few characters for each

Rows = Iterator[Sequence[Any]]

app = typer.Typer()


@app.command(
    epilog=examples(
        "sager sql --list", "sager sql \"FROM policy_at('ann', '2026-01-31')\" --json", "sager sql - < question.sql"
    )
)
def sql(
    query: Annotated[str | None, typer.Argument(help="DuckDB SQL; - reads it from stdin.", metavar="QUERY")] = None,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV and nothing else.")] = False,
    list_all: Annotated[bool, typer.Option("--list", help="List macros, tables and views.")] = False,
    duckdb: Annotated[Path | None, typer.Option(help="The file, instead of SAGER_DUCKDB.", metavar="FILE")] = None,
    seconds: Annotated[float, typer.Option(min=0.1, max=86_400, help="Stop the query after this time.")] = 60.0,
    memory: Annotated[float, typer.Option(min=0.05, max=4_096, help="Stop it at more memory, in GiB.")] = 2.0,
) -> None:
    """Query the newest DuckDB snapshot.

    The snapshot is some seconds behind, and a query can only read it. A table shows at most 1,000 rows; rows of more
    than ten columns are printed as JSON. For an interactive shell use `duckdb -readonly FILE`.
    """
    from streams.analytics import read  # noqa: PLC0415

    if (query is not None) is list_all:
        raise typer.BadParameter("give a QUERY or --list; for a shell use duckdb -readonly FILE")
    if list_all:
        query = read.NAMES
    elif query == "-":
        query = sys.stdin.read()
    if query and any("\ud800" <= sign <= "\udfff" for sign in query):
        raise typer.BadParameter("the query is not UTF-8")
    if not query or not query.strip():
        raise StreamsError("the query is empty; `sager sql --list` lists tables, views and macros")
    from duckdb import Error  # noqa: PLC0415

    with read.connect(settings(duckdb=duckdb)) as con:
        read.restrict(con, seconds, int(memory * GIB))
        try:
            con.execute(query)
            columns, rows = [name for name, *_ in con.description or ()], _rows(con)
            if as_json or (len(columns) > MOST_COLUMNS and not as_csv):
                print_json_rows(dict(zip(columns, cells, strict=True)) for cells in rows)
            elif as_csv:
                _print_csv(columns, rows)
            else:
                _print_table(columns, rows, columns[:-1] if list_all else ())
        except (Error, MemoryError) as error:
            raise StreamsError(_query_error(error, seconds, memory)) from error


def _rows(con: "DuckDBPyConnection") -> Rows:
    while con.description and (chunk := con.fetchmany(CHUNK)):
        yield from chunk


def _query_error(error: Exception, seconds: float, memory: float) -> str:
    """Return DuckDB's message, or advice where the message suggests locked settings."""
    text = f"DuckDB: {error}".expandtabs(2)
    if "maximum execution time" in text:
        return f"the query was stopped after {seconds:g} s: narrow it, or raise the limit with --seconds"
    if isinstance(error, MemoryError) or any(part in text for part in ("Out of Memory", "bad_alloc", "bad allocation")):
        return f"the query needs more than {memory:g} GiB of memory: narrow it, or raise the limit with --memory"
    if "does not exist" in text:
        return f"{text}\n`sager sql --list` lists tables, views and macros; `DESCRIBE NAME` lists columns"
    if "read-only" in text or "disabled by configuration" in text:
        return f"{text}. Only the snapshot can be read; `duckdb -readonly FILE` writes files"
    return text


def _print_csv(columns: Sequence[str], rows: Rows) -> None:
    # A terminal would execute control characters; programs get the data unchanged.
    shown = printable if sys.stdout.isatty() else str
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(map(shown, columns))
    for cells in rows:
        out.writerow("" if cell is None else shown(_text(cell)) for cell in cells)


def _print_table(columns: Sequence[str], rows: Rows, whole: Sequence[str]) -> None:
    """Print rows as a table; `whole` columns never wrap."""
    shown = [["" if cell is None else printable(_text(cell)) for cell in cells] for cells in islice(rows, MOST_ROWS)]
    if next(rows, None) is not None:
        note(f"showing the first {MOST_ROWS:,} rows; --csv and --json print all")
    print_table([printable(name) for name in columns], shown, whole=whole)


def _text(cell: Any) -> str:
    return str(json_value(cell)) if isinstance(cell, bytes) else str(cell)
