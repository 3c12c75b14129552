"""Exports a person's rows of the DuckDB snapshot: from every table that names users, and from dead letters."""

from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb

from schemas import subject_of
from streams.materializer.schema import quoted
from streams.rights.portable.exceptions import NotPortable
from streams.rights.portable.manifest import File, digest_of
from streams.rights.portable.ownership import Owner

_COLUMNS = {"user_id": lambda user: user, "subject": subject_of}
"""The columns that name people."""
_LETTERS = 200


def export_rows(
    con: duckdb.DuckDBPyConnection,
    owner: Owner,
    folder: Path,
    tell: Callable[[str, int, int], None],
    *,
    parquet: bool,
) -> dict[str, File]:
    """Writes the rows, one file per table that has any.

    Args:
        con: a connection of `read.connect`.
        owner: the person.
        folder: the target folder.
        tell: receives progress.
        parquet: write Parquet instead of JSON lines.
    """
    done: dict[str, File] = {}
    conditions = list(_conditions(con, owner))
    for number, (table, condition) in enumerate(conditions, 1):
        file = folder / f"{table}.{'parquet' if parquet else 'jsonl'}"
        form = "FORMAT parquet, COMPRESSION zstd" if parquet else "FORMAT json"
        [(rows,)] = con.execute(
            f'COPY (SELECT * FROM "{table}" WHERE {condition}) TO {quoted(str(file))} ({form})'  # noqa: S608 - our own names; the id is quoted  # nosec B608
        ).fetchall()
        file.chmod(0o600)
        if rows:
            done[table] = File(records=rows, sha256=digest_of(file))
        else:
            file.unlink()
        tell("tables", number, len(conditions))
    return done


def _conditions(con: duckdb.DuckDBPyConnection, owner: Owner) -> Iterator[tuple[str, str]]:
    """Every table that can hold rows of theirs, with the condition that selects them."""
    for column, name_of in _COLUMNS.items():
        query = (
            "SELECT table_name FROM duckdb_columns() JOIN duckdb_tables() USING (database_name, table_oid, table_name) "
            "WHERE database_name = 'snapshot' AND column_name = $1 ORDER BY table_name"
        )
        for (table,) in con.execute(query, [column]).fetchall():
            if not table.isidentifier():  # it names a file
                raise NotPortable(f"the snapshot has a table {table!r}, which no materializer makes")
            yield table, f'"{column}" = {quoted(name_of(owner.user_id))}'
    letters = list(_letters(con, owner))
    if letters:
        keys = ", ".join(f"({quoted(event)}, {position})" for event, position in letters)
        yield "dead_letters", f"(event_id, kafka_offset) IN ({keys})"


def _letters(con: duckdb.DuckDBPyConnection, owner: Owner) -> Iterator[tuple[str, int]]:
    result = con.execute("SELECT event_id, kafka_offset, key, value FROM dead_letters")
    while rows := result.fetchmany(_LETTERS):
        for event, position, key, value in rows:
            if owner.was_refused(key, value):
                yield event, position
