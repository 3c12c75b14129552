"""Reads dead letters from Kafka: filtered, each once, the newest ones and counts of all."""

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import orjson
from confluent_kafka import Message, TopicPartition

from schemas import BadRecord, DeadLetter, decode, moment_of
from schemas.dead_letters import CLIPPED
from streams.exceptions import StreamsError
from streams.kafka.scanner import Scanner, Tell, int_of, sent_at_ms
from streams.materializer.receipts import barrier_of
from streams.settings import Settings

REPLAYED = "sager-replayed"
"""Header of a dead letter that is on its topic again because it was replayed: where its original went."""


Place = tuple[int, int, int]
"""When a dead letter was refused, in milliseconds since 1970, its partition and its offset."""


class NoSuchLetter(StreamsError, LookupError):
    """No dead letter has this id."""


@dataclass(frozen=True)
class Chosen:
    """A filter of dead letters; an empty field matches all.

    Attributes:
        ids: the dead letters' own ids.
        reasons, stages: as in the dead letter.
        topics: full names of the topics that the originals came from.
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
        """Whether this dead letter matches."""
        letter = found.letter
        return (
            (not self.ids or letter.event_id in self.ids)
            and (not self.reasons or letter.reason in self.reasons)
            and (not self.stages or letter.stage in self.stages)
            and (not self.topics or letter.source.topic in self.topics)
            and found.refused_ms >= self.since_ms
            and (self.user is None or user_of(letter.key) == self.user)
        )


@dataclass(frozen=True, slots=True)
class Found:
    """A dead letter and its position on its topic.

    Attributes:
        letter: the decoded dead letter.
        refused_ms: when it was sent, in milliseconds since 1970.
        partition, offset: its position on the topic of dead letters.
        replayed_to: where its original was replayed to, if this is the record of a replay.
    """

    letter: DeadLetter
    refused_ms: int
    partition: int
    offset: int
    replayed_to: str | None = None

    @property
    def place(self) -> Place:
        """Where it stands among all, in the order of time."""
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
        forgotten: the number of dead letters of forgotten people, which nothing else here counts.
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
        """How many match."""
        return self.by_reason.total()


class Letters:
    """The topic of dead letters, read by one scanner.

    The topic is not compacted: letters of a forgotten person stay on it for 90 days, but are never returned.

    Attributes:
        unreadable: how many of the records read so far are not dead letters.
        forgotten: how many of them are letters of forgotten people.
        there: the reasons, stages and topics read so far.
    """

    def __init__(self, settings: Settings, scanner: Scanner) -> None:
        self._settings, self._scanner = settings, scanner
        self._barrier = barrier_of(settings, scanner)
        self.unreadable = 0
        self.forgotten = 0
        self.there: dict[str, set[str]] = {"reason": set(), "stage": set(), "topic": set()}

    def all(self, since_ms: int = 0, tell: Tell = lambda *_: None) -> Iterator[Found]:
        """Every dead letter, repeated ones included, oldest first within a partition.

        Raises:
            NoSuchTopic, BrokerUnreachable: it cannot be read.
        """
        where = self._scanner.partitions(DeadLetter.TOPIC)
        return self.at(self._scanner.since(where, since_ms) if since_ms else where, tell)

    def at(self, where: Sequence[TopicPartition], tell: Tell = lambda *_: None) -> Iterator[Found]:
        """The same, from these offsets on."""
        for message in self._scanner.read(where, tell):
            try:
                letter = decode(DeadLetter, message.value())
            except BadRecord:
                self.unreadable += 1
                continue
            if self._barrier.covers(letter, moment_of(sent_at_ms(message))):
                self.forgotten += 1
                continue
            self.there["reason"].add(letter.reason)
            self.there["stage"].add(letter.stage)
            self.there["topic"].add(letter.source.topic)
            yield Found(
                letter,
                sent_at_ms(message),
                int_of(message.partition()),
                int_of(message.offset()),
                header(message, REPLAYED),
            )


def listing(
    settings: Settings, chosen: Chosen, limit: int, tell: Tell = lambda *_: None, before: Place | None = None
) -> Listing:
    """The newest matching dead letters, and counts of all matching ones.

    Args:
        settings: the deployment.
        chosen: which ones.
        limit: how many are returned; all are counted.
        tell: receives progress.
        before: only return older ones than the one at this place; all are counted.

    Memory: the newest ones, and 100 bytes for each other.

    Raises:
        NoSuchTopic, BrokerUnreachable: they cannot be read.
    """
    done = Listing()
    seen: set[str] = set()
    kept: list[tuple[Place, Found]] = []
    with Scanner(settings) as scanner:
        letters = Letters(settings, scanner)
        for found in letters.all(chosen.since_ms, tell):
            name = found.letter.event_id
            if found.replayed_to is not None:
                done.replayed.add(name)
            # A replay after `since` does not bring back a dead letter from before it.
            if name in seen or found.replayed_to is not None or not chosen.takes(found):
                continue
            seen.add(name)
            done.by_reason[found.letter.reason] += 1
            if before is not None and found.place >= before:
                continue
            heapq.heappush(kept, (found.place, found))
            if len(kept) > limit:
                heapq.heappop(kept)
        done.unreadable, done.forgotten, done.there = letters.unreadable, letters.forgotten, letters.there
    done.replayed &= seen
    done.newest = [found for _, found in sorted(kept, reverse=True)]
    return done


def one(settings: Settings, event_id: str, tell: Tell = lambda *_: None) -> tuple[Found, list[str]]:
    """The dead letter with this id, with where its original was replayed to, if it was.

    Raises:
        NoSuchLetter: there is none.
        NoSuchTopic, BrokerUnreachable: they cannot be read.
    """
    first: Found | None = None
    replayed: list[str] = []
    with Scanner(settings) as scanner:
        for found in Letters(settings, scanner).all(tell=tell):
            if found.letter.event_id == event_id:
                first = first or found
                replayed += [found.replayed_to] if found.replayed_to is not None else []
    if first is None:
        raise NoSuchLetter(
            f"there is no dead letter {event_id!r} on {settings.topic(DeadLetter.TOPIC)}: "
            "`sager dead-letters list` prints their ids; they are kept for 90 days"
        )
    return first, replayed


def is_clipped(letter: DeadLetter) -> bool:
    """Whether the dead letter holds only part of the original, so that it cannot be replayed."""
    return letter.detail.startswith(CLIPPED)


def user_of(key: bytes | None) -> str | None:
    r"""The user in a key: the key itself, or the first part of a compound one; None if it is not text.

    >>> user_of(b"ann"), user_of(b'["ann","films"]'), user_of(b"\xff")
    ('ann', 'ann', None)
    """
    try:
        text = (key or b"").decode()
    except UnicodeDecodeError:
        return None
    if text.startswith("["):
        try:
            return str(orjson.loads(text)[0])
        except (orjson.JSONDecodeError, IndexError):
            return text
    return text or None


def header(message: Message, name: str) -> str | None:
    """The last header of this name, as text; None if there is none."""
    for key, value in reversed(message.headers() or []):
        if key == name:
            return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    return None
