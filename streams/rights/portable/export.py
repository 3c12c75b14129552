"""Exports everything held about a person in Kafka and DuckDB to a folder, atomically."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import orjson
from confluent_kafka import Message
from pydantic_core import to_json

from schemas import TOPICS, BadRecord, Model, Topic, decode, encode, moment_of, subject_of
from streams import private
from streams.kafka.clients import partition_of
from streams.kafka.packed import unpack
from streams.kafka.scanner import Scanner, sent_at_ms
from streams.materializer import read
from streams.materializer.forgetting import barrier_of
from streams.materializer.schema import quoted
from streams.rights.portable.archive import (
    MANIFEST,
    PAGE,
    TABLES_FOLDER,
    TOPICS_FOLDER,
    File,
    Manifest,
    NotPortable,
    TopicFile,
    digest_of,
    topic_file,
)
from streams.rights.portable.ownership import ABOUT_USERS, NOTES, OF_USERS, Owner, owner_of
from streams.rights.portable.page import page_of
from streams.settings import Settings

Progress = Callable[[str, int, int], None]
"""Receives the stage's name, the amount done, and about the total."""
_LETTERS, _ROWS = 200, 1_000
"""Read at once."""


def _quiet(stage: str, done: int, total: int) -> None:
    pass


def export(settings: Settings, user: str, target: Path, progress: Progress = _quiet) -> Manifest:
    """Write the folder, readable only by the process's user; return its manifest.

    `target`: the folder to create, with its parents; it may exist if it is empty.

    Raises:
        MaterializerError: the snapshot cannot be read, or belongs to another deployment.
    """
    target = target.absolute()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise NotPortable(f"{target} exists and is not an empty folder; choose another --to")
    private.make(target.parent)
    # No other process has this name, so the folder is always safe to remove.
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent))
    try:
        manifest = _fill(settings, user, temporary, progress)
        _private(temporary / PAGE).write_text(page_of(temporary, manifest), encoding="utf-8")
        pretty = orjson.dumps(orjson.loads(encode(manifest)), option=orjson.OPT_INDENT_2)
        _private(temporary / MANIFEST).write_bytes(pretty + b"\n")
        temporary.rename(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return manifest


def _fill(settings: Settings, user: str, folder: Path, progress: Progress) -> Manifest:
    for name in (TOPICS_FOLDER, TABLES_FOLDER):
        (folder / name).mkdir(mode=0o700)
    exported_at, topics = datetime.now(UTC), {}
    with Scanner(settings) as scanner:
        owner = owner_of(settings, user, barrier_of(settings, scanner))
        for topic in TOPICS.values():
            if topic.key in ABOUT_USERS and (file := _export_topic(scanner, topic, owner, folder, progress)):
                topics[topic.base] = file
    tables, snapshot_at = {}, None
    if settings.duckdb_file.exists():
        with read.connect(settings) as con:
            tables = export_rows(con, owner, folder / TABLES_FOLDER, progress)
            [(published_at,)] = con.execute("SELECT max(published_at) FROM snapshot_info").fetchall()
            snapshot_at = published_at and published_at.replace(tzinfo=UTC)
    return Manifest(
        user_id=owner.user_id,
        prefix=settings.prefix,
        exported_at=exported_at,
        topics=topics,
        tables=tables,
        snapshot_at=snapshot_at,
    )


def _export_topic(scanner: Scanner, topic: Topic, owner: Owner, folder: Path, progress: Progress) -> TopicFile | None:
    """Write the file of one topic; None without records of theirs."""
    file = _private(topic_file(folder, topic.base))
    records, first, last = 0, 0, 0
    with file.open("wb") as out:
        for message, line in lines_of(scanner, topic, owner, progress):
            out.write(line + b"\n")
            sent = sent_at_ms(message)
            records, first, last = records + 1, min(first or sent, sent), max(last, sent)
    if not records:
        file.unlink()
        return None
    return TopicFile(
        records=records,
        sha256=digest_of(file),
        first=_moment(first),
        last=_moment(last),
        kept_days=topic.retention.total_seconds() / 86_400 if topic.retention else None,
        note=NOTES.get(topic.base, ""),
    )


def lines_of(
    scanner: Scanner, topic: Topic, owner: Owner, progress: Progress = _quiet
) -> Iterator[tuple[Message, bytes]]:
    """Yield their records as lines in the topic's order; of a compacted topic, only the newest per key.

    Erased records are left out, although a topic holds them until its retention has passed.
    """
    where = scanner.partitions(topic.base)
    if topic.key in OF_USERS:
        where = [where[partition_of(owner.user_id, len(where))]]
    newest: dict[bytes, tuple[Message, bytes]] = {}
    for message in scanner.read(where, lambda done, total: progress(topic.base, done, total)):
        key, value = message.key() or b"", message.value()
        if value is not None and topic.packed:
            value = unpack(value)
        newest.pop(key, None)
        if value is None or not owner.owns(topic, key, value):
            continue  # a tombstone, or an item whose takers no longer include them
        line = _line(topic, owner, message, value)
        if line is not None and topic.compact:
            newest[key] = (message, line)
        elif line is not None:
            yield message, line
    yield from newest.values()


def _line(topic: Topic, owner: Owner, message: Message, value: bytes) -> bytes | None:
    """Return a record's line; None if no part of it is theirs."""
    sent_at = _moment(sent_at_ms(message))
    place = {
        "partition": message.partition(),
        "offset": message.offset(),
        "sent_at": sent_at.isoformat() if sent_at else None,
        "key": (message.key() or b"").decode(errors="replace"),
    }
    # A table's value is the newest state, without anything erased, whenever it was sent.
    logged_at = None if topic.compact else sent_at
    event: Model | None = None
    try:
        event = decode(topic.model, value)
        if owner.has_forgotten(event, logged_at):
            return None
    except BadRecord as error:
        if event is None and owner.has_forgotten(None, logged_at):
            return None
        return to_json({**place, "unreadable": error.reason, "bytes": value}, bytes_mode="base64")
    own = owner.part_of(event, value)
    return None if own is None else to_json({**place, "value": own}, inf_nan_mode="null")


def export_rows(con: duckdb.DuckDBPyConnection, owner: Owner, folder: Path, progress: Progress) -> dict[str, File]:
    """Write a file for each table with rows of theirs."""
    done: dict[str, File] = {}
    conditions = list(_conditions(con, owner))
    for number, (table, condition) in enumerate(conditions, 1):
        file, rows = _private(folder / f"{table}.jsonl"), 0
        found = con.execute(f'SELECT to_json(t) FROM "{table}" t WHERE {condition}')  # noqa: S608 - our own names; the id is quoted  # nosec B608
        with file.open("w", encoding="utf-8") as out:
            while part := found.fetchmany(_ROWS):
                out.writelines(f"{line}\n" for (line,) in part)
                rows += len(part)
        if rows:
            done[table] = File(records=rows, sha256=digest_of(file))
        else:
            file.unlink()
        progress("tables", number, len(conditions))
    return done


def _conditions(con: duckdb.DuckDBPyConnection, owner: Owner) -> Iterator[tuple[str, str]]:
    """Yield every table that can hold rows of theirs, with the condition for these rows."""
    for column, name in (("user_id", owner.user_id), ("subject", subject_of(owner.user_id))):
        query = (
            "SELECT table_name FROM duckdb_columns() JOIN duckdb_tables() USING (database_name, table_oid, table_name) "
            "WHERE database_name = 'snapshot' AND column_name = $1 ORDER BY table_name"
        )
        for (table,) in con.execute(query, [column]).fetchall():
            if not table.isidentifier():  # it names a file
                raise NotPortable(f"the snapshot has a table {table!r}, which no materializer makes")
            yield table, f'"{column}" = {quoted(name)}'
    letters = []
    result = con.execute("SELECT event_id, kafka_offset, key, value FROM dead_letters")
    while rows := result.fetchmany(_LETTERS):
        letters += [f"({quoted(row[0])}, {row[1]})" for row in rows if owner.was_refused(*row[2:])]
    if letters:
        yield "dead_letters", f"(event_id, kafka_offset) IN ({', '.join(letters)})"


def _moment(sent_ms: int) -> datetime | None:
    return moment_of(sent_ms) if sent_ms else None


def _private(file: Path) -> Path:
    """Create a file that only its owner may read."""
    file.touch(mode=0o600, exist_ok=False)
    return file
