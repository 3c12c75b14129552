"""Reads dead letters from their topic, the only store."""

import heapq
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from confluent_kafka import Message

from schemas import CLIPPED, BadRecord, DeadLetter, decode, moment_of
from streams.analytics.erasure import erasure_filter_of
from streams.exceptions import StreamsError
from streams.kafka.scanner import OnProgress, Scanner, int_of, sent_at_ms
from streams.settings import Settings

# Header of a dead letter's copy that marks its replay: the position of the replayed record.
REPLAYED = "sager-replayed"
KEY_CHARS = 200


class LetterNotFound(StreamsError, LookupError):
    """No dead letter has this id."""


@dataclass(frozen=True)
class LetterFilter:
    """A filter by id, reason, stage and time; empty fields match all."""

    ids: frozenset[str] = frozenset()
    reasons: frozenset[str] = frozenset()
    stages: frozenset[str] = frozenset()
    since_ms: int = 0  # since 1970

    def matches(self, found: "StoredLetter") -> bool:
        """Return True if this dead letter matches."""
        letter = found.letter
        criteria = ((self.ids, letter.event_id), (self.reasons, letter.reason), (self.stages, letter.stage))
        return all(not names or name in names for names, name in criteria) and found.refused_ms >= self.since_ms


@dataclass(frozen=True, slots=True)
class StoredLetter:
    """A dead letter with its position, or the mark of its replay."""

    letter: DeadLetter
    refused_ms: int
    partition: int
    offset: int
    replayed_to: str | None = None  # of a mark: the position of the replayed original

    @property
    def refused_at(self) -> datetime:
        """The time of sending, in UTC."""
        return moment_of(self.refused_ms)


@dataclass
class LetterListing:
    """The newest matching dead letters, and counts of all matching ones."""

    newest: list[StoredLetter] = field(default_factory=list)
    by_reason: Counter[str] = field(default_factory=Counter)
    replayed: set[str] = field(default_factory=set)
    unreadable: int = 0  # other records on the topic
    forgotten: int = 0  # dead letters of erased users, which are counted nowhere else

    @property
    def total(self) -> int:
        """The number of matching ones."""
        return self.by_reason.total()


def read_letters(
    settings: Settings,
    scanner: Scanner,
    since_ms: int = 0,
    tell: OnProgress = lambda *_: None,
    counts: LetterListing | None = None,
) -> Iterator[StoredLetter]:
    """Yield all dead letters and marks, in order by partition; fill `counts`."""
    # Dead letters of erased users stay on the topic for 90 days, as it is not compacted. They are skipped.
    barrier, counts = erasure_filter_of(settings, scanner), counts or LetterListing()
    where = scanner.partitions(DeadLetter.TOPIC)
    for message in scanner.read(scanner.from_time(where, since_ms) if since_ms else where, tell):
        try:
            letter = decode(DeadLetter, message.value())
        except BadRecord:
            counts.unreadable += 1
            continue
        sent_ms = sent_at_ms(message)
        if barrier.covers(letter, moment_of(sent_ms)):
            counts.forgotten += 1
            continue
        yield StoredLetter(
            letter, sent_ms, int_of(message.partition()), int_of(message.offset()), header(message, REPLAYED)
        )


def list_letters(
    settings: Settings, chosen: LetterFilter, limit: int, tell: OnProgress = lambda *_: None
) -> LetterListing:
    """List the newest matching dead letters; count all matching ones."""
    done, seen = LetterListing(), set[str]()
    kept: list[tuple[tuple[int, int, int], StoredLetter]] = []
    with Scanner(settings) as scanner:
        for found in read_letters(settings, scanner, chosen.since_ms, tell, done):
            name = found.letter.event_id
            if found.replayed_to is not None:
                done.replayed.add(name)
            # A mark is no dead letter of its own: the letter may be older than `since`.
            if name in seen or found.replayed_to is not None or not chosen.matches(found):
                continue
            seen.add(name)
            done.by_reason[found.letter.reason] += 1
            heapq.heappush(kept, ((found.refused_ms, found.partition, found.offset), found))
            if len(kept) > limit:
                heapq.heappop(kept)
    done.replayed &= seen
    done.newest = [found for _, found in sorted(kept, reverse=True)]
    return done


def find_letter(
    settings: Settings, event_id: str, tell: OnProgress = lambda *_: None
) -> tuple[StoredLetter, list[str]]:
    """Find a dead letter, and the positions of its replays."""
    with Scanner(settings) as scanner:
        every = read_letters(settings, scanner, tell=tell)
        same = [found for found in every if found.letter.event_id == event_id]
    if not same:
        raise LetterNotFound(
            f"there is no dead letter {event_id!r} on {settings.topic(DeadLetter.TOPIC)}: "
            "`sager dead-letters list` prints their ids; they are kept for 90 days"
        )
    return same[0], [found.replayed_to for found in same if found.replayed_to is not None]


def summary(found: StoredLetter, replayed: bool) -> dict[str, Any]:
    """Return a dead letter as plain values, without its original."""
    letter = found.letter
    return {
        "event_id": letter.event_id,
        "refused_at": found.refused_at,
        "stage": letter.stage,
        "reason": letter.reason,
        "detail": letter.detail,
        "source": letter.source.model_dump(mode="json"),
        "key": None if letter.key is None else letter.key[:KEY_CHARS].decode(errors="backslashreplace"),
        "value_bytes": len(letter.value or b""),
        "replayed": replayed,
    }


def is_clipped(letter: DeadLetter) -> bool:
    """Return True if only part of the original was kept."""
    return letter.detail.startswith(CLIPPED)


def header(message: Message, name: str) -> str | None:
    """Return the last header of this name as text, if any."""
    for key, value in reversed(message.headers() or []):
        if key == name:
            return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    return None
