"""What the demo sees of the pipeline: the public topics, as any other reader sees them."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import orjson
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, TopicPartition

from schemas import (
    Card,
    CardDiff,
    Contrast,
    DeadLetter,
    PolicySkill,
    Profile,
    RankedBy,
    Ranking,
    SkillDiff,
    SlimSkill,
    decode,
)
from streams.kafka.clients import client_config, no_group
from streams.kafka.packed import unpack
from streams.kafka.scanner import int_of
from streams.settings import Settings

WATCHED = (Profile, Ranking, Contrast, SkillDiff, PolicySkill, SlimSkill, CardDiff, Card, DeadLetter)
STALLED_SECONDS = 45.0


class Stalled(Exception):
    """The pipeline has shown nothing new for too long."""


@dataclass
class Seen:
    """What has come out so far, repeated deliveries folded away."""

    interactions: dict[bytes, int] = field(default_factory=dict)
    rankings: dict[str, Ranking] = field(default_factory=dict)
    """Our ranker's answers, by ranking id."""
    contrasts: dict[str, Contrast] = field(default_factory=dict)
    diffs: dict[str, SkillDiff] = field(default_factory=dict)
    skills: dict[tuple[str, str], bytes] = field(default_factory=dict)
    slims: dict[tuple[str, str], SlimSkill] = field(default_factory=dict)
    card_diffs: dict[tuple[str, int], CardDiff] = field(default_factory=dict)
    cards: dict[str, Card] = field(default_factory=dict)
    dead_letters: dict[str, DeadLetter] = field(default_factory=dict)
    reasoned: list[SkillDiff | Ranking] = field(default_factory=list)
    """Diffs and our rankings in the order in which they came: each says which reasoner made it."""


class Observer:
    """Follows the pipeline's outputs from their beginning.

    Args:
        settings: where the broker is.
        check: called while waiting; raises if a process has died.
        patience_seconds: how long nothing new may come before that is called a stall.
    """

    def __init__(
        self, settings: Settings, check: Callable[[], None], patience_seconds: float = STALLED_SECONDS
    ) -> None:
        self._check = check
        self._patience = patience_seconds
        self.seen = Seen()
        own = {"fetch.wait.max.ms": 50, "enable.partition.eof": True}
        self._consumer = Consumer(client_config(settings, **no_group("demo"), **own))
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
        """Read the records that have arrived here; returns their number."""
        count = 0
        for message in self._consumer.consume(2_000, seconds):
            where, error = (str(message.topic()), int_of(message.partition())), message.error()
            if error is None:
                count += 1
                self._next[where] = int_of(message.offset()) + 1
                if message.value() is not None:
                    self._take(message)
            elif error.code() == KafkaError._PARTITION_EOF:
                self._unread.discard(where)
        return count

    def read_to_end(self) -> None:
        """Read every record that the broker holds by now.

        Raises:
            Stalled: the broker does not answer.
        """
        self._assign()  # librdkafka reports an end once per assignment
        self.wait(lambda: not self._unread, "end of the topics")

    def wait(self, done: Callable[[], bool], what: str, tick: Callable[[], None] = lambda: None) -> None:
        """Take records until `done`.

        Raises:
            Stalled: nothing new came for longer than our patience.
        """
        heard = time.monotonic()
        while not done():
            if self.poll(0.1):
                heard = time.monotonic()
            elif time.monotonic() - heard > self._patience:
                raise Stalled(f"no {what} for {self._patience:.0f} s{self._refusals()}")
            self._check()
            tick()

    def _refusals(self) -> str:
        letters = list(self.seen.dead_letters.values())
        if not letters:
            return ""
        return f", and {len(letters)} dead letters, the first from {letters[0].stage}: {letters[0].detail}"

    def _take(self, message: Message) -> None:
        model, value, seen = self._topics[message.topic() or ""], unpack(message.value() or b""), self.seen
        if model is Profile:
            seen.interactions[message.key() or b""] = orjson.loads(value)["interactions"]
        elif model is Ranking:
            self._take_ranking(decode(Ranking, value))
        elif model is Contrast:
            contrast = decode(Contrast, value)
            seen.contrasts[contrast.event_id] = contrast
        elif model is SkillDiff:
            diff = decode(SkillDiff, value)
            if diff.event_id not in seen.diffs:
                seen.reasoned.append(diff)
            seen.diffs[diff.event_id] = diff
        elif model is PolicySkill:
            head = orjson.loads(value)
            seen.skills[head["user_id"], head["domain"]] = value
        elif model is SlimSkill:
            slim = decode(SlimSkill, value)
            seen.slims[slim.user_id, slim.domain] = slim
        elif model is CardDiff:
            said = decode(CardDiff, value)
            seen.card_diffs[said.user_id, said.version] = said  # written anew, it takes the place of the first
        elif model is Card:
            card = decode(Card, value)
            seen.cards[card.user_id] = card
        else:
            letter = decode(DeadLetter, value)
            seen.dead_letters[letter.event_id] = letter

    def _take_ranking(self, ranking: Ranking) -> None:
        # What an app has shown comes on the same topic.
        if ranking.ranked_by is RankedBy.SAGER and ranking.ranking_id not in self.seen.rankings:
            self.seen.rankings[ranking.ranking_id] = ranking
            self.seen.reasoned.append(ranking)

    def close(self) -> None:
        """End following."""
        self._consumer.close()
