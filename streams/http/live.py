"""What the server holds of topics that it follows: slim skills, skills and cards, as they are now, for every user.

A thread reads them from their beginning and then follows. Values are kept as they came, as bytes, and decoded when they
are asked for: at a million users that is the difference between seconds and minutes at a start.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

import orjson
from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, KafkaError, Message, TopicPartition

from schemas import BadRecord, Card, Event, GlobalSkill, PolicySkill, SlimSkill, compound_key, decode
from schemas.topics import TOPICS
from streams.kafka.clients import client_config, no_group
from streams.kafka.follower import partitions_of
from streams.kafka.packed import unpack
from streams.kafka.scanner import int_of
from streams.settings import Settings

READER = "http"
"""Part of the name that librdkafka requires instead of a group."""
POLL_SECONDS = 0.5
AT_ONCE = 500

EventT = TypeVar("EventT", bound=Event)


@dataclass(frozen=True, slots=True)
class Held:
    """The newest record of a key.

    Attributes:
        value: as it came, and maybe packed; None is a tombstone.
        partition, offset: where it was.
        at_ms: when it was written, in milliseconds since 1970.
    """

    value: bytes | None
    partition: int
    offset: int
    at_ms: int


Hear = Callable[[str, bytes, Held], None]
"""Called in the reading thread with a topic's registered name, a key and its record."""


class Live:
    """Follows topics in a thread. What it holds may be read from every thread.

    Args:
        settings: the deployment.
        others: topics that are read from their end on and kept nowhere, such as answers; with who hears of each record.
    """

    def __init__(self, settings: Settings, others: Mapping[str, Hear] | None = None) -> None:
        self._settings, self._others = settings, dict(others or {})
        self.slims: dict[bytes, Held] = {}
        self._skills: dict[bytes, Held] = {}
        self._cards: dict[bytes, Held] = {}
        self._templates: dict[bytes, Held] = {}
        self._kept = {
            SlimSkill.TOPIC: self.slims,
            PolicySkill.TOPIC: self._skills,
            Card.TOPIC: self._cards,
            GlobalSkill.TOPIC: self._templates,
        }
        self.positions: dict[int, int] = {}
        """The next offset of each partition of the slim skills."""
        self._hears: list[Hear] = []
        self._unread: set[tuple[str, int]] = set()
        self._ready, self._stop = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._follow, name="live", daemon=True)

    @property
    def is_ready(self) -> bool:
        """Whether all that was on the topics at the start has been read."""
        return self._ready.is_set()

    @property
    def has_failed(self) -> bool:
        """Whether the thread has ended by itself: what is held is outdated from then on."""
        return self._thread.ident is not None and not self._thread.is_alive() and not self._stop.is_set()

    def start(self) -> None:
        """Begins to follow; `is_ready` tells when it has caught up."""
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(10)

    def on_slim(self, hear: Hear) -> None:
        """Has somebody told of every slim skill and tombstone from now on, in the reading thread."""
        self._hears.append(hear)

    def slim(self, user: str, domain: str) -> SlimSkill | None:
        """The user's slim skill in this domain; None if there is none, or it is none."""
        key = compound_key(user, domain)
        return slim_of(key, self.slims.get(key))

    def skill(self, user: str, domain: str) -> PolicySkill | None:
        """The user's whole skill in this domain; None if there is none."""
        found = _decoded(PolicySkill, self._skills.get(compound_key(user, domain)))
        return found if found is not None and (found.user_id, found.domain) == (user, domain) else None

    def card(self, user: str) -> Card | None:
        """The user's card; None if there is none."""
        found = _decoded(Card, self._cards.get(user.encode()))
        return found if found is not None and found.user_id == user else None

    def shares(self, domain: str) -> Mapping[str, float] | None:
        """Which share of the domain's users holds an attribute; None where nobody has counted."""
        # Few, and asked for with every conditioned slim skill: a template is decoded each time, in microseconds.
        for held in tuple(self._templates.values()):
            found = _decoded(GlobalSkill, held)
            if found is not None and found.domain == domain:
                return found.shares
        return None

    def take(self, base: str, key: bytes, held: Held) -> None:
        """Takes a record in; called by the thread, and by tests.

        Args:
            base: the registered name of its topic.
            key: its key.
            held: the record.
        """
        if (other := self._others.get(base)) is not None:
            other(base, key, held)
            return
        table = self._kept[base]
        if base == SlimSkill.TOPIC and not _is_pair(key):  # written by nobody of ours
            return
        if held.value is None:
            table.pop(key, None)
        else:
            table[key] = held
        if base == SlimSkill.TOPIC:
            self.positions[held.partition] = held.offset + 1
            for hear in self._hears:
                hear(base, key, held)

    def _follow(self) -> None:
        settings = self._settings
        consumer = Consumer(
            client_config(
                settings,
                **no_group(READER),
                **{"enable.partition.eof": True, "auto.offset.reset": "earliest", "fetch.wait.max.ms": 100},
            )
        )
        bases = {settings.topic(base): base for base in (*self._kept, *self._others)}
        try:
            chosen = []
            for name, base in bases.items():
                begin = OFFSET_BEGINNING if base in self._kept else OFFSET_END
                chosen += [TopicPartition(name, each, begin) for each in partitions_of(consumer, name, self._stop)]
            if self._stop.is_set():
                return
            self._unread = {(each.topic, each.partition) for each in chosen}
            consumer.assign(chosen)
            while not self._stop.is_set():
                # `consume` alone would wait until there are so many.
                first = consumer.poll(POLL_SECONDS)
                for message in [] if first is None else [first, *consumer.consume(AT_ONCE - 1, 0)]:
                    self._on_message(bases, message)
                if not self._unread:
                    self._ready.set()
        finally:
            self._ready.clear()  # what is not followed any more is not told as if it were
            consumer.close()

    def _on_message(self, bases: Mapping[str, str], message: Message) -> None:
        error, topic, partition = message.error(), message.topic() or "", int_of(message.partition())
        if error is None:
            held = Held(message.value(), partition, int_of(message.offset()), message.timestamp()[1])
            self.take(bases[topic], message.key() or b"", held)
        elif error.code() == KafkaError._PARTITION_EOF:
            self._unread.discard((topic, partition))


def _is_pair(key: bytes) -> bool:
    """Whether a key names a user and a domain."""
    try:
        match orjson.loads(key):
            case [str(), str()]:
                return True
    except orjson.JSONDecodeError:
        pass
    return False


def slim_of(key: bytes, held: Held | None) -> SlimSkill | None:
    """The slim skill of a record; None for a tombstone, for what is none, and for one under another's key."""
    found = _decoded(SlimSkill, held)
    return found if found is not None and compound_key(found.user_id, found.domain) == key else None


def _decoded(kind: type[EventT], held: Held | None) -> EventT | None:
    if held is None or held.value is None:
        return None
    value = unpack(held.value) if TOPICS[kind.TOPIC].packed else held.value
    try:
        return decode(kind, value)
    except BadRecord:  # the materializer, which reads these topics too, puts it away as a dead letter
        return None
