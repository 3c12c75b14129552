"""Exports all data about a person as gzipped JSON lines.

`DataSubject` decides which records, or parts of records, are the person's: an export must not reveal another's data.
"""

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Annotated, Any, BinaryIO, Literal

import duckdb
import orjson
from confluent_kafka import Message
from pydantic import Field
from pydantic_core import from_json, to_json

from operators.graph.items import neighbour_of
from schemas import TOPICS, ItemMemory, ItemUpdate, Key, Model, Topic, UserIdField, UtcDatetime, moment_of
from schemas.codec import BadRecord, DeadLetter, decode, encode, subject_digest
from streams.analytics import read
from streams.analytics.erasure import ErasureFilter, erasure_filter_of
from streams.analytics.schema import sql_literal
from streams.kafka.clients import partition_of
from streams.kafka.scanner import OnStageProgress, Scanner, sent_at_ms
from streams.pseudonyms import SecretUnusable, find_secret
from streams.settings import Settings

# Topics with these keys have all records of a user on one partition.
KEYED_BY_USER = (Key.USER, Key.USER_AND_DOMAIN, Key.USER_AND_SLOT, Key.USER_AND_VERSION, Key.USER_DOMAIN_AND_VERSION)
# Topics with these keys may name a user; with the last four on any partition.
NAMING_USERS = (*KEYED_BY_USER, Key.ITEM_AND_DOMAIN, Key.TAKER, Key.SUBJECT, Key.ORIGINAL)


@dataclass(frozen=True)
class DataSubject:
    """One person whose data is exported, counted or erased."""

    user_id: str
    # Erased records stay on topics until their retention has passed, so they are filtered out here.
    barrier: ErasureFilter | None = None
    neighbour: str = ""

    @cached_property
    def json_ids(self) -> tuple[bytes, ...]:
        """The id in JSON, with and without characters beyond ASCII."""
        return orjson.dumps(self.user_id), json.dumps(self.user_id).encode()

    def owns(self, topic: Topic, key: bytes | None, value: bytes | None) -> bool:
        """Return True for this person's record, by content or else by key."""
        if topic.key is Key.SUBJECT:
            return key == subject_digest(self.user_id).encode()
        if topic.key is Key.ORIGINAL:
            return self._is_letter(value)
        if topic.key in (Key.ITEM_AND_DOMAIN, Key.TAKER):
            return bool(value and self.neighbour and self.neighbour.encode() in value)
        is_keyed = self._is_key(topic, key)
        if value is None or not (is_keyed or any(each in value for each in self.json_ids)):
            return value is None and is_keyed  # parsing the records of all users would take minutes
        user = _user_in(value)
        return user == self.user_id if user is not None else is_keyed

    def is_named_in(self, key: bytes | None, value: bytes | None) -> bool:
        """Return True if a dead letter's record, any bytes, names this person."""
        user = _user_in(value or b"")
        if user is not None:
            return user == self.user_id
        named = (part for part in (key, value) if part is not None)
        return key == self.user_id.encode() or any(each in part for part in named for each in self.json_ids)

    def is_erased(self, event: Model | None, logged_at: datetime | None) -> bool:
        """Return True for an erased record; raise `BadRecord` for a future one."""
        if self.barrier is None:
            return False
        if event is not None and self.barrier.covers(event, logged_at):
            return True
        if logged_at is None or hasattr(event, "occurred_at"):
            return False
        return self.barrier.covers_moment(self.user_id, getattr(event, "domain", None), logged_at)

    def personal_part(self, event: Model, value: bytes) -> Any:
        """Return this person's part of a record as JSON, if any."""
        if isinstance(event, ItemUpdate) and event.taker != self.neighbour:
            return None
        if isinstance(event, ItemMemory):
            own = tuple(taker for taker in event.takers if taker.neighbour == self.neighbour)
            return event.model_copy(update={"takers": own}).model_dump(mode="json") if own else None
        return from_json(value)  # not the model: a newer release may have sent fields that this one does not know

    def _is_letter(self, value: bytes | None) -> bool:
        try:
            letter = decode(DeadLetter, value)
        except BadRecord:
            return False
        return self.is_named_in(letter.key, letter.value)

    def _is_key(self, topic: Topic, key: bytes | None) -> bool:
        if topic.key is Key.USER:
            return key == self.user_id.encode()
        try:
            parts = orjson.loads(key or b"")
        except ValueError:
            return False
        return isinstance(parts, list) and bool(parts) and parts[0] == self.user_id


def data_subject(settings: Settings, user_id: str, barrier: ErasureFilter | None = None) -> DataSubject:
    """Return a person with their pseudonym, if the deployment's secret is readable."""
    try:
        secret = find_secret(settings)
    except (OSError, SecretUnusable):
        secret = None
    return DataSubject(user_id, barrier, neighbour_of(user_id, secret) if secret else "")


def _user_in(value: bytes) -> str | None:
    try:
        user = from_json(value).get("user_id")
    except (ValueError, AttributeError):
        return None
    return user if isinstance(user, str) else None


_ROWS = 200


class Header(Model):
    """The first line of an export."""

    format: Literal["sager-portable-2"] = "sager-portable-2"
    user_id: UserIdField
    prefix: Annotated[str, Field(max_length=100)]
    exported_at: UtcDatetime


@dataclass
class ExportCounts:
    """The records by topic and table, and the snapshot's publication time."""

    topics: Counter[str] = field(default_factory=Counter)
    tables: Counter[str] = field(default_factory=Counter)
    snapshot_at: datetime | None = None


def export(settings: Settings, user: str, out: BinaryIO, progress: OnStageProgress = lambda *_: None) -> ExportCounts:
    """Write a header, a line per record and row, and the counts.

    Raises `MaterializerError` if the snapshot is unreadable or of another deployment.
    """
    done, now = ExportCounts(), datetime.now(UTC)
    with gzip.GzipFile(fileobj=out, mode="wb") as file, Scanner(settings) as scanner:
        file.write(encode(Header(user_id=user, prefix=settings.prefix, exported_at=now)) + b"\n")
        subject = data_subject(settings, user, erasure_filter_of(settings, scanner))
        for topic in TOPICS.values():
            if topic.key not in NAMING_USERS:
                continue
            for _, line in export_topic(scanner, topic, subject, progress):
                file.write(b'{"topic":"%s",%s\n' % (topic.base.encode(), line[1:]))
                done.topics[topic.base] += 1
        if settings.duckdb_file.exists():
            with read.connect(settings) as con:
                for table, line in export_tables(con, subject, progress):
                    file.write(line + b"\n")
                    done.tables[table] += 1
                [(published_at,)] = con.execute("SELECT max(published_at) FROM snapshot_info").fetchall()
                done.snapshot_at = published_at and published_at.replace(tzinfo=UTC)
        file.write(to_json({"end": vars(done)}) + b"\n")
    return done


def export_topic(
    scanner: Scanner, topic: Topic, subject: DataSubject, progress: OnStageProgress = lambda *_: None
) -> Iterator[tuple[Message, bytes]]:
    """Yield a person's records as JSON, without superseded and erased ones."""
    where = scanner.partitions(topic.base)
    if topic.key in KEYED_BY_USER:
        where = [where[partition_of(subject.user_id, len(where))]]
    newest: dict[bytes, tuple[Message, bytes]] = {}
    for message in scanner.read(where, lambda done, total: progress(topic.base, done, total)):
        key, value = message.key() or b"", message.value()
        newest.pop(key, None)
        if value is None or not subject.owns(topic, key, value):
            continue  # a tombstone, or an item that has lost this person as a taker
        line = _line(topic, subject, message, value)
        if line is not None and topic.compact:
            newest[key] = (message, line)
        elif line is not None:
            yield message, line
    yield from newest.values()


def _line(topic: Topic, subject: DataSubject, message: Message, value: bytes) -> bytes | None:
    sent_ms = sent_at_ms(message)
    sent_at = moment_of(sent_ms) if sent_ms else None
    place = {
        "partition": message.partition(),
        "offset": message.offset(),
        "sent_at": sent_at and sent_at.isoformat(),
        "key": (message.key() or b"").decode(errors="replace"),
    }
    # A table's newest value has no erased data, so the time of sending does not matter.
    logged_at = None if topic.compact else sent_at
    event: Model | None = None
    try:
        event = decode(topic.model, value)
        if subject.is_erased(event, logged_at):
            return None
    except BadRecord as error:
        if event is None and subject.is_erased(None, logged_at):
            return None
        return to_json({**place, "unreadable": error.reason, "bytes": value}, bytes_mode="base64")
    own = subject.personal_part(event, value)
    return None if own is None else to_json({**place, "value": own}, inf_nan_mode="null")


def export_tables(
    con: duckdb.DuckDBPyConnection, subject: DataSubject, progress: OnStageProgress = lambda *_: None
) -> Iterator[tuple[str, bytes]]:
    """Yield a person's rows of all tables, each with the table's name."""
    conditions = list(_conditions(con, subject))
    for number, (table, condition) in enumerate(conditions):
        progress("tables", number, len(conditions))
        result = con.execute(f'SELECT * FROM "{table}" WHERE {condition}')  # noqa: S608 - our own names; the id is quoted  # nosec B608
        names = [name for name, *_ in result.description or ()]
        while rows := result.fetchmany(_ROWS):
            for row in rows:
                line = {"table": table, "row": dict(zip(names, row, strict=True))}
                yield table, to_json(line, bytes_mode="base64", inf_nan_mode="null")


def personal_tables(con: duckdb.DuckDBPyConnection) -> list[tuple[str, list[str]]]:
    """Return the snapshot's tables about people, quoted for SQL, with their columns."""
    query = (
        "SELECT table_name, list(column_name) FROM duckdb_columns() "
        "JOIN duckdb_tables() USING (database_name, table_oid, table_name) "
        "WHERE database_name = 'snapshot' AND column_name IN ('user_id', 'subject', 'domain') GROUP BY ALL ORDER BY ALL"
    )
    # A forged snapshot may have any name.
    return [(table.replace('"', '""'), columns) for table, columns in con.execute(query).fetchall()]


def _conditions(con: duckdb.DuckDBPyConnection, subject: DataSubject) -> Iterator[tuple[str, str]]:
    """Yield tables with a condition for a person's rows."""
    names = {"user_id": subject.user_id, "subject": subject_digest(subject.user_id)}
    for table, columns in personal_tables(con):
        for column in names.keys() & columns:
            yield table, f"{column} = {sql_literal(names[column])}"
    letters = []
    result = con.execute("SELECT event_id, kafka_offset, key, value FROM dead_letters")
    while rows := result.fetchmany(_ROWS):
        letters += [f"({sql_literal(row[0])}, {row[1]})" for row in rows if subject.is_named_in(*row[2:])]
    if letters:
        yield "dead_letters", f"(event_id, kafka_offset) IN ({', '.join(letters)})"
