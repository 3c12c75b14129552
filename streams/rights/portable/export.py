"""Exports everything held about a person in Kafka and DuckDB to a folder, atomically."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
from confluent_kafka import Message
from pydantic_core import to_json

from schemas import TOPICS, BadRecord, Model, Topic, decode, encode, moment_of
from streams import private
from streams.kafka.clients import partition_of
from streams.kafka.packed import unpack
from streams.kafka.scanner import Scanner, sent_at_ms
from streams.materializer import read
from streams.materializer.receipts import barrier_of
from streams.rights.portable.exceptions import NotPortable
from streams.rights.portable.manifest import (
    MANIFEST,
    TABLES_FOLDER,
    TOPICS_FOLDER,
    Manifest,
    TopicFile,
    digest_of,
    topic_file,
)
from streams.rights.portable.ownership import ELSEWHERE, NOTES, OF_USERS, Owner, owner_of
from streams.rights.portable.page import PAGE, page_of
from streams.rights.portable.rows import export_rows
from streams.settings import Settings

Tell = Callable[[str, int, int], None]
"""Receives progress: the stage's name, how much is done, and about how much there is."""


def export(
    settings: Settings, user: str, target: Path, tell: Tell = lambda *_: None, *, parquet: bool = False
) -> Manifest:
    """Writes the folder, readable only by the process's user; returns its manifest.

    Args:
        settings: the deployment.
        user: the person's id.
        target: the folder to create, with its parents; it may exist if it is empty.
        tell: receives progress.
        parquet: DuckDB's rows as Parquet instead of JSON lines.

    Raises:
        NotPortable: the target is in use.
        NoSuchTopic, BrokerUnreachable: Kafka cannot be read.
        MaterializerError: the snapshot cannot be read, or belongs to another deployment.
        OSError: the folder cannot be written.
    """
    target = target.absolute()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise NotPortable(f"{target} exists and is not an empty folder; choose another --to")
    private.make(target.parent)
    # Its name is new and nobody else's: it is removed, whatever happens.
    temporary = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent))
    try:
        for folder in (temporary / TOPICS_FOLDER, temporary / TABLES_FOLDER):
            folder.mkdir(mode=0o700)
        manifest = _fill(settings, Owner(user), temporary, tell, parquet=parquet)
        _private(temporary / PAGE).write_text(page_of(temporary, manifest), encoding="utf-8")
        _private(temporary / MANIFEST).write_bytes(_pretty(manifest))
        temporary.rename(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return manifest


def _fill(settings: Settings, owner: Owner, folder: Path, tell: Tell, *, parquet: bool) -> Manifest:
    told: dict[str, Any] = {"user_id": owner.user_id, "prefix": settings.prefix, "exported_at": datetime.now(UTC)}
    topics: dict[str, TopicFile] = {}
    with Scanner(settings) as scanner:
        owner = owner_of(settings, owner.user_id, barrier_of(settings, scanner))
        for topic in TOPICS.values():
            if topic.key in (*OF_USERS, *ELSEWHERE):
                exported = _export_topic(scanner, topic, owner, folder, tell)
                if exported is not None:
                    topics[topic.base] = exported
    con = read.connect_own(settings, files=True)
    if con is not None:
        try:
            read.confine(con, folder)
            told["tables"] = export_rows(con, owner, folder / TABLES_FOLDER, tell, parquet=parquet)
            [(published_at,)] = con.execute("SELECT max(published_at) FROM snapshot_info").fetchall()
            told["snapshot_at"] = published_at and published_at.replace(tzinfo=UTC)
        finally:
            con.close()
            shutil.rmtree(folder / ".spill", ignore_errors=True)
    return Manifest.model_validate({**told, "topics": topics})


def _export_topic(scanner: Scanner, topic: Topic, owner: Owner, folder: Path, tell: Tell) -> TopicFile | None:
    """The file of one topic; None if the topic holds nothing of theirs or does not exist."""
    file = _private(topic_file(folder, topic.base))
    records, first, last = 0, 0, 0
    with file.open("wb") as out:
        for message, line in lines_of(scanner, topic, owner, tell):
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


def lines_of(scanner: Scanner, topic: Topic, owner: Owner, tell: Tell) -> Iterator[tuple[Message, bytes]]:
    """Their records as lines in the topic's order; of a compacted topic, only the newest per key.

    Without what the owner has forgotten: a topic may hold it until its retention has passed.
    """
    newest: dict[bytes, tuple[Message, bytes]] = {}
    for message in _messages(scanner, topic, owner, tell):
        key, value = message.key() or b"", message.value()
        if value is not None and topic.packed:
            value = unpack(value)
        if value is None or not owner.owns(topic, key, value):
            newest.pop(key, None)  # a tombstone, or an item whose takers no longer include them
            continue
        line = _line(topic, owner, message, value)
        if not topic.compact:
            yield from [(message, line)] if line is not None else []
            continue
        newest.pop(key, None)
        if line is not None:
            newest[key] = (message, line)
    yield from newest.values()


def _messages(scanner: Scanner, topic: Topic, owner: Owner, tell: Tell) -> Iterator[Message]:
    where = scanner.partitions(topic.base)
    if topic.key in OF_USERS:
        where = [where[partition_of(owner.user_id, len(where))]]
    yield from scanner.read(where, lambda done, total: tell(topic.base, done, total))


def _line(topic: Topic, owner: Owner, message: Message, value: bytes) -> bytes | None:
    """A record's line; None where nothing in it is theirs."""
    place = {
        "partition": message.partition(),
        "offset": message.offset(),
        "sent_at": moment.isoformat() if (moment := _moment(sent_at_ms(message))) else None,
        "key": (message.key() or b"").decode(errors="replace"),
    }
    event: Model | None = None
    # A table's value is the newest state, and what was forgotten is out of it.
    logged_at = None if topic.compact else _moment(sent_at_ms(message))
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


def _moment(sent_ms: int) -> datetime | None:
    return moment_of(sent_ms) if sent_ms else None


def _private(file: Path) -> Path:
    """Opens a new file that only its owner may read."""
    file.touch(mode=0o600, exist_ok=False)
    return file


def _pretty(manifest: Manifest) -> bytes:
    return orjson.dumps(orjson.loads(encode(manifest)), option=orjson.OPT_INDENT_2) + b"\n"
