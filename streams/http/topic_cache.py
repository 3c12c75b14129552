"""Follows the topics of slim skills, skills and cards in memory."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TypeVar

import orjson
from confluent_kafka import Message

from operators.steps.rank import RankStep
from schemas import TOPICS, BadRecord, Card, Event, GlobalSkill, PolicySkill, SlimSkill, compound_key, decode
from streams.caching import compressed, decompressed
from streams.http import replies
from streams.http.problems import Problem
from streams.kafka.follower import Follower
from streams.settings import Settings
from streams.steps import rank_of

READER = "http"  # part of the group name that librdkafka requires but never joins
# Fields of a slim skill that hosts do not need.
INTERNAL = {"event_id", "occurred_at", "schema_version", "seal", "session_text", "session_lines", "session_until"}

EventT = TypeVar("EventT", bound=Event)


class ChangedKeys:
    """The keys of slim skills that changed since a stream last took them. Thread-safe."""

    # A set, so that a slow client delays changes, and needs no memory for each.

    def __init__(self, wanted: bytes | None) -> None:
        self._wanted, self._lock = wanted, threading.Lock()
        self._keys = set[bytes]()

    def add(self, key: bytes) -> None:
        """Add a changed key, unless the stream is about another."""
        if self._wanted in (None, key):
            with self._lock:
                self._keys.add(key)

    def take(self) -> set[bytes]:
        """Return the changed keys, and start again without any."""
        with self._lock:
            keys, self._keys = self._keys, set()
        return keys


class TopicCache(Follower):
    """Follows topics in a thread; all threads may read."""

    def __init__(self, settings: Settings, waiting: replies.ReplyWaiter) -> None:
        self._replies = waiting
        self._step: RankStep | None = None
        self.is_closing = False  # True ends all streams
        self.slims: dict[bytes, bytes] = {}  # compressed records by key
        self._watches: tuple[ChangedKeys, ...] = ()
        self._tables: dict[str, dict[bytes, bytes]] = {
            SlimSkill.TOPIC: self.slims, PolicySkill.TOPIC: {}, Card.TOPIC: {}, GlobalSkill.TOPIC: {}
        }  # fmt: skip
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

    @contextmanager
    def watch_slims(self, wanted: bytes | None) -> Iterator[ChangedKeys]:
        """Collect the keys that change, or only the wanted one, while the context is open."""
        changed = ChangedKeys(wanted)
        # Copy on write, because the reading thread iterates over them.
        self._watches = (*self._watches, changed)
        try:
            yield changed
        finally:
            self._watches = tuple(each for each in self._watches if each is not changed)

    def apply(self, base: str, key: bytes, value: bytes | None, partition: int) -> None:
        """Apply a record of a topic, named as in the registry."""
        table = self._tables.get(base)
        if table is None:
            self._replies.offer(base, partition, value)
            return
        if base == SlimSkill.TOPIC and not _is_pair(key):  # foreign record: keys are [user, domain]
            return
        if value is None:
            table.pop(key, None)
        else:
            # Bytes are decoded when read: with a million users a start takes seconds, not minutes.
            table[key] = compressed(value)
        if base == SlimSkill.TOPIC:
            for watch in self._watches:
                watch.add(key)

    def _on_record(self, message: Message) -> None:
        base = (message.topic() or "").removeprefix(self._settings.prefix)
        self.apply(base, message.key() or b"", message.value(), message.partition() or 0)


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
