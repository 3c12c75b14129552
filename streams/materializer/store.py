"""The only writer of the live DuckDB file: rows and Kafka offsets are written in one transaction.

A kill at any moment loses and duplicates nothing, because the consumer starts from the offsets in this file and not
from the group's. Only one thread may use a `Store`. Nothing in this process may open the file a second time, even to
copy it: closing any descriptor of it drops DuckDB's lock.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Self

import duckdb
import pyarrow as pa

from schemas import Receipt
from streams import private
from streams.materializer import analytics, ddl, derived, forgetting
from streams.materializer.batch import Batch, Pending
from streams.materializer.columns import Keep, Table
from streams.materializer.exceptions import Damaged, MaterializerError
from streams.materializer.opening import attach, open_for_writing
from streams.materializer.records import Put, Row, RowKey
from streams.materializer.rewriting import Changes, Rewriting, clear
from streams.materializer.tables import TABLES


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
        self.changes: Changes | None = None
        """What was written since a new file began to be made, if one is being made."""
        self.is_broken = False
        """True if a commit failed. DuckDB's memory may disagree with the file: write nothing more, open it again."""
        private.make(path.parent)
        try:
            self._db = open_for_writing(path)
        except duckdb.Error as error:
            raise cannot_open(path, error) from error
        try:
            clear(path)
            self._clear_spilled()
            self._prepare(prefix)
        except duckdb.Error as error:
            self._db.close()
            raise cannot_write(path, error) from error
        except BaseException:
            self._db.close()
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
        """Closes the file; what was committed is in it."""
        self._db.close()

    def offsets(self) -> dict[tuple[str, int], Progress]:
        """How far each partition has been read into the file."""
        rows = self._all("SELECT topic, kafka_partition, next_offset, topic_id FROM sink_offsets")
        return {(topic, partition): Progress(offset, topic_id) for topic, partition, offset, topic_id in rows}

    def forget_offsets(self, topics: Mapping[str, str]) -> None:
        """Restart recreated topics at their first offset, under their new ids."""
        for name, topic_id in topics.items():
            self._db.execute("UPDATE sink_offsets SET next_offset = 0, topic_id = ? WHERE topic = ?", [topic_id, name])

    def move_offsets(self, offsets: Offsets) -> None:
        """Has partitions go on at these offsets: the topics were made anew with the same records at known places."""
        self._note_offsets(offsets)

    def use_cluster(self, cluster_id: str) -> None:
        """Records which Kafka cluster the rows come from."""
        self._db.execute("UPDATE meta SET cluster_id = ?", [cluster_id])

    def use_prices(self, prompt: float, completion: float) -> None:
        """Records token prices, in US dollars per million, for cost queries."""
        self._db.execute("UPDATE meta SET llm_price_prompt = ?, llm_price_completion = ?", [prompt, completion])

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
            dropped = self._drop(batch)
            for table in TABLES:
                if pending := batch.pending(table):
                    written |= self._apply(table, pending)
            forgotten = forgetting.purge(self._db, receipts) if receipts else set[str]()
            is_stained = bool(forgotten) or dropped > 0
            if is_stained:
                self._db.execute("UPDATE meta SET is_stained = true")
            stale = _users(batch, with_dropped=dropped > 0) | forgotten
            self._insert(derived.STALE_USERS, [{"user_id": user} for user in sorted(stale)])
            self._note_offsets(offsets)
            self._commit()
        except BaseException:
            self._roll_back()
            raise
        if self.changes is not None:
            self.changes.note(batch, receipts, is_stained=is_stained)
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
            self._commit()
        except BaseException:
            self._roll_back()
            raise
        self._all("FORCE CHECKPOINT")

    def is_stained(self) -> bool:
        """Whether free blocks of the file may still hold what was deleted."""
        return bool(self._all("SELECT 1 FROM meta WHERE is_stained"))

    def rewrite(self) -> Rewriting:
        """Begins a new file without what was deleted, which `adopt` takes; rows go on meanwhile.

        The file must be checkpointed, and not be so again before the rewriting has copied it.
        """
        self.changes = Changes()
        return Rewriting(self.path)

    def adopt(self, fresh: Path) -> None:
        """Replaces the file by a new one with all rows as of the last `rewrite`, once it has the later ones, too.

        Raises:
            duckdb.Error: the new file could not be written; MaterializerError: the old one could not be closed whole;
                OSError: the new one could not take its place. The file is as before.
        """
        # Not `or`: changes without keys are falsy, and may hold receipts.
        changes, self.changes = Changes() if self.changes is None else self.changes, None
        self._all(attach(fresh, "fresh"))
        try:
            self._db.execute("BEGIN")
            self._bring_over(changes)
            self._db.execute("COMMIT")
            self._all("CHECKPOINT fresh")
        except BaseException:
            self._roll_back()
            self._all("USE live")
            self._all("DETACH fresh")
            clear(self.path)
            raise
        self._db.close()
        try:
            # It would lie beside the new file after a kill, and DuckDB opens no file with the log of another.
            if (log := self.path.with_name(self.path.name + ".wal")).exists():
                raise MaterializerError(f"{log} could not be written into its file; is the disk full?")
            fresh.replace(self.path)
        finally:
            clear(self.path)
            self._db = open_for_writing(self.path)

    def _bring_over(self, changes: Changes) -> None:
        """Gives the new file, attached as `fresh`, the rows that have changed since."""
        users = self._purged_in_fresh(changes.receipts)
        for table in TABLES:
            if keys := changes.keys[table.name]:
                self._register(table, [dict(zip(table.key, key, strict=True)) for key in keys], table.key)
                same = _same_key(table)
                if table.name in derived.SOURCES:
                    users |= self._users_of_batch(table)
                for each in (table, *table.children):
                    self._move(each, f"SEMI JOIN batch b ON {same}", f"USING batch b WHERE {same}")
        for each in (*ddl.OWN_TABLES, derived.STALE_USERS):
            self._move(each)
        self._all("USE fresh")
        try:
            self._insert(derived.STALE_USERS, [{"user_id": user} for user in sorted(users)])
            self._db.execute("UPDATE meta SET is_stained = ?", [changes.is_stained])
        finally:
            self._all("USE live")

    def _users_of_batch(self, table: Table) -> set[str]:
        """The users with rows of these keys, old or new; the user of a tombstone may be erased already."""
        query = " UNION ".join(
            f"SELECT user_id FROM {file}.{table.name} t SEMI JOIN batch b ON {_same_key(table)}"  # noqa: S608 - our own names; values are bound  # nosec B608
            for file in ("live", "fresh")
        )
        return {user for (user,) in self._all(query)}

    def _purged_in_fresh(self, receipts: Sequence[Receipt]) -> set[str]:
        """Apply receipts to the new file before it gets newer rows; return the users who had rows there."""
        if not receipts:
            return set()
        self._all("USE fresh")
        try:
            return forgetting.purge(self._db, receipts)
        finally:
            self._all("USE live")

    def _move(self, table: Table, which: str = "", old: str = "") -> None:
        """Replaces rows of the new file by those of the live one."""
        names = ", ".join(f't."{name}"' for name in table.names)
        self._all(f"DELETE FROM fresh.{table.name} t {old}")  # noqa: S608 - our own names; values are bound  # nosec B608
        self._all(f"INSERT INTO fresh.{table.name} SELECT {names} FROM live.{table.name} t {which}")  # noqa: S608 - our own names; values are bound  # nosec B608

    def _drop(self, batch: Batch) -> int:
        """Deletes dropped rows; returns how many there were."""
        return sum(
            self._delete_with_children(table, [key for key, wanted in batch.pending(table).items() if wanted.dropped])
            for table in TABLES
        )

    def _apply(self, table: Table, pending: Mapping[RowKey, Pending]) -> dict[str, int]:
        """Skips rows that must not replace an existing one, writes the rest."""
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

    def _note_offsets(self, offsets: Offsets) -> None:
        """Write how far partitions were read; `furthest` never decreases, even if a log becomes shorter."""
        if not offsets:
            return
        rows = [_offset(*partition, progress) for partition, progress in offsets.items()]
        self._register(ddl.SINK_OFFSETS, rows, ddl.SINK_OFFSETS.names)
        self._all(
            "INSERT INTO sink_offsets BY NAME SELECT * FROM batch ON CONFLICT DO UPDATE SET "
            "next_offset = excluded.next_offset, topic_id = excluded.topic_id, "
            "furthest = greatest(furthest, excluded.furthest)"
        )

    def _register(self, table: Table, rows: Sequence[Row], columns: Sequence[str]) -> None:
        """Makes these columns of the rows readable as `batch`."""
        arrays = [pa.array([row[name] for row in rows], type=table.schema.field(name).type) for name in columns]
        self._db.register("batch", pa.table(arrays, names=list(columns)))

    def _all(self, query: str) -> list[Any]:
        # Fetches even where there are no rows: an unread result blocks the connection.
        return self._db.execute(query).fetchall()

    def _clear_spilled(self) -> None:
        """Removes the rows that a process which was killed has spilled: nobody in them could be forgotten."""
        own = {name for (name,) in self._all("SELECT path FROM duckdb_temporary_files()")}
        for left in (self.path.parent / "spill").glob("duckdb_temp_*.tmp"):
            if str(left) not in own:
                left.unlink(missing_ok=True)

    def _commit(self) -> None:
        try:
            self._db.execute("COMMIT")
        except duckdb.Error:
            self.is_broken = True
            raise

    def _roll_back(self) -> None:
        try:
            self._db.execute("ROLLBACK")
        except duckdb.Error:  # the transaction may have ended already; the error before this one matters
            return

    def _prepare(self, prefix: str) -> None:
        """Create the tables in one transaction: a kill leaves nothing half done."""
        self._db.execute("BEGIN")
        if self._all("SELECT 1 FROM duckdb_tables() WHERE table_name = 'meta'"):
            self._check(prefix)
        elif self._all("SELECT 1 FROM duckdb_tables()"):
            raise MaterializerError(f"{self.path} holds tables that are not ours; set SAGER_DATA_DIR to another folder")
        else:
            self._run(ddl.statements())
            self._db.execute("INSERT INTO meta (schema_version, prefix) VALUES (?, ?)", [ddl.LAYOUT_VERSION, prefix])
        self._make_queries()
        self._db.execute("COMMIT")

    def _check(self, prefix: str) -> None:
        """Check that this program and this deployment may write to the file."""
        [(layout, found)] = self._all("SELECT schema_version, prefix FROM meta")
        if layout != ddl.LAYOUT_VERSION:
            raise MaterializerError(
                f"{self.path} has layout {layout}, this program writes {ddl.LAYOUT_VERSION}: `sager rebuild --duckdb` "
                "makes a new file from the topics, or use another SAGER_DATA_DIR"
            )
        if found != prefix:
            raise MaterializerError(
                f"{self.path} belongs to the topic prefix {found!r}, not {prefix!r}. "
                "Give each deployment its own SAGER_DATA_DIR"
            )

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


def _users(batch: Batch, *, with_dropped: bool) -> set[str]:
    """The users whose derived rows the batch makes stale.

    A tombstone that drops no row makes no user stale. It may name an erased person, and DuckDB keeps eight bytes of a
    column's least and greatest values after their rows are deleted, until the file is rewritten.

    Args:
        batch: the changes.
        with_dropped: whether any row was dropped; the file is then rewritten soon.
    """
    pending = [batch.pending(table) for table in TABLES if table.name in derived.SOURCES]
    return {key[0] for changes in pending for key, wanted in changes.items() if wanted.put is not None or with_dropped}


def _offset(topic: str, partition: int, progress: Progress) -> Row:
    """A row of `sink_offsets`."""
    return {
        "topic": topic,
        "kafka_partition": partition,
        "next_offset": progress.next_offset,
        "topic_id": progress.topic_id,
        "furthest": progress.next_offset,
    }


def _same_key(table: Table) -> str:
    return " AND ".join(f"t.{name} = b.{name}" for name in table.key)


_DAMAGE = (
    "Corrupt ",
    "Could not read enough bytes",
    "Duplicate key",
    "Failure while replaying WAL",
    "is not a valid DuckDB database file",
)
"""DuckDB's messages for a damaged file. It has no error class for them."""
_NO_DAMAGE = ("No space left", "Out of Memory")
"""Its messages for a shortage that passes. Those above quote them where there is no room to replay a log."""


def cannot_write(path: Path, error: duckdb.Error) -> MaterializerError:
    """The error for a failed write, usually on a full disk."""
    return _damage(path, error) or MaterializerError(
        f"DuckDB cannot write {path}: {error}. Make room if the disk is full, and start again: what was committed "
        "is in the file, and the rest is read again from Kafka"
    )


def cannot_open(path: Path, error: duckdb.Error) -> MaterializerError:
    """The error for a file that cannot be opened, usually because another process holds it."""
    if "lock" in str(error).lower():
        return MaterializerError(
            f"another process holds {path}: stop the other `sager materialize`, or close the DuckDB client that has "
            f"this file open (analysts open the published snapshot instead). DuckDB says: {error}"
        )
    return _damage(path, error) or MaterializerError(
        f"cannot open {path}: check its owner and the version of DuckDB. DuckDB says: {error}"
    )


def _damage(path: Path, error: duckdb.Error) -> Damaged | None:
    """The error for a damaged file; None if the file is whole."""
    text = str(error)
    if any(shortage in text for shortage in _NO_DAMAGE) or not any(sign in text for sign in _DAMAGE):
        return None
    return Damaged(f"{path} is damaged (DuckDB: {text.splitlines()[0]})")
