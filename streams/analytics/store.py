"""Writes rows and Kafka offsets to DuckDB in one transaction.

A kill at any moment loses and duplicates nothing, because the consumer starts from the offsets in the file. Only one
thread may use a `DuckDBStore`. No code in this process may open the file a second time, even to copy it: closing any
descriptor of the file drops DuckDB's lock.
"""

import logging
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

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

# The topic's id of offsets that `sager up` restored: its new broker gives new ids to topics, but keeps their offsets.
RESTORED_TOPIC = "restored"


@dataclass(frozen=True, slots=True)
class Progress:
    """The next offset of a partition, and its topic's id."""

    next_offset: int
    topic_id: str

    def is_in(self, topic_id: str) -> bool:
        """Return False if the topic was recreated with this id."""
        return self.topic_id in (topic_id, RESTORED_TOPIC)


Offsets = Mapping[tuple[str, int], Progress]  # progress by full topic name and partition


class DuckDBStore(AbstractContextManager["DuckDBStore"]):
    """The live DuckDB file, open for writing, created if missing."""

    def __init__(self, path: Path, prefix: str) -> None:
        self.path = path
        self._fresh = path.with_name(path.name + ".fresh")
        # True if a commit failed: DuckDB's memory may disagree with the file, which must be reopened before a write.
        self.is_broken = False
        permissions.make_private(path.parent)
        try:
            self._db = open_for_writing(path)
        except duckdb.Error as error:
            raise cannot_open(path, error) from error
        try:
            remove_database(self._fresh)
            with self._transaction():  # so that a kill leaves no partial schema
                self._prepare(prefix)
        except BaseException as error:
            self._db.close()
            if isinstance(error, duckdb.Error):
                raise cannot_write(path, error) from error
            raise

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            # After a commit failed on a full disk, DuckDB 2.0 keeps parts of it in memory. A checkpoint at closing
            # would write rows without their offsets, and index keys without their rows.
            with suppress(duckdb.Error):  # refused, and needless, after a checkpoint that failed
                self._db.execute("PRAGMA disable_checkpoint_on_shutdown")
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def offsets(self) -> dict[tuple[str, int], Progress]:
        """Return the progress of each partition."""
        rows = self._all("SELECT topic, kafka_partition, next_offset, topic_id FROM sink_offsets")
        return {(topic, partition): Progress(offset, topic_id) for topic, partition, offset, topic_id in rows}

    def forget_offsets(self, topics: Mapping[str, str]) -> None:
        """Restart recreated topics at their first offset, with their new ids."""
        for name, topic_id in topics.items():
            self._db.execute("UPDATE sink_offsets SET next_offset = 0, topic_id = ? WHERE topic = ?", [topic_id, name])

    def move_offsets(self, offsets: Offsets) -> None:
        """Set the offsets of partitions."""
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
        """Mark all derived rows to be derived again at the next checkpoint."""
        self._all("INSERT INTO stale_users SELECT user_id FROM selections UNION SELECT user_id FROM skill_diffs")

    def write(self, batch: ChangeSet, offsets: Offsets, receipts: Sequence[Receipt] = ()) -> dict[str, int]:
        """Write a batch, its offsets and erasures; return row counts by table."""
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
        """Update derived tables and checkpoint: the file can be copied."""
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
        """Return true if free blocks of the file may hold deleted rows."""
        return bool(self._all("SELECT 1 FROM meta WHERE is_stained"))

    def rewrite(self) -> None:
        """Copy all rows to a new file; call it after a checkpoint."""
        # A kill in between leaves the old file, which is still marked as stained.
        if shutil.disk_usage(self.path.parent).free < self.path.stat().st_size:
            raise MaterializerError(f"no space to rewrite {self.path}, which holds erased rows: free disk space")
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
        # With the log of the old file beside it, DuckDB would refuse to open the new one.
        self._db.execute("PRAGMA disable_checkpoint_on_shutdown")
        self._db.close()
        try:
            remove_database(self.path, logs_only=True)
            self._fresh.replace(self.path)
        finally:
            self._db = open_for_writing(self.path)

    def _put(self, table: Table, pending: Mapping[RowKey, PendingChange]) -> dict[str, int]:
        """Write rows that may replace existing ones; return counts by table."""
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
        # Fetch also without rows: an unread result blocks the connection.
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
            with suppress(duckdb.Error):  # the transaction may have ended; the first error matters
                self._db.execute("ROLLBACK")
            raise

    def _prepare(self, prefix: str) -> None:
        """Create the tables, or check the file's layout and prefix."""
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
            raise MaterializerError(
                f"{self.path} holds tables of another program; set SAGER_DATA_DIR to another folder"
            )
        else:
            schema.create_tables(self._db)
            self._db.execute("INSERT INTO meta (schema_version, prefix) VALUES (?, ?)", [schema.LAYOUT_VERSION, prefix])
        if self._all("SELECT queries FROM meta") != [(schema.fingerprint(),)]:
            # Changed queries need no new layout.
            schema.create_queries(self._db)
            self.derive_all()
            self._db.execute("UPDATE meta SET queries = ?", [schema.fingerprint()])


def _users(batch: ChangeSet, *, with_dropped: bool) -> set[str]:
    """Return the users whose derived rows the batch makes stale."""
    # A tombstone that drops no row may name an erased person. Its user must not enter stale_users: DuckDB's statistics
    # keep eight bytes of extreme values until a rewrite, which only a dropped row causes.
    pending = [batch.pending(table) for table in tables() if table.name in schema.SOURCES]
    return {key[0] for changes in pending for key, change in changes.items() if change.put is not None or with_dropped}


def _same_key(table: Table) -> str:
    return " AND ".join(f"t.{name} = b.{name}" for name in table.key)


def live_file(settings: Settings) -> Path:
    """Return the path of the live DuckDB file."""
    return settings.data_dir / "live.duckdb"


def open_store(settings: Settings) -> DuckDBStore:
    """Open the live file, replacing a damaged one."""
    try:
        return DuckDBStore(live_file(settings), settings.prefix)
    except Damaged as error:
        replace_damaged(settings, error)
    return DuckDBStore(live_file(settings), settings.prefix)


def replace_damaged(settings: Settings, damage: Damaged) -> None:
    """Replace the damaged live file, filling it from the snapshot if readable."""
    # No copy is kept, as erasures could not reach its rows.
    path = live_file(settings)
    remove_database(path)
    try:
        read.connect(settings).close()  # refuses a snapshot of another deployment, or with a log beside it
        with open_for_writing(path) as con:
            con.execute(f"ATTACH {sql_literal(str(settings.duckdb_file))} AS source (READ_ONLY)")
            copy_rows(con, "source", "live")
        source = str(settings.duckdb_file)
    except (MaterializerError, duckdb.Error) as error:
        remove_database(path)
        source = f"Kafka alone (no snapshot: {error})" if settings.duckdb_file.exists() else "Kafka alone"
    log.error("%s; the file was removed, and is filled again from %s", damage, source)


def remove_live(settings: Settings) -> None:
    """Remove the live file; raise MaterializerError if another process holds it."""
    path = live_file(settings)
    try:
        open_for_writing(path).close()
    except duckdb.Error as error:
        if "lock" in str(error).lower():
            raise cannot_open(path, error) from error
    remove_database(path)
