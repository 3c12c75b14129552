"""The only writer of the live DuckDB file: rows and Kafka offsets are written in one transaction.

A kill at any moment loses and duplicates nothing, because the consumer starts from the offsets in this file and not
from the group's. Only one thread may use a `DuckDBStore`. No code in this process may open the file a second time, even
to copy it: closing any descriptor of the file drops DuckDB's lock.
"""

import logging
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Self

import duckdb
import pyarrow as pa

from schemas import Receipt
from streams import permissions
from streams.analytics import Damaged, MaterializerError, erasure, read, schema
from streams.analytics.files import attach, cannot_open, cannot_write, copy_rows, open_for_writing, remove_database
from streams.analytics.records import ChangeSet, PendingChange, Row, RowKey
from streams.analytics.schema import Keep, Table, all_tables, sql_literal, tables
from streams.settings import Settings

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress in a partition: the next offset, and the id of the topic that it counts in."""

    next_offset: int
    topic_id: str


Offsets = Mapping[tuple[str, int], Progress]  # progress by full topic name and partition


class DuckDBStore:
    """The live DuckDB file, open for writing; it and its folders are created."""

    def __init__(self, path: Path, prefix: str) -> None:
        self.path = path
        self._fresh = path.with_name(path.name + ".fresh")
        # True if a commit failed. DuckDB's memory may disagree with the file: write nothing more, open it again.
        self.is_broken = False
        permissions.make_private(path.parent)
        try:
            self._db = open_for_writing(path)
        except duckdb.Error as error:
            raise cannot_open(path, error) from error
        try:
            remove_database(self._fresh)
            with self._transaction():  # a kill leaves nothing half done
                self._prepare(prefix)
        except BaseException as error:
            self._db.close()
            if isinstance(error, duckdb.Error):
                raise cannot_write(path, error) from error
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            # After a commit that failed on a full disk, DuckDB 2.0 has parts of it in memory. A checkpoint at closing
            # would write them: rows without their offsets, and keys in an index without their rows.
            with suppress(duckdb.Error):  # refused, and needless, after a checkpoint that failed
                self._db.execute("PRAGMA disable_checkpoint_on_shutdown")
        self.close()

    def close(self) -> None:
        """Close the file; it holds everything that was committed."""
        self._db.close()

    def offsets(self) -> dict[tuple[str, int], Progress]:
        """Return how far each partition has been read into the file."""
        rows = self._all("SELECT topic, kafka_partition, next_offset, topic_id FROM sink_offsets")
        return {(topic, partition): Progress(offset, topic_id) for topic, partition, offset, topic_id in rows}

    def forget_offsets(self, topics: Mapping[str, str]) -> None:
        """Restart recreated topics, whose new ids are given, at their first offset."""
        for name, topic_id in topics.items():
            self._db.execute("UPDATE sink_offsets SET next_offset = 0, topic_id = ? WHERE topic = ?", [topic_id, name])

    def move_offsets(self, offsets: Offsets) -> None:
        """Continue partitions at these offsets."""
        if offsets:
            table = all_tables()["sink_offsets"]
            rows = [(*key, each.next_offset, each.topic_id) for key, each in offsets.items()]
            self._register(table, [dict(zip(table.names, row, strict=True)) for row in rows])
            self._all("INSERT OR REPLACE INTO sink_offsets BY NAME SELECT * FROM batch")

    def use_prices(self, prompt: float, completion: float) -> None:
        """Record token prices, in US dollars per million, for cost queries."""
        self._db.execute("UPDATE meta SET llm_price_prompt = ?, llm_price_completion = ?", [prompt, completion])

    def receipts(self) -> list[str]:
        """Return all receipts in the file, as JSON."""
        return [document for (document,) in self._all("SELECT document FROM receipts")]

    def derive_all(self) -> None:
        """Mark all derived rows as stale, so that the next checkpoint makes them again."""
        self._all("INSERT INTO stale_users SELECT user_id FROM selections UNION SELECT user_id FROM skill_diffs")

    def write(self, batch: ChangeSet, offsets: Offsets, receipts: Sequence[Receipt] = ()) -> dict[str, int]:
        """Write a batch with its offsets and delete the rows that receipts cover; return the rows written by table."""
        written: dict[str, int] = {}
        with self._transaction():
            dropped = 0
            for table in tables():
                pending = batch.pending(table)
                dropped += self._delete(table, [key for key, change in pending.items() if change.dropped])
                written |= self._put(table, pending)
            forgotten = erasure.purge(self._db, receipts) if receipts else set[str]()
            if forgotten or dropped:
                self._db.execute("UPDATE meta SET is_stained = true")
            stale = _users(batch, with_dropped=dropped > 0) | forgotten
            self._insert(all_tables()["stale_users"], [{"user_id": user} for user in sorted(stale)])
            self.move_offsets(offsets)
        return written

    def checkpoint(self, published_at: datetime, newest_record_at: datetime | None) -> None:
        """Update the derived tables and write everything into the main file, ready to be copied."""
        with self._transaction():
            if self._all("SELECT 1 FROM stale_users LIMIT 1"):
                for name, derivation in zip(schema.DERIVED, schema.derivations(), strict=True):
                    self._all(f"DELETE FROM {name} WHERE user_id IN (FROM stale_users)")
                    self._all(derivation)
                self._all("DELETE FROM stale_users")
            [(before,)] = self._all("SELECT max(newest_record_at) FROM snapshot_info")
            newest = max((moment for moment in (before, newest_record_at) if moment), default=None)
            self._db.execute("DELETE FROM snapshot_info")
            insert = "INSERT INTO snapshot_info SELECT ?, ?, coalesce(sum(next_offset), 0) FROM sink_offsets"
            self._db.execute(insert, [published_at, newest])
        self._all("FORCE CHECKPOINT")

    def is_stained(self) -> bool:
        """True if free blocks of the file may still hold deleted rows."""
        return bool(self._all("SELECT 1 FROM meta WHERE is_stained"))

    def rewrite(self) -> None:
        """Replace the file by one with the same rows: free blocks and indexes of this one may hold deleted rows.

        Call it after a checkpoint. A kill in between leaves the old file, which is still marked as stained.
        """
        if shutil.disk_usage(self.path.parent).free < self.path.stat().st_size:
            raise MaterializerError(f"no room to rewrite {self.path}, which still holds erased rows: make room for it")
        remove_database(self._fresh)
        try:
            attach(self._db, self._fresh, "fresh")
            copy_rows(self._db, "live", "fresh")
        except BaseException:
            remove_database(self._fresh)
            raise
        finally:
            self._db.execute("USE live")
            self._db.execute("DETACH DATABASE IF EXISTS fresh")
        # The log of the old file must not lie beside the new one: DuckDB would refuse to open it.
        self._db.execute("PRAGMA disable_checkpoint_on_shutdown")
        self._db.close()
        try:
            remove_database(self.path, logs_only=True)
            self._fresh.replace(self.path)
        finally:
            self._db = open_for_writing(self.path)

    def _put(self, table: Table, pending: Mapping[RowKey, PendingChange]) -> dict[str, int]:
        """Skip rows that must not replace an existing one, write the rest."""
        puts = [change.put for change in pending.values() if change.put is not None]
        if not puts:
            return {}
        if table.keep is not Keep.LAST:
            version = [table.version] if table.keep is Keep.NEWEST else []
            newer = "".join(f" AND t.{name} > b.{name}" for name in version)
            self._register(table, [put.row for put in puts], [*table.key, *version])
            keys = ", ".join(f"t.{name}" for name in table.key)
            stays = set(self._all(f"SELECT {keys} FROM {table.name} t JOIN batch b ON {_same_key(table)}{newer}"))
            puts = [put for put in puts if put.key not in stays]
        if table.keep is not Keep.FIRST:
            self._delete(table, [put.key for put in puts])
        written = {table.name: self._insert(table, [put.row for put in puts])}
        for number, child in enumerate(table.children):
            written[child.name] = self._insert(child, [row for put in puts for row in put.children[number]])
        return written

    def _delete(self, table: Table, keys: Sequence[RowKey]) -> int:
        if not keys:
            return 0
        self._register(table, [dict(zip(table.key, key, strict=True)) for key in keys], table.key)
        each = (f"DELETE FROM {t.name} t USING batch b WHERE {_same_key(table)}" for t in (table, *table.children))
        return sum(int(self._all(statement)[0][0]) for statement in each)

    def _insert(self, table: Table, rows: Sequence[Row]) -> int:
        if rows:
            self._register(table, rows)
            self._all(f"INSERT INTO {table.name} BY NAME SELECT * FROM batch")
        return len(rows)

    def _register(self, table: Table, rows: Sequence[Row], columns: Sequence[str] = ()) -> None:
        chosen = pa.schema([table.arrow.field(name) for name in columns or table.names])
        self._db.register("batch", pa.Table.from_pylist(list(rows), schema=chosen))

    def _all(self, query: str) -> list[Any]:
        # Fetches even where there are no rows: an unread result blocks the connection.
        return self._db.execute(query).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN")
        try:
            yield
            self.is_broken = True
            self._db.execute("COMMIT")
            self.is_broken = False
        except BaseException:
            with suppress(duckdb.Error):  # the transaction may have ended already; the error before this one matters
                self._db.execute("ROLLBACK")
            raise

    def _prepare(self, prefix: str) -> None:
        """Create the tables, or check that this program and this deployment may write to the existing ones."""
        if self._all("SELECT 1 FROM duckdb_tables() WHERE table_name = 'meta'"):
            [(layout, found)] = self._all("SELECT schema_version, prefix FROM meta")
            if layout != schema.LAYOUT_VERSION:
                raise MaterializerError(
                    f"{self.path} has layout {layout}, this program writes {schema.LAYOUT_VERSION}: `sager rebuild "
                    "--duckdb` makes a new file from the topics, or use another SAGER_DATA_DIR"
                )
            if found != prefix:
                raise MaterializerError(
                    f"{self.path} belongs to the topic prefix {found!r}, not {prefix!r}. "
                    "Give each deployment its own SAGER_DATA_DIR"
                )
        elif self._all("SELECT 1 FROM duckdb_tables()"):
            raise MaterializerError(f"{self.path} holds tables that are not ours; set SAGER_DATA_DIR to another folder")
        else:
            schema.create_tables(self._db)
            self._db.execute("INSERT INTO meta (schema_version, prefix) VALUES (?, ?)", [schema.LAYOUT_VERSION, prefix])
        if self._all("SELECT queries FROM meta") != [(schema.fingerprint(),)]:
            # A better query needs no new layout.
            schema.create_queries(self._db)
            self.derive_all()
            self._db.execute("UPDATE meta SET queries = ?", [schema.fingerprint()])


def _users(batch: ChangeSet, *, with_dropped: bool) -> set[str]:
    """Return the users whose derived rows the batch makes stale.

    A tombstone that drops no row makes no user stale. It may name an erased person, and DuckDB keeps eight bytes of a
    column's least and greatest values until the file is rewritten: soon, if any row was dropped (`with_dropped`).
    """
    pending = [batch.pending(table) for table in tables() if table.name in schema.SOURCES]
    return {key[0] for changes in pending for key, change in changes.items() if change.put is not None or with_dropped}


def _same_key(table: Table) -> str:
    return " AND ".join(f"t.{name} = b.{name}" for name in table.key)


def live_file(settings: Settings) -> Path:
    """The path of the live DuckDB file."""
    return settings.data_dir / "live.duckdb"


def open_store(settings: Settings) -> DuckDBStore:
    """Open the live file; replace it first if it is damaged."""
    try:
        return DuckDBStore(live_file(settings), settings.prefix)
    except Damaged as error:
        replace_damaged(settings, error)
    return DuckDBStore(live_file(settings), settings.prefix)


def replace_damaged(settings: Settings, damage: Damaged) -> None:
    """Remove the damaged live file, and fill a new one from the snapshot if that can be read, later from Kafka.

    The damaged file is not kept: an erasure could not reach the rows in it.
    """
    path = live_file(settings)
    remove_database(path)
    try:
        read.connect(settings).close()  # refuses the snapshot of another deployment, or one with a log beside it
        with open_for_writing(path) as con:
            con.execute(f"ATTACH {sql_literal(str(settings.duckdb_file))} AS source (READ_ONLY)")
            copy_rows(con, "source", "live")
        source = str(settings.duckdb_file)
    except (MaterializerError, duckdb.Error) as error:
        remove_database(path)
        source = f"Kafka alone (no snapshot: {error})" if settings.duckdb_file.exists() else "Kafka alone"
    log.error("%s; the file was removed and is filled again from %s", damage, source)


def remove_live(settings: Settings) -> None:
    """Remove the live file, so that the materializer fills a new one; MaterializerError: another process holds it."""
    path = live_file(settings)
    try:
        open_for_writing(path).close()
    except duckdb.Error as error:
        if "lock" in str(error).lower():
            raise cannot_open(path, error) from error
    remove_database(path)
