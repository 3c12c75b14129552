"""The only writer of the live DuckDB file: rows and Kafka offsets are written in one transaction.

A kill at any moment loses and duplicates nothing, because the consumer starts from the offsets in this file and not
from the group's. Only one thread may use a `Store`. Nothing in this process may open the file a second time, even to
copy it: closing any descriptor of it drops DuckDB's lock.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Self

import duckdb
import pyarrow as pa

from operators.privacy import Privacy
from schemas import Receipt
from streams import private
from streams.materializer import analytics, cleaning, ddl, derived, forgetting
from streams.materializer.batch import Batch, Pending
from streams.materializer.columns import Keep, Table
from streams.materializer.exceptions import MaterializerError
from streams.materializer.migrations import MIGRATIONS
from streams.materializer.records import Put, Row, RowKey
from streams.materializer.tables import TABLES

_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    # DuckDB 1.5, today's command line, cannot read the default storage of 2.0.
    "storage_compatibility_version": "v1.5.0",
    "threads": "2",
}
_ROW_GROUP = 32_768
"""A checkpoint rewrites a table's last row group, every few seconds: with the default of 122,880 rows it takes twice as
long. Much smaller groups compress worse."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a partition has been read: the next offset, and the id of the topic that it counts in."""

    next_offset: int
    topic_id: str


Offsets = Mapping[tuple[str, int], Progress]
"""Progress by full topic name and partition."""


class Store:
    """The live DuckDB file, open for writing.

    Args:
        path: the file; it and its parents are created.
        prefix: the deployment's topic prefix. A file of another deployment is refused, so that tenants stay apart.

    Raises:
        MaterializerError: another process holds the file, or it is not a file of the materializer.
    """

    def __init__(self, path: Path, prefix: str) -> None:
        self.path = path
        private.make(path.parent)
        try:
            self._db = _open(path)
        except duckdb.Error as error:
            raise _cannot_open(path, error) from error
        try:
            self._prepare(prefix)
        except duckdb.Error as error:
            self._db.close()
            raise cannot_write(path, error) from error
        except BaseException:
            self._db.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file; what was committed is in it."""
        self._db.close()

    def offsets(self) -> dict[tuple[str, int], Progress]:
        """How far each partition has been read into the file."""
        rows = self._all("SELECT topic, kafka_partition, next_offset, topic_id FROM sink_offsets")
        return {(topic, partition): Progress(offset, topic_id) for topic, partition, offset, topic_id in rows}

    def forget_offsets(self, topics: Iterable[str]) -> None:
        """Deletes the offsets of topics that were recreated."""
        for name in topics:
            self._db.execute("DELETE FROM sink_offsets WHERE topic = ?", [name])

    def move_offsets(self, offsets: Offsets) -> None:
        """Has partitions go on at these offsets: the topics were made anew with the same records at known places."""
        self._db.execute("BEGIN")
        self._delete(ddl.SINK_OFFSETS, list(offsets))
        self._insert(ddl.SINK_OFFSETS, [_offset(*partition, progress) for partition, progress in offsets.items()])
        self._db.execute("COMMIT")

    def use_cluster(self, cluster_id: str) -> None:
        """Records which Kafka cluster the rows come from."""
        self._db.execute("UPDATE meta SET cluster_id = ?", [cluster_id])

    def use_prices(self, prompt: float, completion: float) -> None:
        """Records token prices, in US dollars per million, for cost queries."""
        self._db.execute("UPDATE meta SET llm_price_prompt = ?, llm_price_completion = ?", [prompt, completion])

    def clean(self, privacy: Privacy) -> int:
        """Takes out of older rows what this filter refuses; of how many. The next publication has a new file."""
        self._db.execute("BEGIN")
        try:
            rows = cleaning.clean(self._db, privacy)
            if rows:
                self._db.execute("UPDATE meta SET is_stained = true")
            self._db.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise
        return rows

    def receipts(self) -> list[str]:
        """All receipts in the file, as JSON."""
        return [document for (document,) in self._all("SELECT document FROM receipts")]

    def derive_all(self) -> None:
        """Marks all derived tables to be rebuilt at the next publication."""
        derived.mark_all(self._db)

    def write(self, batch: Batch, offsets: Offsets, receipts: Sequence[Receipt] = ()) -> dict[str, int]:
        """Writes a batch with its offsets and deletes what receipts cover, in one transaction.

        Returns:
            The number of rows written to each table, without duplicates and older versions.
        """
        written: dict[str, int] = {}
        self._db.execute("BEGIN")
        try:
            for table in TABLES:
                if pending := batch.pending(table):
                    written |= self._apply(table, pending)
            forgotten = forgetting.purge(self._db, receipts) if receipts else set[str]()
            if forgotten:
                self._db.execute("UPDATE meta SET is_stained = true")
            self._insert(derived.STALE_USERS, [{"user_id": user} for user in sorted(_users(batch) | forgotten)])
            self._delete(ddl.SINK_OFFSETS, list(offsets))
            self._insert(ddl.SINK_OFFSETS, [_offset(*partition, progress) for partition, progress in offsets.items()])
            self._db.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise
        return written

    def checkpoint(self, published_at: datetime, newest_record_at: datetime | None) -> None:
        """Updates the derived tables and checkpoints everything into the main file, ready to be copied."""
        self._db.execute("BEGIN")
        try:
            [(before,)] = self._all("SELECT max(newest_record_at) FROM snapshot_info")
            newest = max((moment for moment in (before, newest_record_at) if moment), default=None)
            derived.derive(self._db)
            self._db.execute("DELETE FROM snapshot_info")
            self._db.execute(
                "INSERT INTO snapshot_info SELECT ?, ?, coalesce(sum(next_offset), 0) FROM sink_offsets",
                [published_at, newest],
            )
            self._db.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise
        self._all("FORCE CHECKPOINT")
        if self._all("SELECT 1 FROM meta WHERE is_stained"):
            self._write_anew()

    def _write_anew(self) -> None:
        """Copies all rows to a new file that replaces this one: deleted rows stay in a file's free blocks.

        The new file gets its tables and keys as an empty one does.
        """
        fresh = self.path.with_name(self.path.name + ".fresh")
        _remove(fresh)
        self._all(f"ATTACH {analytics.quoted(str(fresh))} AS fresh (ROW_GROUP_SIZE {_ROW_GROUP})")
        try:
            self._all("USE fresh")
            self._run(ddl.statements())
            for table in ddl.all_tables():
                names = ", ".join(f'"{name}"' for name in table.names)
                self._all(f"INSERT INTO fresh.{table.name} SELECT {names} FROM live.{table.name}")  # noqa: S608 - our own names; values are bound  # nosec B608
            self._run(analytics.statements())
            self._all("UPDATE fresh.meta SET is_stained = false")
            self._all("CHECKPOINT fresh")
        except BaseException:
            self._all("USE live")
            self._all("DETACH fresh")
            _remove(fresh)
            raise
        self._db.close()
        try:
            fresh.replace(self.path)
            _remove(self.path.with_name(self.path.name + ".wal"), fresh.with_name(fresh.name + ".wal"))
        finally:
            self._db = _open(self.path)

    def _apply(self, table: Table, pending: Mapping[RowKey, Pending]) -> dict[str, int]:
        """Deletes dropped rows, skips rows that must not replace an existing one, writes the rest."""
        dropped = [key for key, wanted in pending.items() if wanted.dropped]
        if self._delete_with_children(table, dropped):
            self._db.execute("UPDATE meta SET is_stained = true")
        puts = [wanted.put for wanted in pending.values() if wanted.put is not None]
        stays = self._that_stay(table, puts)
        puts = [put for put in puts if put.key not in stays]
        if table.keep is not Keep.FIRST:
            self._delete_with_children(table, [put.key for put in puts])
        written = {table.name: self._insert(table, [put.row for put in puts])}
        for place, child in enumerate(table.children):
            written[child.name] = self._insert(child, [row for put in puts for row in put.children[place]])
        return written

    def _that_stay(self, table: Table, puts: Sequence[Put]) -> set[RowKey]:
        """The keys whose existing row must not be replaced by the one in `puts`."""
        if not puts or table.keep is Keep.LAST:
            return set()
        compared, newer = table.key, ""
        if table.keep is Keep.NEWEST:
            compared, newer = (
                (*table.key, table.version_column),
                f" AND t.{table.version_column} > b.{table.version_column}",
            )
        keys = ", ".join(f"t.{name}" for name in table.key)
        self._register(table, [put.row for put in puts], compared)
        query = f"SELECT {keys} FROM {table.name} t JOIN batch b ON {_same_key(table)}{newer}"  # noqa: S608 - our own names; values are bound  # nosec B608
        return set(self._all(query))

    def _delete_with_children(self, table: Table, keys: Sequence[RowKey]) -> int:
        return sum(self._delete(each, keys, by=table) for each in (table, *table.children))

    def _delete(self, table: Table, keys: Sequence[RowKey], by: Table | None = None) -> int:
        """Deletes the rows with these keys of `by`, or of the table itself; returns how many there were."""
        if not keys:
            return 0
        by = by or table
        self._register(by, [dict(zip(by.key, key, strict=True)) for key in keys], by.key)
        condition = _same_key(by)
        [(count,)] = self._all(f"DELETE FROM {table.name} t USING batch b WHERE {condition}")  # noqa: S608 - our own names; values are bound  # nosec B608
        return int(count)

    def _insert(self, table: Table, rows: Sequence[Row]) -> int:
        if rows:
            self._register(table, rows, table.names)
            self._all(f"INSERT INTO {table.name} BY NAME SELECT * FROM batch")  # noqa: S608 - our own names; values are bound  # nosec B608
        return len(rows)

    def _register(self, table: Table, rows: Sequence[Row], columns: Sequence[str]) -> None:
        """Makes these columns of the rows readable as `batch`."""
        arrays = [pa.array([row[name] for row in rows], type=table.schema.field(name).type) for name in columns]
        self._db.register("batch", pa.table(arrays, names=list(columns)))

    def _all(self, query: str) -> list[Any]:
        # Fetches even where there are no rows: an unread result blocks the connection.
        return self._db.execute(query).fetchall()

    def _roll_back(self) -> None:
        try:
            self._db.execute("ROLLBACK")
        except duckdb.Error:  # the transaction may have ended already; the error before this one matters
            return

    def _prepare(self, prefix: str) -> None:
        """Creates the tables, or migrates an older layout, in one transaction: a kill leaves nothing half done."""
        self._db.execute("BEGIN")
        if self._all("SELECT 1 FROM duckdb_tables() WHERE table_name = 'meta'"):
            self._migrate(self._layout(prefix))
        elif self._all("SELECT 1 FROM duckdb_tables()"):
            raise MaterializerError(f"{self.path} holds tables that are not ours; set SAGER_DATA_DIR to another folder")
        else:
            self._run(ddl.statements())
            self._db.execute("INSERT INTO meta (schema_version, prefix) VALUES (?, ?)", [ddl.LAYOUT_VERSION, prefix])
        self._make_queries()
        self._db.execute("COMMIT")

    def _layout(self, prefix: str) -> int:
        """The file's layout, after checking that this program and this deployment may write to it."""
        [(layout, found)] = self._all("SELECT schema_version, prefix FROM meta")
        if layout > ddl.LAYOUT_VERSION:
            raise MaterializerError(
                f"{self.path} has layout {layout}, this program knows {ddl.LAYOUT_VERSION}: "
                "a newer version has written it. Use that version, or another SAGER_DATA_DIR"
            )
        if found != prefix:
            raise MaterializerError(
                f"{self.path} belongs to the topic prefix {found!r}, not {prefix!r}. "
                "Give each deployment its own SAGER_DATA_DIR"
            )
        return int(layout)

    def _migrate(self, layout: int) -> None:
        for older in range(layout, ddl.LAYOUT_VERSION):
            self._run(MIGRATIONS[older])
        if layout != ddl.LAYOUT_VERSION:
            self._run(ddl.comments())
            self._db.execute("UPDATE meta SET schema_version = ?", [ddl.LAYOUT_VERSION])

    def _make_queries(self) -> None:
        """Recreates views and macros if any has changed: a better query needs no new layout."""
        fingerprint = analytics.fingerprint(*(table.name for table in derived.DERIVED))
        if self._all("SELECT queries FROM meta") != [(fingerprint,)]:
            analytics.replace(self._db)
            self.derive_all()
            self._db.execute("UPDATE meta SET queries = ?", [fingerprint])

    def _run(self, statements: Iterable[str]) -> None:
        for statement in statements:
            self._all(statement)


def _open(path: Path) -> duckdb.DuckDBPyConnection:
    # Rows that do not fit into memory: not into the folder that the process happens to be started in.
    con = duckdb.connect(config={**_CONFIG, "temp_directory": str(path.parent / "spill")})
    try:
        con.execute(f"ATTACH {analytics.quoted(str(path))} AS live (ROW_GROUP_SIZE {_ROW_GROUP})")
        con.execute("USE live")
    except BaseException:
        con.close()
        raise
    return con


def _remove(*paths: Path) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def _users(batch: Batch) -> set[str]:
    """The users whose derived rows the batch makes stale."""
    pending = [batch.pending(table) for table in TABLES if table.name in derived.SOURCES]
    return {key[0] for changes in pending for key in changes}


def _offset(topic: str, partition: int, progress: Progress) -> Row:
    """A row of `sink_offsets`."""
    return {
        "topic": topic,
        "kafka_partition": partition,
        "next_offset": progress.next_offset,
        "topic_id": progress.topic_id,
    }


def _same_key(table: Table) -> str:
    return " AND ".join(f"t.{name} = b.{name}" for name in table.key)


def cannot_write(path: Path, error: duckdb.Error) -> MaterializerError:
    """The error for a failed write, usually on a full disk."""
    return MaterializerError(
        f"DuckDB cannot write {path}: {error}. Make room if the disk is full, and start again: what was committed "
        "is in the file, and the rest is read again from Kafka"
    )


def _cannot_open(path: Path, error: duckdb.Error) -> MaterializerError:
    if "lock" in str(error).lower():
        return MaterializerError(
            f"another process holds {path}: stop the other `sager materialize`, or close the DuckDB client that has "
            f"this file open (analysts open the published snapshot instead). DuckDB says: {error}"
        )
    return MaterializerError(
        f"cannot open {path}. If it is damaged, move it away: it is rebuilt from Kafka. DuckDB says: {error}"
    )
