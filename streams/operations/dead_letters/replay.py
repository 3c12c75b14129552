"""Replays the originals of dead letters to their sources, exactly once.

A replayed record carries the id of its dead letter in a header. A replay first searches the source partitions for such
headers, so that an interrupted or repeated one sends nothing twice. Then it copies the dead letter to its topic with a
mark, which outlives the record on the source topic. Concurrent replays do not see each other.
"""

import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from itertools import islice

from confluent_kafka import KafkaError, KafkaException, Message, Producer, TopicPartition

from schemas import DeadLetter, UnknownTopic, encode
from schemas.topics import by_name
from streams.exceptions import NotProduced
from streams.kafka.clients import producer_config
from streams.kafka.scanner import NoSuchTopic, OnStageProgress, Scanner, int_of
from streams.operations.dead_letters.reading import (
    REPLAYED,
    LetterFilter,
    StoredLetter,
    header,
    is_clipped,
    read_letters,
)
from streams.settings import Settings

# Header of a replayed record: the id of its dead letter.
REPLAY_OF = "sager-replay-of"
# Held during a replay, because concurrent replays would send records twice.
ONE_AT_A_TIME = threading.Lock()

FLUSH_SECONDS, BATCH = 60.0, 100

_Record = tuple[bytes | None, bytes | None]


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
    # Sent but not marked by an interrupted replay, each with the position of the sent record.
    unmarked: list[tuple[StoredLetter, str]] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    def block(self, name: str, why: Blocker) -> StoredLetter | None:
        """Move a ready dead letter to the hindered ones."""
        found = self.ready.pop(name, None)
        if found is not None:
            self.blocked[name] = why
        return found


def plan(settings: Settings, chosen: LetterFilter, on_progress: OnStageProgress = lambda *_: None) -> Plan:
    """Plan a replay of the matching dead letters."""
    planned, replayed = Plan(), set[str]()
    with Scanner(settings) as scanner:
        for found in read_letters(settings, scanner, chosen.since_ms, partial(on_progress, "dead letters")):
            if found.replayed_to is not None:
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
            if is_clipped(found.letter):
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
        topic, partition, offset = str(message.topic()), int_of(message.partition()), int_of(message.offset())
        sent = planned.block(header(message, REPLAY_OF) or "", Blocker.DONE)
        if sent is not None:
            planned.unmarked.append((sent, f"{topic}/{partition}/{offset}"))
        for older, older_offset in compacted.get((topic, partition, message.key()), ()):
            if offset > older_offset:
                planned.block(older, Blocker.SUPERSEDED)


def replay(settings: Settings, planned: Plan, on_progress: OnStageProgress = lambda *_: None) -> int:
    """Replay originals and mark their dead letters; return their number."""
    sender, done = _Sender(settings), 0
    sender.mark(planned.unmarked)
    waiting = iter(planned.ready.values())
    while batch := list(islice(waiting, BATCH)):
        sent = sender.replay(batch)
        sender.mark([(found, sent[found.letter.event_id]) for found in batch if found.letter.event_id in sent])
        done += len(sent)
        on_progress("replayed", done, len(planned.ready))
    return done


class _Sender:
    def __init__(self, settings: Settings) -> None:
        self._topic = settings.topic(DeadLetter.TOPIC)
        self._producer = Producer(producer_config(settings))
        self._failed: list[str] = []

    def replay(self, batch: Iterable[StoredLetter]) -> Mapping[str, str]:
        """Send originals; return positions of accepted ones by dead letter."""
        sent: dict[str, str] = {}
        for letter in (found.letter for found in batch):

            def accepted(message: Message, name: str = letter.event_id) -> None:
                sent[name] = f"{message.topic()}/{message.partition()}/{message.offset()}"

            where, mark = (letter.source.topic, letter.source.partition), (REPLAY_OF, letter.event_id)
            self._produce(where, (letter.key, letter.value), mark, accepted)
        self._flush()
        return sent

    def mark(self, sent: Iterable[tuple[StoredLetter, str]]) -> None:
        """Send copies of dead letters with a mark of their replay."""
        for found, place in sent:
            where, letter = (self._topic, found.partition), found.letter
            self._produce(where, (letter.key, encode(letter)), (REPLAYED, place), lambda _: None)
        self._flush()
        if self._failed:
            raise NotProduced(
                f"{len(self._failed)} records were not accepted; the first: {self._failed[0]}. "
                "Run the replay again: nothing is sent twice"
            )

    def _produce(
        self, where: tuple[str, int], record: _Record, mark: tuple[str, str], accepted: Callable[[Message], None]
    ) -> None:
        (topic, partition), (key, value) = where, record

        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is None:
                accepted(message)
            else:
                self._failed.append(f"{topic}: {error.str()}")

        try:
            self._producer.produce(topic, value, key, partition, on_delivery=delivered, headers=[mark])
        except KafkaException as error:  # larger than the producer's limit: no callback
            self._failed.append(f"{topic}: {error.args[0].str()}")

    def _flush(self) -> None:
        if left := self._producer.flush(FLUSH_SECONDS):
            raise NotProduced(
                f"{left} records unsent after {FLUSH_SECONDS:.0f} s. Run the replay again: nothing is sent twice"
            )
