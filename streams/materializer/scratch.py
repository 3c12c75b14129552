"""What the materializer makes of records, in memory beside a published snapshot, to compare the two."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from streams.materializer import analytics, ddl, derived
from streams.materializer.columns import Table
from streams.materializer.store import Store
from streams.materializer.tables import TABLES

_ROWS = 1_000
_CATALOG = {
    "table": "SELECT schema_name, table_name AS name, sql FROM duckdb_tables() WHERE database_name = $1",
    "view": "SELECT schema_name, view_name AS name, sql FROM duckdb_views() WHERE database_name = $1 AND NOT internal",
    "macro": (
        "SELECT schema_name, function_name AS name, concat_ws('|', parameters::VARCHAR, macro_definition) AS sql "
        "FROM duckdb_functions() WHERE database_name = $1 AND NOT internal"
    ),
    "index": "SELECT schema_name, index_name AS name, sql FROM duckdb_indexes() WHERE database_name = $1",
    "sequence": "SELECT schema_name, sequence_name AS name, sql FROM duckdb_sequences() WHERE database_name = $1",
    "type": (
        "SELECT schema_name, type_name AS name, logical_type AS sql FROM duckdb_types() "
        "WHERE database_name = $1 AND NOT internal"
    ),
}


class Scratch(Store):
    """An empty file in memory, as `live`, with a snapshot attached as `snapshot`. Nothing of it reaches a disk.

    Args:
        snapshot: a published snapshot.
        prefix: the deployment's topic prefix.

    Raises:
        MaterializerError: it cannot be made.
        duckdb.Error: the snapshot cannot be read.
    """

    def __init__(self, snapshot: Path, prefix: str) -> None:
        super().__init__(Path(":memory:"), prefix)
        try:
            self._all("SET temp_directory = ''")
            self._all(f"ATTACH {analytics.quoted(str(snapshot))} AS snapshot (READ_ONLY)")
            self._catalog = self._own_catalog(prefix)
            # A file that somebody edited may hold views that read others.
            self._all("SET enable_external_access = false")
        except BaseException:
            self.close()
            raise

    def rows(self, query: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows that a query gives."""
        result = self._db.cursor()
        result.execute("USE live")
        result.execute(query, list(values))
        while found := result.fetchmany(_ROWS):
            yield from found

    def clear(self) -> None:
        """Deletes all rows of records, to make room for others."""
        for table in (*TABLES, *derived.DERIVED, derived.STALE_USERS):
            for each in (table, *table.children):
                self._all(f"DELETE FROM live.{each.name}")  # noqa: S608 - our own names; values are bound  # nosec B608

    def differing(self) -> list[tuple[str, str]]:
        """Tables, views, macros and the like of the snapshot that are not as this release makes them: kind and name."""
        found = []
        for kind, theirs in self._entries("snapshot").items():
            found += sorted({(kind, str(name)) for _, name, _ in self._catalog[kind] ^ theirs})
        return found

    def _entries(self, database: str) -> dict[str, set[tuple[Any, ...]]]:
        return {kind: set(self._db.execute(query, [database]).fetchall()) for kind, query in _CATALOG.items()}

    def _own_catalog(self, prefix: str) -> dict[str, set[tuple[Any, ...]]]:
        """What an empty file holds. From a disk, because there DuckDB spells queries differently than in memory."""
        with TemporaryDirectory() as folder:
            path = Path(folder) / "empty.duckdb"
            Store(path, prefix).close()
            self._all(f"ATTACH {analytics.quoted(str(path))} AS empty (READ_ONLY)")
            found = self._entries("empty")
            self._all("DETACH empty")
        return found

    @property
    def layout(self) -> int:
        """The layout of the snapshot."""
        [(layout,)] = self._all("SELECT schema_version FROM snapshot.main.meta")
        return int(layout)

    @property
    def is_of_this_release(self) -> bool:
        """Whether the snapshot has the layout that this release makes."""
        return self.layout == ddl.LAYOUT_VERSION

    def derive_part(self, part: int, parts: int) -> None:
        """Derives, from the snapshot's own rows, what a publication derives for one part of all users."""
        self.clear()
        sources = [table for table in TABLES if table.name in derived.SOURCES]
        for table in (each for source in sources for each in (source, *source.children)):
            names = _quoted(table)
            query = f"INSERT INTO live.{table.name} SELECT {names} FROM snapshot.main.{table.name} WHERE {_PART}"  # noqa: S608 - our own names; values are bound  # nosec B608
            self._db.execute(query, [parts, part]).fetchall()
        users = " UNION ".join(f"SELECT user_id FROM live.{table.name}" for table in sources)  # noqa: S608 - our own names; values are bound  # nosec B608
        self._all(f"INSERT INTO stale_users {users}")
        derived.derive(self._db)

    def derived_differences(self, part: int, parts: int) -> Iterator[tuple[str, str, str]]:
        """The table, user and domain of each row that is in one of the two and not in the other."""
        for table in derived.DERIVED:
            ours = f"SELECT {_quoted(table)} FROM live.{table.name}"  # noqa: S608 - our own names; values are bound  # nosec B608
            theirs = f"SELECT {_quoted(table)} FROM snapshot.main.{table.name} WHERE {_PART}"  # noqa: S608 - our own names; values are bound  # nosec B608
            query = (
                f"SELECT DISTINCT user_id, domain FROM (({theirs} EXCEPT ALL {ours}) UNION ALL "  # noqa: S608 - our own names; values are bound  # nosec B608
                f"({ours} EXCEPT ALL {theirs})) ORDER BY ALL"
            )
            for user, domain in self.rows(query, [parts, part]):
                yield table.name, str(user), str(domain)


_PART = "hash(user_id) % $1 = $2"


def _quoted(table: Table) -> str:
    return ", ".join(f'"{name}"' for name in table.names)
