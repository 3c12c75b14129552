"""What a query can name: the snapshot's macros, views and tables, with what each is for and its columns."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from duckdb import DuckDBPyConnection

_ALL = """
    SELECT 'view' AS kind, view_name AS name, comment, [] AS parameters FROM duckdb_views()
    WHERE database_name = 'snapshot' AND NOT internal
    UNION ALL
    SELECT 'macro', function_name, comment, parameters FROM duckdb_functions()
    WHERE database_name = 'snapshot' AND NOT internal
    UNION ALL
    SELECT 'table', table_name, comment, [] FROM duckdb_tables() WHERE database_name = 'snapshot'
    ORDER BY name
"""
_COLUMNS = """
    SELECT table_name, list([column_name || ' ' || lower(data_type), coalesce(comment, '')] ORDER BY column_index)
    FROM duckdb_columns() WHERE database_name = 'snapshot' GROUP BY ALL
"""
_NEWEST = "SELECT max(published_at) FROM snapshot_info"
KINDS = (("view", "Views"), ("macro", "Macros"), ("table", "Tables"))
EXAMPLES = {"who": "'ann'", "line": "'preference:mood:dark'"}
EARLIER = ("since", "earlier", "moment")
"""Parameters that stand for a moment some time ago; the others without a default stand for the newest one."""
BEFORE = timedelta(days=14)
NEVER = datetime(2026, 1, 31)  # noqa: DTZ001 - as the file has its times
"""Stands for the newest moment where nothing has been published."""
DEFAULTED = ("evolved", "baseline", "n", "errors")
"""Parameters of our macros that have a default, which DuckDB does not tell."""


@dataclass(frozen=True)
class Name:
    """Something that a query can name.

    Attributes:
        name: its name.
        comment: what it is for.
        query: a query that reads it.
        columns: names with their types, and their comments; empty for a macro.
        parameters: of a macro.
    """

    name: str
    comment: str
    query: str
    columns: tuple[tuple[str, str], ...] = ()
    parameters: tuple[str, ...] = ()


def names(con: DuckDBPyConnection) -> list[tuple[str, list[Name]]]:
    """All names, under headings."""
    columns = dict(con.execute(_COLUMNS).fetchall())
    [(newest,)] = con.execute(_NEWEST).fetchall()
    found: dict[str, list[Name]] = {kind: [] for kind, _ in KINDS}
    for kind, name, comment, parameters in con.execute(_ALL).fetchall():
        given = tuple(parameters or ())
        found[kind].append(
            Name(
                name,
                comment or "",
                _query(name, kind, given, newest or NEVER),
                tuple((column, comment) for column, comment in columns.get(name, ())),
                given,
            )
        )
    return [(heading, found[kind]) for kind, heading in KINDS if found[kind]]


def _query(name: str, kind: str, parameters: tuple[str, ...], newest: datetime) -> str:
    if kind != "macro":
        return f"FROM {_quoted(name)} LIMIT 100"
    moments = dict.fromkeys(EARLIER, newest - BEFORE)
    wanted = [
        EXAMPLES.get(each, f"'{moments.get(each, newest):%Y-%m-%d %H:%M}'")
        for each in parameters
        if each not in DEFAULTED
    ]
    return f"FROM {_quoted(name)}({', '.join(wanted)})"


def _quoted(name: str) -> str:
    """A name as SQL takes it.

    >>> _quoted("skills"), _quoted("odd name")
    ('skills', '"odd name"')
    """
    return name if name.isidentifier() and name.isascii() else '"' + name.replace('"', '""') + '"'
