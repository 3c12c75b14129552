"""Read dead letters from Kafka: filtered, each once, the newest ones and counts of all."""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import orjson
from confluent_kafka import Message, TopicPartition

from schemas import BadRecord, DeadLetter, decode, moment_of
from schemas.dead_letters import CLIPPED
from streams.exceptions import StreamsError
from streams.kafka.scanner import Scanner, Tell, int_of, sent_at_ms
from streams.materializer.receipts import barrier_of
from streams.settings import Settings

REPLAYED = "sager-replayed"
"""Header of a dead letter that is on its topic again because it was replayed: the position of the replayed record."""
KEY_CHARS = 200

Place = tuple[int, int, int]
"""The time of a dead letter in milliseconds since 1970, its partition and its offset."""


class NoSuchLetter(StreamsError, LookupError):
    """No dead letter has this id."""


@dataclass(frozen=True)
class Chosen:
    """A filter of dead letters; an empty field matches all.

    Attributes:
        ids: the dead letters' own ids.
        reasons, stages: as in the dead letter.
        topics: full names of the originals' topics.
        since_ms: refused at this time or later, in milliseconds since 1970.
        user: the original's key is this user, or a compound key that begins with them.
    """

    ids: frozenset[str] = frozenset()
    reasons: frozenset[str] = frozenset()
    stages: frozenset[str] = frozenset()
    topics: frozenset[str] = frozenset()
    since_ms: int = 0
    user: str | None = None

    def takes(self, found: "Found") -> bool:
        """Return True if this dead letter matches."""
        letter = found.letter
        return (
            (not self.ids or letter.event_id in self.ids)
            and (not self.reasons or letter.reason in self.reasons)
            and (not self.stages or letter.stage in self.stages)
            and (not self.topics or letter.source.topic in self.topics)
            and found.refused_ms >= self.since_ms
            and (self.user is None or user_of(letter.key) == self.user)
        )


def chosen_of(
    settings: Settings,
    ids: Iterable[str],
    reasons: Iterable[str] | None,
    stages: Iterable[str] | None,
    topics: Iterable[str] | None,
    since_ms: int,
    user: str | None,
) -> Chosen:
    """Build a filter; topics may lack the deployment's prefix."""
    return Chosen(
        ids=frozenset(ids),
        reasons=frozenset(reasons or ()),
        stages=frozenset(stages or ()),
        topics=frozenset(name if name.startswith(settings.prefix) else settings.topic(name) for name in topics or ()),
        since_ms=since_ms,
        user=user,
    )


@dataclass(frozen=True, slots=True)
class Found:
    """A dead letter and its position.

    Attributes:
        letter: the decoded dead letter.
        refused_ms: when it was sent, in milliseconds since 1970.
        partition, offset: its position on the topic of dead letters.
        replayed_to: the position of the replayed original, if this record marks a replay.
    """

    letter: DeadLetter
    refused_ms: int
    partition: int
    offset: int
    replayed_to: str | None = None

    @property
    def place(self) -> Place:
        """Its place in the order of time."""
        return self.refused_ms, self.partition, self.offset

    @property
    def refused_at(self) -> datetime:
        """When it was sent, in UTC."""
        return moment_of(self.refused_ms)


@dataclass
class Listing:
    """The result of a listing.

    Attributes:
        newest: the newest matching ones, newest first.
        by_reason: the number of all matching ones, by reason.
        replayed: the ids of the replayed ones.
        unreadable: the number of records on the topic that are not dead letters.
        forgotten: the number of dead letters of erased users, which nothing else here counts.
        there: the reasons, stages and topics of all that were read, matching or not.
    """

    newest: list[Found] = field(default_factory=list)
    by_reason: Counter[str] = field(default_factory=Counter)
    replayed: set[str] = field(default_factory=set)
    unreadable: int = 0
    forgotten: int = 0
    there: dict[str, set[str]] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """The number of matching ones."""
        return self.by_reason.total()


class Letters:
    """The topic of dead letters, as one scanner reads it.

    The topic is not compacted: letters of an erased user stay on it for 90 days, but are never returned.

    Attributes:
        unreadable: the number of records read so far that are not dead letters.
        forgotten: the number of letters of erased users among them.
        there: the reasons, stages and topics read so far.
    """

    def __init__(self, settings: Settings, scanner: Scanner) -> None:
        self._scanner, self._barrier = scanner, barrier_of(settings, scanner)
        self.unreadable = self.forgotten = 0
        self.there: dict[str, set[str]] = {"reason": set(), "stage": set(), "topic": set()}

    def all(self, since_ms: int = 0, tell: Tell = lambda *_: None) -> Iterator[Found]:
        """Read every dead letter, repeated ones included, oldest first within a partition.

        Raises:
            NoSuchTopic, BrokerUnreachable: it cannot be read.
        """
        where = self._scanner.partitions(DeadLetter.TOPIC)
        return self.at(self._scanner.since(where, since_ms) if since_ms else where, tell)

    def at(self, where: Sequence[TopicPartition], tell: Tell = lambda *_: None) -> Iterator[Found]:
        """Read from these offsets on."""
        for message in self._scanner.read(where, tell):
            try:
                letter = decode(DeadLetter, message.value())
            except BadRecord:
                self.unreadable += 1
                continue
            sent_ms = sent_at_ms(message)
            if self._barrier.covers(letter, moment_of(sent_ms)):
                self.forgotten += 1
                continue
            for name, value in (("reason", letter.reason), ("stage", letter.stage), ("topic", letter.source.topic)):
                self.there[name].add(value)
            place = int_of(message.partition()), int_of(message.offset())
            yield Found(letter, sent_ms, *place, header(message, REPLAYED))


def listing(
    settings: Settings, chosen: Chosen, limit: int, tell: Tell = lambda *_: None, before: Place | None = None
) -> Listing:
    """List the newest matching dead letters, and count all matching ones.

    Args:
        settings: the deployment.
        chosen: the filter.
        limit: how many to return.
        tell: receives progress.
        before: only return older ones than the one at this place.

    Raises:
        NoSuchTopic, BrokerUnreachable: they cannot be read.
    """
    done, seen = Listing(), set[str]()
    kept: list[tuple[Place, Found]] = []
    with Scanner(settings) as scanner:
        letters = Letters(settings, scanner)
        for found in letters.all(chosen.since_ms, tell):
            name = found.letter.event_id
            if found.replayed_to is not None:
                done.replayed.add(name)
            # A mark of a replay after `since` does not list a dead letter from before it.
            if name in seen or found.replayed_to is not None or not chosen.takes(found):
                continue
            seen.add(name)
            done.by_reason[found.letter.reason] += 1
            if before is None or found.place < before:
                heapq.heappush(kept, (found.place, found))
                if len(kept) > limit:
                    heapq.heappop(kept)
        done.unreadable, done.forgotten, done.there = letters.unreadable, letters.forgotten, letters.there
    done.replayed &= seen
    done.newest = [found for _, found in sorted(kept, reverse=True)]
    return done


def one(settings: Settings, event_id: str, tell: Tell = lambda *_: None) -> tuple[Found, list[str]]:
    """Find the dead letter with this id, and the positions that its original was replayed to.

    Raises:
        NoSuchLetter: no dead letter has the id.
        NoSuchTopic, BrokerUnreachable: they cannot be read.
    """
    with Scanner(settings) as scanner:
        same = [found for found in Letters(settings, scanner).all(tell=tell) if found.letter.event_id == event_id]
    if not same:
        raise NoSuchLetter(
            f"there is no dead letter {event_id!r} on {settings.topic(DeadLetter.TOPIC)}: "
            "`sager dead-letters list` prints their ids; they are kept for 90 days"
        )
    return same[0], [found.replayed_to for found in same if found.replayed_to is not None]


def summary(found: Found, replayed: bool) -> dict[str, Any]:
    """Describe a dead letter in plain values, without the bytes of its original's value."""
    letter = found.letter
    return {
        "event_id": letter.event_id,
        "refused_at": found.refused_at,
        "stage": letter.stage,
        "reason": letter.reason,
        "detail": letter.detail,
        "source": letter.source.model_dump(mode="json"),
        "key": text_of(letter.key, KEY_CHARS),
        "value_bytes": len(letter.value or b""),
        "replayed": replayed,
    }


def is_clipped(letter: DeadLetter) -> bool:
    """Return True if the dead letter has only part of the original, so that it cannot be replayed."""
    return letter.detail.startswith(CLIPPED)


def place_of(letter: DeadLetter) -> str:
    """Format the original's topic, partition and offset."""
    return f"{letter.source.topic}/{letter.source.partition}/{letter.source.offset}"


def text_of(value: bytes | None, most: int) -> str:
    r"""Format a key as text, or as a Python literal if it is not UTF-8.

    >>> text_of(b"ann", 40), text_of(b"\xff", 40), text_of(None, 40)
    ('ann', "b'\\xff'", 'none')
    """
    if value is None:
        return "none"
    try:
        return value[:most].decode()
    except UnicodeDecodeError:
        return repr(value[:most])


def user_of(key: bytes | None) -> str | None:
    r"""Return the user in a key: the key itself, or the first part of a compound one; None if it is not text.

    >>> user_of(b"ann"), user_of(b'["ann","films"]'), user_of(b"\xff")
    ('ann', 'ann', None)
    """
    try:
        text = (key or b"").decode()
    except UnicodeDecodeError:
        return None
    try:
        return str(orjson.loads(text)[0]) if text.startswith("[") else text or None
    except (orjson.JSONDecodeError, IndexError):
        return text


def header(message: Message, name: str) -> str | None:
    """Return the last header of this name as text, if there is one."""
    for key, value in reversed(message.headers() or []):
        if key == name:
            return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    return None
