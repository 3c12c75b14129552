"""Follows the topics of slim skills, skills and cards in memory."""

import secrets
import threading
import time
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any, TypeVar

import orjson
from confluent_kafka import Message
from pydantic import TypeAdapter, ValidationError

from operators.steps.rank import RankStep
from schemas import TOPICS, BadRecord, Card, Event, GlobalSkill, PolicySkill, SlimSkill, compound_key, decode
from streams.caching import compressed, decompressed
from streams.http import replies
from streams.http.problems import Problem
from streams.kafka.follower import Follower
from streams.kafka.scanner import int_of
from streams.settings import Settings
from streams.steps import rank_of

READER = "http"  # part of the group name that librdkafka requires but never joins
# Changes of slim skills kept for streams to resume. Less than a day: Kafka drops the tombstones of erased users then.
CHANGES, CHANGES_MS = 50_000, 20 * 3_600_000

# Fields of a slim skill that hosts do not need.
INTERNAL = {"event_id", "occurred_at", "schema_version", "seal", "session_text", "session_lines", "session_until"}
_POSITION: TypeAdapter[tuple[str, int, dict[int, int]]] = TypeAdapter(tuple[str, int, dict[int, int]])

EventT = TypeVar("EventT", bound=Event)


@dataclass(frozen=True)
class StreamPosition:
    """A stream's position; as JSON it is the id of an event."""

    numbering: str  # changes when offsets start again, as at each start of the embedded broker
    at_ms: int  # since 1970
    offsets: dict[int, int]  # the next offset by partition

    def __str__(self) -> str:
        """Return the id of an event."""
        return _POSITION.dump_json((self.numbering, self.at_ms, self.offsets)).decode()

    @classmethod
    def parse(cls, text: str) -> "StreamPosition | None":
        """Return the position of an event's id, if it is valid."""
        try:
            return cls(*_POSITION.validate_json(text))
        except ValidationError:
            return None


class TopicCache(Follower):
    """Follows topics in a thread; all threads may read."""

    def __init__(self, settings: Settings, waiting: replies.ReplyWaiter) -> None:
        self._replies = waiting
        self._numbering = secrets.token_hex(4) if settings.embedded else "kafka"
        self._step: RankStep | None = None
        self.is_closing = False  # True ends all streams
        self.slims: dict[bytes, bytes] = {}  # compressed records by key
        self._lock = threading.Lock()
        self.change_count = 0  # of slim skills, so far
        self._changes = deque[tuple[bytes, int, int, int]]()  # key, partition, offset, written at
        self._dropped: dict[int, int] = {}
        self._tables: dict[str, dict[bytes, bytes]] = {
            SlimSkill.TOPIC: self.slims, PolicySkill.TOPIC: {}, Card.TOPIC: {}, GlobalSkill.TOPIC: {}
        }  # fmt: skip
        self.positions: dict[int, int] = {}  # the next offset of each partition of the slim skills
        bases, more = (*self._tables, *replies.TOPICS), {"fetch.wait.max.ms": 100}
        super().__init__(settings, bases, self._on_record, group=READER, from_end=replies.TOPICS, **more)

    def check_ready(self) -> None:
        """Raise a 503 problem while the topics are still being read."""
        if not self.is_ready:
            raise Problem(503, "the slim skills are being read: try again", {"Retry-After": "1"})

    def slim(self, user: str, domain: str) -> SlimSkill | None:
        """Return the user's slim skill in this domain, if any."""
        return self.get(SlimSkill, compound_key(user, domain))

    def slim_for_request(
        self, user: str, domain: str, request: str | None, session: str | None
    ) -> dict[str, Any] | None:
        """Return the slim skill in a host's form, if any.

        Likes that match the `request` come first. During the `session`, `text` includes its lines.
        """
        self.check_ready()
        found = None if request else self.slim(user, domain)
        if request and (skill := self.skill(user, domain)) is not None:
            self._step = self._step or rank_of(self._settings)
            shared = self.get(GlobalSkill, domain.encode())
            found = self._step.extract(skill, request, shared.shares if shared else None)
        return None if found is None else slim_for_host(found, session)

    def get(self, kind: type[EventT], key: bytes) -> EventT | None:
        """Return the newest valid record of a key, if any."""
        value, topic = self._tables[kind.TOPIC].get(key), TOPICS[kind.TOPIC]
        if value is None:
            return None
        try:
            found = decode(kind, decompressed(value))
        except BadRecord:  # the materializer writes the dead letter
            return None
        return found if topic.key_of(found) == key else None

    def skill(self, user: str, domain: str) -> PolicySkill | None:
        """Return the user's full skill in this domain, if any."""
        return self.get(PolicySkill, compound_key(user, domain))

    def card(self, user: str) -> Card | None:
        """Return the user's card, if any."""
        return self.get(Card, user.encode())

    def keys_changed_after(self, seen: int) -> list[bytes] | None:
        """Return the keys of later changes; None if some were dropped."""
        with self._lock:
            new = self.change_count - seen
            newest = list(islice(reversed(self._changes), new))
        return list(dict.fromkeys(key for key, *_ in newest)) if len(newest) == new else None

    def position(self) -> StreamPosition:
        """Return the position of a stream that is up to date."""
        return StreamPosition(self._numbering, int(time.time() * 1000), dict(self.positions))

    def keys_changed_from(self, position: StreamPosition | None) -> list[bytes] | None:
        """Return the keys changed since a position; None if some were dropped."""
        if (
            position is None
            or position.numbering != self._numbering
            or time.time() * 1000 - position.at_ms > CHANGES_MS
        ):
            return None
        with self._lock:
            changes, dropped, positions = list(self._changes), dict(self._dropped), dict(self.positions)
        is_ahead = any(offset > positions.get(partition, 0) for partition, offset in position.offsets.items())
        if is_ahead or any(offset >= position.offsets.get(partition, 0) for partition, offset in dropped.items()):
            return None
        new = (key for key, partition, offset, _ in changes if offset >= position.offsets.get(partition, 0))
        return list(dict.fromkeys(new))

    def apply(self, base: str, key: bytes, value: bytes | None, partition: int, offset: int, at_ms: int) -> None:
        """Apply a record of a topic, named as in the registry.

        `at_ms`: when it was written, in milliseconds since 1970.
        """
        table = self._tables.get(base)
        if table is None:
            self._replies.offer(base, partition, value)
            return
        is_slim = base == SlimSkill.TOPIC
        if is_slim and not _is_pair(key):  # foreign record: keys are [user, domain]
            return
        if value is None:
            table.pop(key, None)
        else:
            # Bytes are decoded when read: with a million users a start takes seconds, not minutes.
            table[key] = compressed(value)
        if is_slim:
            with self._lock:
                self._changes.append((key, partition, offset, at_ms))
                # No stream resumes after this time, and an erased user's id must not stay in memory.
                oldest = time.time() * 1000 - CHANGES_MS
                while len(self._changes) > CHANGES or (self._changes and self._changes[0][3] < oldest):
                    _, old_partition, old_offset, _ = self._changes.popleft()
                    self._dropped[old_partition] = old_offset
                self.positions[partition] = offset + 1
                self.change_count += 1

    def _on_record(self, message: Message) -> None:
        base = (message.topic() or "").removeprefix(self._settings.prefix)
        where, (_, at_ms) = (int_of(message.partition()), int_of(message.offset())), message.timestamp()
        self.apply(base, message.key() or b"", message.value(), *where, at_ms)


def slim_for_host(slim: SlimSkill, session: str | None = None, now: datetime | None = None) -> dict[str, Any]:
    """Return a slim skill for a host, with its session's lines."""
    body = slim.model_dump(mode="json", exclude=INTERNAL)
    at = now or datetime.now(UTC)
    body["text"] = slim.text_at(at, session)
    body["lines"] = [line.model_dump() for line in slim.lines_at(at, session)]
    if not slim.is_within(at, session):
        body.pop("now", None)
        body.pop("session_id", None)
    elif slim.session_id is None and slim.session_until is not None:
        body["until"] = slim.session_until.isoformat()
    return body


def _is_pair(key: bytes) -> bool:
    try:
        parts = orjson.loads(key)
    except orjson.JSONDecodeError:
        return False
    return isinstance(parts, list) and [type(each) for each in parts] == [str, str]
