"""Replay the originals of dead letters to the topic and partition that they came from, each exactly once.

A replayed record carries the header `sager-replay-of` with its dead letter's id. Before anything is sent, the source
partitions are searched for such headers from the dead letters' positions on, so that an interrupted or repeated replay
sends nothing twice. Afterwards the dead letter is sent to its own topic once more with the header `sager-replayed`,
where it outlives the replayed record on its source topic. Two concurrent replays of the same dead letters do not see
each other.
"""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice

from confluent_kafka import KafkaError, KafkaException, Message, Producer, TopicPartition

from schemas import DeadLetter, Position, UnknownTopic, encode
from schemas.topics import by_name
from streams.exceptions import NotProduced
from streams.kafka.clients import producer_config
from streams.kafka.scanner import NoSuchTopic, Scanner, int_of
from streams.operations.dead_letters.reading import REPLAYED, Chosen, Found, Letters, header, is_clipped
from streams.settings import Settings

REPLAY_OF = "sager-replay-of"
"""Header of a replayed record: the id of its dead letter."""
ONE_AT_A_TIME = threading.Lock()
"""A process with several callers holds it during a replay."""

FLUSH_SECONDS = 60.0
BATCH = 100

Tell = Callable[[str, int, int], None]
"""Receives progress: the stage's name, the records done, and about how many there are."""


class Hindrance(StrEnum):
    """Why a dead letter is not replayed."""

    DONE = "already replayed"
    CLIPPED = "only part of the original was kept"
    SUPERSEDED = "its compacted topic has a newer record with the same key"
    NO_TOPIC = "its topic or partition is not part of this deployment"


@dataclass(frozen=True, slots=True)
class Letter:
    """A dead letter in a plan, without its bytes."""

    source: Position
    partition: int
    offset: int
    key: bytes | None


@dataclass
class Plan:
    """The plan of a replay.

    Attributes:
        ready: the dead letters to replay, by id.
        hindered: why others cannot be replayed, by id.
        unnoted: those that an interrupted replay sent but did not mark, with the position of the sent record.
        unknown: requested ids that do not exist.
    """

    ready: dict[str, Letter] = field(default_factory=dict)
    hindered: dict[str, Hindrance] = field(default_factory=dict)
    unnoted: dict[str, tuple[Letter, str]] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)

    def hinder(self, name: str, why: Hindrance) -> Letter | None:
        """Move a ready dead letter to the hindered ones."""
        letter = self.ready.pop(name, None)
        if letter is not None:
            self.hindered[name] = why
        return letter


def plan(settings: Settings, chosen: Chosen, tell: Tell = lambda *_: None) -> Plan:
    """Plan a replay of the matching dead letters. Memory: some 500 bytes for each of them.

    Raises:
        NoSuchTopic, BrokerUnreachable: Kafka cannot be read.
    """
    with Scanner(settings) as scanner:
        found = _choose(settings, scanner, chosen, lambda done, total: tell("dead letters", done, total))
        _exclude_replayed(settings, scanner, found, lambda done, total: tell("earlier replays", done, total))
    found.unknown = sorted(chosen.ids - found.ready.keys() - found.hindered.keys())
    return found


def _choose(settings: Settings, scanner: Scanner, chosen: Chosen, tell: Callable[[int, int], None]) -> Plan:
    found, replayed = Plan(), set[str]()
    for each in Letters(settings, scanner).all(chosen.since_ms, tell):
        letter = each.letter
        if each.replayed_to is not None:
            replayed.add(letter.event_id)
        elif chosen.takes(each) and letter.event_id not in found.hindered:
            found.ready.setdefault(letter.event_id, Letter(letter.source, each.partition, each.offset, letter.key))
            if is_clipped(letter):
                found.hinder(letter.event_id, Hindrance.CLIPPED)
    for name in replayed:
        found.hinder(name, Hindrance.DONE)
    partitions: dict[str, int] = {}
    for name, left in list(found.ready.items()):
        topic = left.source.topic
        if topic not in partitions:
            try:
                partitions[topic] = len(scanner.partitions(by_name(topic, settings.prefix).base))
            except (UnknownTopic, NoSuchTopic):
                partitions[topic] = 0
        if left.source.partition >= partitions[topic]:
            found.hinder(name, Hindrance.NO_TOPIC)
    return found


def _exclude_replayed(settings: Settings, scanner: Scanner, found: Plan, tell: Callable[[int, int], None]) -> None:
    """Hinder the letters whose source partition has the replayed record, or a newer one of a compacted key."""
    starts: dict[tuple[str, int], int] = {}
    compacted: dict[tuple[str, int, bytes | None], list[tuple[str, int]]] = {}
    for name, letter in found.ready.items():
        source = letter.source
        where = (source.topic, source.partition)
        starts[where] = min(source.offset, starts.get(where, source.offset))
        if by_name(source.topic, settings.prefix).compact:
            compacted.setdefault((*where, letter.key), []).append((name, source.offset))
    for message in scanner.read([TopicPartition(*where, offset) for where, offset in starts.items()], tell):
        topic, partition, offset = str(message.topic()), int_of(message.partition()), int_of(message.offset())
        name = header(message, REPLAY_OF) or ""
        if (sent := found.hinder(name, Hindrance.DONE)) is not None:
            found.unnoted[name] = (sent, f"{topic}/{partition}/{offset}")
        for older, older_offset in compacted.get((topic, partition, message.key()), ()):
            if offset > older_offset:
                found.hinder(older, Hindrance.SUPERSEDED)


def replay(settings: Settings, planned: Plan, tell: Tell = lambda *_: None) -> int:
    """Replay a plan's originals and mark their dead letters; return how many.

    Raises:
        NotProduced: the broker did not accept all. A second replay sends only the rest.
    """
    left = {**planned.ready, **{name: letter for name, (letter, _) in planned.unnoted.items()}}
    starts: dict[int, int] = {}
    for letter in left.values():
        starts[letter.partition] = min(letter.offset, starts.get(letter.partition, letter.offset))
    topic = settings.topic(DeadLetter.TOPIC)
    sender, done = _Sender(settings), 0

    def wanted(letters: Iterator[Found]) -> Iterator[Found]:
        for found in letters:
            if left.pop(found.letter.event_id, None) is not None:
                yield found
            if not left:
                return

    with Scanner(settings) as scanner:
        where = [TopicPartition(topic, partition, offset) for partition, offset in starts.items()]
        letters = wanted(Letters(settings, scanner).at(where))
        while batch := list(islice(letters, BATCH)):
            sent = {found.letter.event_id: place for found in batch
                    if (place := planned.unnoted.get(found.letter.event_id, (None, ""))[1])}  # fmt: skip
            sender.replay([found for found in batch if found.letter.event_id not in sent], sent)
            sender.mark(batch, sent)
            done += sum(found.letter.event_id in planned.ready for found in batch)
            tell("replayed", done, len(planned.ready))
    if left:
        raise NotProduced(f"{len(left)} dead letters are no longer on {topic}; {done} were replayed")
    return done


class _Sender:
    def __init__(self, settings: Settings) -> None:
        self._topic = settings.topic(DeadLetter.TOPIC)
        self._producer = Producer(producer_config(settings))
        self._failed: list[str] = []

    def replay(self, batch: list[Found], sent: dict[str, str]) -> None:
        """Send originals, and add the positions of those that the broker accepted to `sent`."""
        for letter in (found.letter for found in batch):

            def accepted(message: Message, name: str = letter.event_id) -> None:
                sent[name] = f"{message.topic()}/{message.partition()}/{message.offset()}"

            source, mark = letter.source, (REPLAY_OF, letter.event_id)
            self._produce(source.topic, source.partition, letter.key, letter.value, mark, accepted)
        self._flush()

    def mark(self, batch: list[Found], sent: dict[str, str]) -> None:
        """Send the dead letters of sent originals once more, as replayed.

        Raises:
            NotProduced: the broker did not accept all records of this batch.
        """
        for found in batch:
            if place := sent.get(found.letter.event_id):
                value = encode(found.letter)
                self._produce(self._topic, found.partition, found.letter.key, value, (REPLAYED, place), lambda _: None)
        self._flush()
        if self._failed:
            raise NotProduced(
                f"{len(self._failed)} records were not accepted; the first: {self._failed[0]}. "
                "Run the replay again: nothing is sent twice"
            )

    def _produce(
        self,
        topic: str,
        partition: int,
        key: bytes | None,
        value: bytes | None,
        mark: tuple[str, str],
        accepted: Callable[[Message], None],
    ) -> None:
        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is None:
                accepted(message)
            else:
                self._failed.append(f"{topic}: {error.str()}")

        try:
            self._producer.produce(topic, value, key, partition, on_delivery=delivered, headers=[mark])
        except KafkaException as error:  # over the producer's own limit: the callback is not called
            self._failed.append(f"{topic}: {error.args[0].str()}")

    def _flush(self) -> None:
        if left := self._producer.flush(FLUSH_SECONDS):
            raise NotProduced(
                f"{left} records unsent after {FLUSH_SECONDS:.0f} s. Run the replay again: nothing is sent twice"
            )
