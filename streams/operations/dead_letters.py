"""Dead letters: read them from their topic, and replay originals exactly once.

The topic is their only store. A replayed record carries the id of its dead letter in a header. A replay first
searches the source partitions for such headers, so that an interrupted or repeated one sends nothing twice. Then it
copies the dead letter to its topic with a mark, which outlives the record on the source topic. Concurrent replays do
not see each other.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from itertools import islice

from confluent_kafka import Message, TopicPartition

from schemas import CLIPPED, BadRecord, DeadLetter, UnknownTopic, by_name, decode, encode, moment_of
from streams.analytics.erasure import erasure_filter_of
from streams.exceptions import NotProduced
from streams.kafka.producer import RecordWriter
from streams.kafka.scanner import NoSuchTopic, OnProgress, OnStageProgress, Scanner, int_of, sent_at_ms
from streams.settings import Settings

# Header of a replayed record: the id of its dead letter.
REPLAY_OF = "sager-replay-of"
# Header of a dead letter's copy that marks its replay.
REPLAYED = "sager-replayed"

FLUSH_SECONDS, BATCH = 60.0, 100


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
    """A dead letter with its partition, or the mark of its replay."""

    letter: DeadLetter
    refused_ms: int
    partition: int
    is_mark: bool = False

    @property
    def is_clipped(self) -> bool:
        """True if only part of the original was kept."""
        return self.letter.detail.startswith(CLIPPED)


class Blocker(StrEnum):
    """A reason not to replay a dead letter."""

    DONE = "already replayed"
    CLIPPED = "only part of the original was kept"
    SUPERSEDED = "its compacted topic has a newer record with the same key"
    NO_TOPIC = "its topic or partition is not part of this deployment"


@dataclass
class Plan:
    """The dead letters to replay, the blocked ones, and unknown ids."""

    ready: dict[str, StoredLetter] = field(default_factory=dict)
    blocked: dict[str, Blocker] = field(default_factory=dict)
    unmarked: list[StoredLetter] = field(default_factory=list)  # sent but not marked by an interrupted replay
    unknown: list[str] = field(default_factory=list)

    def block(self, name: str, why: Blocker) -> StoredLetter | None:
        """Move a ready dead letter to the blocked ones."""
        found = self.ready.pop(name, None)
        if found is not None:
            self.blocked[name] = why
        return found


def read_letters(
    settings: Settings,
    scanner: Scanner,
    since_ms: int = 0,
    on_progress: OnProgress = lambda *_: None,
) -> Iterator[StoredLetter]:
    """Yield all dead letters and marks, in order by partition."""
    # Dead letters of erased users stay on the topic for 90 days, as it is not compacted. They are skipped.
    barrier = erasure_filter_of(settings, scanner)
    where = scanner.partitions(DeadLetter.TOPIC)
    for message in scanner.read(scanner.from_time(where, since_ms) if since_ms else where, on_progress):
        try:
            letter = decode(DeadLetter, message.value())
        except BadRecord:
            continue
        sent_ms = sent_at_ms(message)
        if not barrier.covers(letter, moment_of(sent_ms)):
            yield StoredLetter(letter, sent_ms, int_of(message.partition()), header(message, REPLAYED) is not None)


def header(message: Message, name: str) -> str | None:
    """Return the last header of this name as text, if any."""
    for key, value in reversed(message.headers() or []):
        if key == name:
            return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    return None


def plan(settings: Settings, chosen: LetterFilter, on_progress: OnStageProgress = lambda *_: None) -> Plan:
    """Plan a replay of the matching dead letters."""
    planned, replayed = Plan(), set[str]()
    with Scanner(settings) as scanner:
        for found in read_letters(settings, scanner, chosen.since_ms, partial(on_progress, "dead letters")):
            if found.is_mark:
                replayed.add(found.letter.event_id)
            elif chosen.matches(found):
                planned.ready.setdefault(found.letter.event_id, found)
        planned.unknown = sorted(chosen.ids - planned.ready.keys())
        for name in replayed:
            planned.block(name, Blocker.DONE)
        partitions: dict[str, int] = {}
        for name, found in list(planned.ready.items()):
            source = found.letter.source
            if source.topic not in partitions:
                partitions[source.topic] = 0
                with suppress(UnknownTopic, NoSuchTopic):
                    partitions[source.topic] = len(scanner.partitions(by_name(source.topic, settings.prefix).base))
            if found.is_clipped:
                planned.block(name, Blocker.CLIPPED)
            elif source.partition >= partitions[source.topic]:
                planned.block(name, Blocker.NO_TOPIC)
        _exclude_replayed(settings, scanner, planned, on_progress)
    return planned


def _exclude_replayed(settings: Settings, scanner: Scanner, planned: Plan, on_progress: OnStageProgress) -> None:
    """Block dead letters that are replayed or superseded."""
    starts: dict[tuple[str, int], int] = {}
    compacted: dict[tuple[str, int, bytes | None], list[tuple[str, int]]] = {}
    for name, found in planned.ready.items():
        source = found.letter.source
        where = (source.topic, source.partition)
        starts[where] = min(source.offset, starts.get(where, source.offset))
        if by_name(source.topic, settings.prefix).compact:
            compacted.setdefault((*where, found.letter.key), []).append((name, source.offset))
    positions = [TopicPartition(*where, offset) for where, offset in starts.items()]
    for message in scanner.read(positions, partial(on_progress, "earlier replays")):
        sent = planned.block(header(message, REPLAY_OF) or "", Blocker.DONE)
        if sent is not None:
            planned.unmarked.append(sent)
        for older, offset in compacted.get((str(message.topic()), int_of(message.partition()), message.key()), ()):
            if int_of(message.offset()) > offset:
                planned.block(older, Blocker.SUPERSEDED)


def replay(settings: Settings, planned: Plan, on_progress: OnStageProgress = lambda *_: None) -> int:
    """Replay originals and mark their dead letters; return their number."""
    writer, done = RecordWriter(settings), 0
    _mark(settings, writer, planned.unmarked)
    waiting = iter(planned.ready.values())
    while batch := list(islice(waiting, BATCH)):
        for letter in (found.letter for found in batch):
            source, mark = letter.source, {REPLAY_OF: letter.event_id}
            writer.send(source.topic, letter.key, letter.value, source.partition, mark)
        _flush(writer)
        _mark(settings, writer, batch)
        done += len(batch)
        on_progress("replayed", done, len(planned.ready))
    return done


def _mark(settings: Settings, writer: RecordWriter, sent: Iterable[StoredLetter]) -> None:
    """Send copies of dead letters with a mark of their replay."""
    topic = settings.topic(DeadLetter.TOPIC)
    for found in sent:
        writer.send(topic, found.letter.key, encode(found.letter), found.partition, {REPLAYED: "true"})
    _flush(writer)


def _flush(writer: RecordWriter) -> None:
    try:
        writer.flush(FLUSH_SECONDS, "records")
    except NotProduced as error:
        # Accepted records are found by their headers, also if their dead letters are not marked yet.
        raise NotProduced(f"{error}. Run the replay again: nothing is sent twice") from error
