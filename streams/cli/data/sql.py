"""`sager sql`: a question to the newest DuckDB snapshot, for those without DuckDB's own command line."""

import csv
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from streams.cli.options import AsJson, examples, settings
from streams.cli.output import console, note, printable, row, table
from streams.exceptions import StreamsError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MOST_ROWS = 1_000
"""That a table shows: it is laid out as a whole."""
CHUNK = 5_000
LONG_FRACTION = 12
QUIET_SECONDS = 2.0
_T = TypeVar("_T")

_LISTED = """
    SELECT table_name AS name, 'table' AS kind, comment FROM duckdb_tables() WHERE database_name = 'snapshot'
    UNION ALL
    SELECT view_name, 'view', comment FROM duckdb_views() WHERE database_name = 'snapshot' AND NOT internal
    UNION ALL
    SELECT function_name || '(' || list_aggregate(parameters, 'string_agg', ', ') || ')', 'macro', comment
    FROM duckdb_functions() WHERE database_name = 'snapshot' AND NOT internal
    ORDER BY kind = 'table', kind = 'view', name
"""
_DESCRIBED = """
    SELECT column_name AS column, data_type AS type, comment FROM duckdb_columns()
    WHERE database_name = 'snapshot' AND table_name = $1 ORDER BY column_index
"""


class QueryFailed(StreamsError, ValueError):
    """DuckDB would not answer; the message says why, and what to try."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "sql",
        epilog=examples(
            "sager sql --list",
            'sager sql "FROM learning_curve ORDER BY domain, nth"',
            "sager sql \"FROM policy_at('ann', '2026-01-31')\" --json",
            "sager sql --describe outcomes",
            "sager sql - < question.sql",
        ),
    )(sql)


def sql(
    query: Annotated[str | None, typer.Argument(help="DuckDB's SQL; - reads it from stdin.", metavar="QUERY")] = None,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV and nothing else.")] = False,
    list_all: Annotated[bool, typer.Option("--list", help="What can be asked: macros, tables and views.")] = False,
    describe: Annotated[str | None, typer.Option(help="A table's or view's columns.", metavar="NAME")] = None,
    seconds: Annotated[float, typer.Option(min=0.1, help="The longest that it may take.")] = 60.0,
) -> None:
    """Ask the newest DuckDB snapshot.

    Some seconds behind, and read-only: nothing that is asked can slow down or change the pipeline. Only the snapshot
    can be read, no other files. A table shows the first 1,000 rows, --json and --csv print all.
    """
    asked = [query is not None, list_all, describe is not None]
    if sum(asked) != 1 or (as_json and as_csv):
        raise typer.BadParameter("give one of QUERY, --list and --describe, and at most one of --json and --csv")
    if list_all:
        query = _LISTED
    elif describe is not None:
        query = _DESCRIBED
    elif query == "-":
        query = sys.stdin.read()
    if not (query or "").strip():
        raise QueryFailed("nothing was asked; `sager sql --list` tells what there is")
    from streams.materializer import read  # noqa: PLC0415

    con = read.connect(settings())
    try:
        read.restrict(con, seconds)
        columns, rows = _ask(con, query or "", [describe] if describe is not None else [])
        if as_json:
            _print_json(columns, rows)
        elif as_csv:
            _print_csv(columns, rows)
        elif _print_table(columns, rows) == 0 and describe is not None:
            raise QueryFailed(f"there is no table or view {describe!r}; `sager sql --list` tells what there is")
    finally:
        con.close()


def _ask(con: "DuckDBPyConnection", query: str, values: list[Any]) -> tuple[list[str], Iterator[Sequence[Any]]]:
    """The columns' names, and the rows as they come."""
    _watched(con, lambda: con.execute(query, values))
    columns = [name for name, *_ in con.description or ()]

    def rows() -> Iterator[Sequence[Any]]:
        while columns and (chunk := _watched(con, lambda: con.fetchmany(CHUNK))):
            yield from chunk

    return columns, rows()


def _watched(con: "DuckDBPyConnection", do: Callable[[], _T]) -> _T:
    """What `do` gives; says how far it is when that takes long, and stops it on Ctrl-C."""
    import duckdb  # noqa: PLC0415

    from streams.cli.progress import Stages  # noqa: PLC0415

    with ThreadPoolExecutor(1) as pool:
        doing = pool.submit(do)
        try:
            try:
                return doing.result(QUIET_SECONDS)
            except TimeoutError:
                with Stages() as stages:
                    while not doing.done():
                        stages.at("query", max(0, int(con.query_progress())), 100)
                        _wait(doing)
                return doing.result()
        except KeyboardInterrupt:
            con.interrupt()
            raise
        except duckdb.Error as error:
            raise QueryFailed(_told(error)) from error


def _wait(doing: Any) -> None:
    try:
        doing.exception(0.2)
    except TimeoutError:
        return


def _told(error: Exception) -> str:
    said = f"DuckDB says: {error}"
    if "maximum execution time" in said:
        return f"{said}. --seconds allows more"
    if "does not exist" in said:
        return f"{said}\n`sager sql --list` tells what there is, `sager sql --describe NAME` which columns it has"
    if "read-only" in said or "disabled by configuration" in said:
        return f"{said}. Only the snapshot can be read; `sager export` writes files"
    return said


def _print_table(columns: Sequence[str], rows: Iterator[Sequence[Any]]) -> int:
    made = table(*map(printable, columns))
    shown = 0
    for cells in rows:
        if shown == MOST_ROWS:
            note(f"the first {MOST_ROWS:,} rows; --csv and --json print all")
            break
        row(made, ("" if cell is None else _short(cell) for cell in cells))
        shown += 1
    if columns:
        console().print(made)
    return shown


def _print_csv(columns: Sequence[str], rows: Iterator[Sequence[Any]]) -> None:
    # Programs get the data as they are; a terminal would obey them.
    shown = printable if sys.stdout.isatty() else str
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(map(shown, columns))
    for cells in rows:
        out.writerow("" if cell is None else shown(_text(cell)) for cell in cells)


def _print_json(columns: Sequence[str], rows: Iterator[Sequence[Any]]) -> None:
    """A list of objects, one a line. All but ASCII is escaped: a terminal obeys more than the first 32 characters."""
    before = "["
    for cells in rows:
        told = dict(zip(columns, map(_plain, cells), strict=True))
        sys.stdout.write(f"{before}\n  {json.dumps(told)}")
        before = ","
    sys.stdout.write("[]\n" if before == "[" else "\n]\n")


def _short(cell: Any) -> str:
    """The value as a table shows it: of a long fraction six digits; --csv and --json have all."""
    text = _text(cell)
    return f"{cell:.6g}" if isinstance(cell, float) and len(text) > LONG_FRACTION and abs(cell) < 1e6 else text  # noqa: PLR2004


def _text(cell: Any) -> str:
    return cell.decode(errors="backslashreplace") if isinstance(cell, bytes) else str(cell)


def _plain(cell: Any) -> Any:
    """The value in JSON's terms; what has no such is text."""
    match cell:
        case float() | Decimal():
            return float(cell) if math.isfinite(cell) else None
        case None | bool() | int() | str():
            return cell
        case list() | tuple():
            return [_plain(each) for each in cell]
        case dict():
            return {str(key): _plain(each) for key, each in cell.items()}
        case _:
            return _text(cell)
