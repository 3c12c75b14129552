"""Replays the originals of dead letters to the topic and partition that they came from, each exactly once.

A replayed record carries the header `sager-replay-of` with its dead letter's id. Before anything is sent, the source
partitions are searched for such headers from the dead letters' positions on, so that an interrupted or repeated replay
sends nothing twice. Afterwards the dead letter is sent to its own topic once more with the header `sager-replayed`,
where it outlives the replayed record on its source topic. Two concurrent replays of the same dead letters do not see
each other.

The original's partition is always right: workers re-route a record on the wrong partition, such as one that could not
be decoded before an update, like any other.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
"""To be held by a process in which several may ask: two replays of the same letters at once do not see each other."""

FLUSH_SECONDS = 60.0
BATCH = 100

Tell = Callable[[str, int, int], None]
"""Receives progress: the stage's name, how much is done, and about how much there is."""


class Hindrance(StrEnum):
    """Why a dead letter is not replayed."""

    DONE = "already replayed"
    CLIPPED = "only part of the original was kept"
    SUPERSEDED = "its compacted topic has a newer record with the same key"
    NO_TOPIC = "its topic or partition is not part of this deployment"


@dataclass(frozen=True, slots=True)
class Letter:
    """What a plan keeps of a dead letter: everything but its bytes."""

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
        unnoted: those that an interrupted replay sent without marking their dead letters, with where it sent them.
        unknown: requested ids that do not exist.
        there: the reasons, stages and topics of all dead letters that were read.
    """

    ready: dict[str, Letter] = field(default_factory=dict)
    hindered: dict[str, Hindrance] = field(default_factory=dict)
    unnoted: dict[str, tuple[Letter, str]] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    there: dict[str, set[str]] = field(default_factory=dict)


def plan(settings: Settings, chosen: Chosen, tell: Tell = lambda *_: None) -> Plan:
    """Plans a replay: which of the matching dead letters can be replayed and have not been.

    Memory: some 500 bytes for each of them.

    Raises:
        NoSuchTopic, BrokerUnreachable: Kafka cannot be read.
    """
    with Scanner(settings) as scanner:
        found = _choose(settings, scanner, chosen, lambda done, total: tell("dead letters", done, total))
        _look_for_replayed(settings, scanner, found, lambda done, total: tell("earlier replays", done, total))
    found.unknown = sorted(chosen.ids - found.ready.keys() - found.hindered.keys())
    return found


def _choose(settings: Settings, scanner: Scanner, chosen: Chosen, tell: Callable[[int, int], None]) -> Plan:
    found, replayed = Plan(), set[str]()
    partitions: dict[str, int] = {}
    letters = Letters(settings, scanner)
    found.there = letters.there
    for each in letters.all(chosen.since_ms, tell):
        letter = each.letter
        if each.replayed_to is not None:
            replayed.add(letter.event_id)
        elif chosen.takes(each) and letter.event_id not in found.hindered:
            known = Letter(letter.source, each.partition, each.offset, letter.key)
            if is_clipped(letter):
                found.hindered[letter.event_id] = Hindrance.CLIPPED
            else:
                found.ready.setdefault(letter.event_id, known)
    for name in replayed & found.ready.keys():
        del found.ready[name]
        found.hindered[name] = Hindrance.DONE
    for name, left in list(found.ready.items()):
        topic = left.source.topic
        if topic not in partitions:
            partitions[topic] = _partitions(settings, scanner, topic)
        if left.source.partition >= partitions[topic]:
            del found.ready[name]
            found.hindered[name] = Hindrance.NO_TOPIC
    return found


def _partitions(settings: Settings, scanner: Scanner, name: str) -> int:
    try:
        return len(scanner.partitions(by_name(name, settings.prefix).base))
    except (UnknownTopic, NoSuchTopic):
        return 0


def _look_for_replayed(settings: Settings, scanner: Scanner, found: Plan, tell: Callable[[int, int], None]) -> None:
    """Removes from the plan what the source partitions show as replayed, or as superseded by a newer record."""
    starts: dict[tuple[str, int], int] = {}
    waiting: dict[tuple[str, int, bytes | None], list[tuple[str, int]]] = {}
    for name, letter in found.ready.items():
        source = letter.source
        where = (source.topic, source.partition)
        starts[where] = min(source.offset, starts.get(where, source.offset))
        if by_name(source.topic, settings.prefix).compact:
            waiting.setdefault((*where, letter.key), []).append((name, source.offset))
    for message in scanner.read([TopicPartition(*where, offset) for where, offset in starts.items()], tell):
        where = (str(message.topic()), int_of(message.partition()))
        replay_of = header(message, REPLAY_OF) or ""
        if (sent := found.ready.pop(replay_of, None)) is not None:
            found.hindered[replay_of] = Hindrance.DONE
            found.unnoted[replay_of] = (sent, f"{where[0]}/{where[1]}/{message.offset()}")
        for name, offset in waiting.get((*where, message.key()), ()) if waiting else ():
            if int_of(message.offset()) > offset and found.ready.pop(name, None) is not None:
                found.hindered[name] = Hindrance.SUPERSEDED


def replay(settings: Settings, planned: Plan, tell: Tell = lambda *_: None) -> int:
    """Replays a plan's originals and marks their dead letters; returns how many.

    Raises:
        NotProduced: the broker did not accept all. Run the replay again: it sends only the rest.
    """
    left = {**planned.ready, **{name: letter for name, (letter, _) in planned.unnoted.items()}}
    starts: dict[int, int] = {}
    for letter in left.values():
        starts[letter.partition] = min(letter.offset, starts.get(letter.partition, letter.offset))
    name = settings.topic(DeadLetter.TOPIC)
    sender, done = _Sender(settings), 0
    with Scanner(settings) as scanner:
        where = [TopicPartition(name, partition, offset) for partition, offset in starts.items()]
        letters = _those(left, Letters(settings, scanner).at(where))
        while batch := list(islice(letters, BATCH)):
            sender.send(batch, {name: where for name, (_, where) in planned.unnoted.items()})
            done += sum(found.letter.event_id in planned.ready for found in batch)
            tell("replayed", done, len(planned.ready))
    if left:
        raise NotProduced(f"{len(left)} dead letters are no longer on {name}; {done} were replayed")
    return done


def _those(left: dict[str, Letter], letters: Iterable[Found]) -> Iterator[Found]:
    """The dead letters still to be sent, each once."""
    for found in letters:
        if left.pop(found.letter.event_id, None) is not None:
            yield found
        if not left:
            return


class _Sender:
    def __init__(self, settings: Settings) -> None:
        self._topic = settings.topic(DeadLetter.TOPIC)
        self._producer = Producer(producer_config(settings))
        self._failed: list[str] = []
        self._went: dict[str, str] = {}

    def send(self, batch: Sequence[Found], sent_before: Mapping[str, str]) -> None:
        """Sends the originals that were not sent before and, once the broker has them, the marks.

        Raises:
            NotProduced: the broker did not accept all of them; those that it accepted are marked.
        """
        self._went = dict(sent_before)
        for letter in (found.letter for found in batch if found.letter.event_id not in sent_before):
            self._produce(letter.source.topic, letter.source.partition, letter.key, letter.value,
                          {REPLAY_OF: letter.event_id}, letter.event_id)  # fmt: skip
        self._flush()
        for found in batch:
            if went := self._went.get(found.letter.event_id):
                self._produce(self._topic, found.partition, found.letter.key, encode(found.letter), {REPLAYED: went})
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
        headers: dict[str, str],
        event_id: str = "",
    ) -> None:
        def delivered(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                self._failed.append(f"{topic}: {error.str()}")
            else:
                self._went[event_id] = f"{topic}/{message.partition()}/{message.offset()}"

        named: list[tuple[str, str | bytes | None]] = [*headers.items()]
        try:
            self._producer.produce(
                topic, key=key, value=value, partition=partition, headers=named, on_delivery=delivered
            )
        except KafkaException as error:  # over the producer's own limit: not reported to the callback
            self._failed.append(f"{topic}: {error.args[0].str()}")

    def _flush(self) -> None:
        if left := self._producer.flush(FLUSH_SECONDS):
            raise NotProduced(
                f"{left} records unsent after {FLUSH_SECONDS:.0f} s. Run the replay again: nothing is sent twice"
            )
