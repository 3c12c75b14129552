"""`sager sql`: query the newest DuckDB snapshot without DuckDB's own command line."""

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from streams.cli.options import AsJson, examples, settings
from streams.exceptions import StreamsError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

CHUNK = 5_000
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
    """DuckDB rejected or stopped the query; the message says why and what to try."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "sql",
        epilog=examples(
            "sager sql --list",
            'sager sql "FROM learning_curve ORDER BY domain, nth"',
            "sager sql \"FROM policy_at('ann', '2026-01-31')\" --json",
            "sager sql --describe outcomes",
            'sager sql "FROM rankings LIMIT 3" --vertical --full',
            'sager sql "FROM outcomes" --table | less -S',
            "sager sql - < question.sql",
        ),
    )(sql)


def sql(
    query: Annotated[str | None, typer.Argument(help="DuckDB SQL; - reads it from stdin.", metavar="QUERY")] = None,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV and nothing else.")] = False,
    list_all: Annotated[bool, typer.Option("--list", help="List macros, tables and views.")] = False,
    describe: Annotated[str | None, typer.Option(help="List a table's or view's columns.", metavar="NAME")] = None,
    vertical: Annotated[bool, typer.Option("--vertical", "-x", help="Print one value per line.")] = False,
    as_table: Annotated[bool, typer.Option("--table", help="Print a table, even one wider than the terminal.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Do not cut long values.")] = False,
    seconds: Annotated[float, typer.Option(min=0.1, help="Stop the query after so many seconds.")] = 60.0,
) -> None:
    """Query the newest DuckDB snapshot.

    The snapshot is some seconds behind and read-only: no query can slow down or change the pipeline, or read another
    file. A table that is too wide for the terminal is printed vertically, one value per line. Tables show the first
    1,000 rows and the beginning of long values; --json and --csv print everything.
    """
    if sum([query is not None, list_all, describe is not None]) != 1:
        raise typer.BadParameter("give one of QUERY, --list and --describe")
    if sum([as_json, as_csv, vertical, as_table]) > 1:
        raise typer.BadParameter("give at most one of --json, --csv, --vertical and --table")
    if list_all:
        query = _LISTED
    elif describe is not None:
        query = _DESCRIBED
    elif query == "-":
        query = sys.stdin.read()
    if not (query or "").strip():
        raise QueryFailed("the query is empty; `sager sql --list` lists tables, views and macros")
    from streams.cli.data import rows as printing  # noqa: PLC0415
    from streams.materializer import read  # noqa: PLC0415

    layout = printing.Layout.VERTICAL if vertical else printing.Layout.TABLE if as_table else printing.Layout.AUTO
    if layout is printing.Layout.AUTO and (list_all or describe is not None):
        layout = printing.Layout.WRAPPED

    con = read.connect(settings())
    try:
        read.restrict(con, seconds)
        columns, rows = _ask(con, query or "", [describe] if describe is not None else [])
        if as_json:
            printing.print_json(columns, rows)
        elif as_csv:
            printing.print_csv(columns, rows)
        elif printing.print_rows(columns, rows, layout, full=full) == 0 and describe is not None:
            raise QueryFailed(f"there is no table or view {describe!r}; `sager sql --list` lists them")
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
    """The result of `do`, with a progress bar when it takes long; Ctrl-C interrupts the query."""
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
        return f"{said}\n`sager sql --list` lists tables, views and macros; `sager sql --describe NAME` lists columns"
    if "read-only" in said or "disabled by configuration" in said:
        return f"{said}. Only the snapshot can be read; `sager export` writes files"
    return said
