"""Which statements read: the parser's own kinds, of a statement and of everything inside it."""

import json
import re
from collections.abc import Iterator
from typing import Any

import duckdb

from streams.materializer.exceptions import MaterializerError

READING = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
"""What a reading statement is made of. A part that writes has a kind of its own, such as COPY_QUERY_NODE."""

UNREAD = frozenset({"query", "json_execute_serialized_sql"})
"""Functions that run SQL out of a text, which no parser has seen."""

_EXPLAIN = re.compile(
    r"\s*explain\s+(?:analyze\s+)?(?:\((?:\s|,|analyze|format\s+\w+)*\))?(?P<explained>.*)", re.IGNORECASE | re.DOTALL
)
"""Without comments: where the explained statement begins must be beyond doubt. DuckDB then parses it by itself."""


class NotReading(MaterializerError, ValueError):
    """A statement would do something else than read the snapshot; the message says what."""


def reading(con: duckdb.DuckDBPyConnection, query: str) -> duckdb.Statement:
    """The only statement of a query, parsed, if all that it does is read.

    Raises:
        NotReading: it does, or may do, something else; or there are several.
        duckdb.Error: it is no SQL.
    """
    statement, text = _only(con, query), query
    kind = _kind(statement)
    if kind == "EXPLAIN":
        # EXPLAIN ANALYZE carries out what it explains.
        if (found := _EXPLAIN.match(query)) is None:
            raise NotReading("EXPLAIN goes first, without a comment before it")
        text = found["explained"]
        kind = _kind(_only(con, text))
    if kind == "MULTI":
        raise NotReading("DuckDB makes several statements of it. Name PIVOT's values: PIVOT ... ON column IN (1, 2)")
    if kind != "SELECT":
        raise NotReading(
            f"this is {_told(kind)}, and only SELECT, FROM, DESCRIBE, SUMMARIZE, SHOW and EXPLAIN are carried out: the "
            "snapshot is read-only. `sager export` writes files"
        )
    _check_inside(con, text)
    return statement


def _only(con: duckdb.DuckDBPyConnection, query: str) -> duckdb.Statement:
    found = con.extract_statements(query)
    if len(found) != 1:
        raise NotReading(f"one statement at a time; here are {len(found)}")
    return found[0]


def _kind(statement: duckdb.Statement) -> str:
    try:
        return statement.type.name
    except ValueError:  # a kind that DuckDB's own list for Python lacks
        return "one of another kind"


def _check_inside(con: duckdb.DuckDBPyConnection, text: str) -> None:
    """DuckDB takes INSERT, UPDATE, DELETE and COPY TO as parts of a SELECT: WITH done AS (COPY ...) FROM done."""
    [(told,)] = con.execute("SELECT json_serialize_sql($1)", [text]).fetchall()
    tree = json.loads(told)
    if tree["error"]:
        raise NotReading(f"DuckDB does not tell what it is made of: {tree['error_message']}")
    for part in _parts(tree):
        kind = part.get("type")
        if isinstance(kind, str) and kind.endswith("_NODE") and kind not in READING:
            raise NotReading(f"a part of it does not read; it is {_told(kind)}")
        if str(part.get("function_name")).lower() in UNREAD:
            raise NotReading(f"{part['function_name']}() runs SQL out of a text: write that SQL itself")


def _parts(tree: Any) -> Iterator[dict[str, Any]]:
    pending = [tree]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            yield part
            pending.extend(part.values())
        elif isinstance(part, list):
            pending.extend(part)


def _told(kind: str) -> str:
    return kind.removesuffix("_QUERY_NODE").removesuffix("_NODE").replace("_", " ")
