"""Follows the pipeline's outputs on its topics, as any other reader does."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

from schemas.cards import Card, CardDiff
from schemas.codec import DeadLetter, decode
from schemas.diffs import PolicySkill, SkillDiff
from schemas.events import Contrast, RankedBy, Ranking
from schemas.skills import SlimSkill
from schemas.state import Profile
from streams.kafka.clients import client_config, no_group
from streams.kafka.scanner import int_of
from streams.settings import Settings

WATCHED = (Profile, Ranking, Contrast, SkillDiff, PolicySkill, SlimSkill, CardDiff, Card, DeadLetter)
STALLED_SECONDS = 45.0


class PipelineStalled(Exception):
    """The pipeline has written nothing new for too long."""


@dataclass
class PipelineOutputs:
    """The outputs so far, without duplicates; `rankings` are our ranker's."""

    interactions: dict[bytes, int] = field(default_factory=dict)
    rankings: dict[str, Ranking] = field(default_factory=dict)
    contrasts: dict[str, Contrast] = field(default_factory=dict)
    diffs: dict[str, SkillDiff] = field(default_factory=dict)
    skills: dict[tuple[str, str], bytes] = field(default_factory=dict)
    slims: dict[tuple[str, str], SlimSkill] = field(default_factory=dict)
    card_diffs: dict[tuple[str, int], CardDiff] = field(default_factory=dict)
    cards: dict[str, Card] = field(default_factory=dict)
    dead_letters: dict[str, DeadLetter] = field(default_factory=dict)

    def add(self, model: type, key: bytes, value: bytes) -> None:
        """Store one record."""
        if model is Profile:
            self.interactions[key] = orjson.loads(value)["interactions"]
            return
        if model is PolicySkill:  # stored as bytes: the fold must be equal byte for byte
            fields = orjson.loads(value)
            self.skills[fields["user_id"], fields["domain"]] = value
            return
        record: Any = decode(model, value)
        match record:
            case Ranking() if record.ranked_by is RankedBy.SAGER:
                self.rankings[record.ranking_id] = record
            case Contrast():
                self.contrasts[record.event_id] = record
            case SkillDiff():
                self.diffs[record.event_id] = record
            case SlimSkill():
                self.slims[record.user_id, record.domain] = record
            case CardDiff():
                self.card_diffs[record.user_id, record.version] = record
            case Card():
                self.cards[record.user_id] = record
            case DeadLetter():
                self.dead_letters[record.event_id] = record


class Observer:
    """Reads the pipeline's outputs from their beginning.

    While it waits it calls `check`, which raises if a process has died.
    """

    def __init__(self, settings: Settings, check: Callable[[], None], stalled_seconds: float = STALLED_SECONDS) -> None:
        self._check, self._stalled_seconds = check, stalled_seconds
        self.seen = PipelineOutputs()
        options = {"fetch.wait.max.ms": 50, "enable.partition.eof": True}
        self._consumer = Consumer(client_config(settings, **no_group("demo"), **options))
        self._topics = {settings.topic(model.TOPIC): model for model in WATCHED}
        self._next = {
            (name, partition): OFFSET_BEGINNING for name in self._topics for partition in range(settings.partitions)
        }
        self._unread: set[tuple[str, int]] = set()
        self._assign()

    def _assign(self) -> None:
        self._unread = set(self._next)
        self._consumer.assign([TopicPartition(*where, offset) for where, offset in self._next.items()])

    def poll(self, seconds: float = 0.0) -> int:
        """Read the arrived records, and return their number."""
        count = 0
        for message in self._consumer.consume(2_000, seconds):
            where, error = (str(message.topic()), int_of(message.partition())), message.error()
            if error is None:
                count += 1
                self._next[where] = int_of(message.offset()) + 1
                if (value := message.value()) is not None:
                    self.seen.add(self._topics[where[0]], message.key() or b"", value)
            elif error.code() == KafkaError._PARTITION_EOF:
                self._unread.discard(where)
        return count

    def read_to_end(self) -> None:
        """Read all records that the broker has now."""
        self._assign()  # librdkafka reports an end once per assignment
        self.wait(lambda: not self._unread, "end of the topics")

    def wait(self, done: Callable[[], bool], what: str, tick: Callable[[], None] = lambda: None) -> None:
        """Read records until `done`; raise `PipelineStalled` if none arrive for too long."""
        newest = time.monotonic()
        while not done():
            if self.poll(0.1):
                newest = time.monotonic()
            elif time.monotonic() - newest > self._stalled_seconds:
                letters = list(self.seen.dead_letters.values())
                refused = letters and f", and {len(letters)} dead letters, the first: {letters[0].detail}"
                raise PipelineStalled(f"no {what} for {self._stalled_seconds:.0f} s{refused or ''}")
            self._check()
            tick()

    def close(self) -> None:
        """Stop following."""
        self._consumer.close()
