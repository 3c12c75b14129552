"""What is on an output topic already: read when a worker may have died before sending it.

A skill is written before its diff is sent. Whoever takes over finds the skill with the diff in it, and cannot tell
from the table whether the diff went out. So the end of the log is read, once per partition and generation, and only
when there is a skill whose event is not acknowledged yet: nothing is lost, and no version is in the log twice. The
same goes for what a choice tells of the weights, by its id.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import orjson
from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Message, TopicPartition

from schemas import (
    BadRecord,
    Card,
    CardDiff,
    Outcome,
    PolicySkill,
    SkillDiff,
    SlimSkill,
    compound_key,
    decode,
    key_start,
)
from streams.kafka.scanner import Scanner
from streams.lru import LruCache
from streams.settings import Settings

logger = logging.getLogger("sager.worker")

MARGIN_MS = 600_000
"""Clocks of machines differ: a diff may carry a time before that of the event it answers."""
LEAST_RECORDS = 2_000
"""Read at least, for events whose producer's clock is far ahead."""
READ_SECONDS = 60.0
NOTES = 50_000
"""Users whose last sending is remembered: more than can be in flight and finished behind a slow event."""


@dataclass(frozen=True)
class Newest:
    """The newest version on a topic, with the text of a slim skill."""

    version: int
    text: str = ""


Tail = dict[bytes, Newest]
"""By compound key: the newest version in the part of a partition that was read. Of outcomes: by id. Of cards: by the
beginning of their keys."""
_THERE = Newest(1)


class _Reading(NamedTuple):
    """A tail that was read, or is being read."""

    since_ms: int
    begun: float
    tail: "asyncio.Task[Tail]"


class Sent:
    """Reads the ends of skill-diffs, slim-skills, card-diffs and outcomes, as far back as needed.

    Args:
        settings: the deployment.
        generation: the consumer generation now; with every new one the ends are read anew.
    """

    def __init__(self, settings: Settings, generation: Callable[[], int]) -> None:
        self._settings = settings
        self._generation = generation
        self._of_generation = -1
        self._tails: dict[tuple[str, int], _Reading] = {}
        self._here: LruCache[bytes, int] = LruCache(NOTES)

    def note(self, skill: PolicySkill) -> None:
        """Remember that this process has sent all of the skill's newest version."""
        self._here.put(compound_key(skill.user_id, skill.domain), skill.version)

    def is_noted(self, skill: PolicySkill) -> bool:
        """Whether this process has sent all of this version."""
        return (self._here.get(compound_key(skill.user_id, skill.domain)) or 0) >= skill.version

    def forget(self, key: bytes) -> None:
        """Drop a deleted skill: its versions start again at 1."""
        self._here.drop(key)

    async def newest(self, topic: str, partition: int, skill: PolicySkill, since: float | None = None) -> Newest | None:
        """The skill's newest record on a topic's partition; None if its end holds none.

        Args:
            topic: `skill-diffs` or `slim-skills`.
            partition: the user's.
            skill: its last diff names the event that it answers, and so how far back to read.
            since: the end must have been read after this moment of the monotonic clock.

        Raises:
            BrokerUnreachable, TimeoutError: the broker does not answer.
        """
        source = skill.last_diff.source if skill.last_diff is not None else None
        needed = source.timestamp_ms if source is not None else 0
        tail = await self._tail(topic, partition, needed, since)
        return tail.get(compound_key(skill.user_id, skill.domain))

    def note_card(self, user_id: str, version: int) -> None:
        """Remember that this process has sent this version of a card."""
        self._here.put(key_start(user_id), version)

    def is_card_noted(self, card: Card) -> bool:
        """Whether this process has sent the card's newest version, or found it on the log."""
        return (self._here.get(key_start(card.user_id)) or 0) >= card.version

    async def newest_of_card(self, partition: int, card: Card, since: float | None = None) -> Newest | None:
        """The card's newest version on the log; None if its end holds none. As `newest`."""
        source = card.last_diff.source if card.last_diff is not None else None
        needed = source.timestamp_ms if source is not None else 0
        tail = await self._tail(CardDiff.TOPIC, partition, needed, since)
        return tail.get(key_start(card.user_id))

    async def has(self, outcome: Outcome, partition: int, from_ms: int, since: float | None = None) -> bool:
        """Whether an outcome with this id is on its topic.

        Args:
            outcome: what may have been sent.
            partition: its domain's.
            from_ms: it was not sent before this time.
            since: the end must have been read after this moment of the monotonic clock.

        Raises:
            BrokerUnreachable, TimeoutError: the broker does not answer.
        """
        return outcome.event_id.encode() in await self._tail(outcome.TOPIC, partition, from_ms, since)

    async def _tail(self, topic: str, partition: int, from_ms: int, since: float | None) -> Tail:
        """The end of a partition, from some minutes before this time on; read once, where it reaches far enough."""
        if self._generation() != self._of_generation:
            self._of_generation = self._generation()
            self._tails.clear()
        needed, where = from_ms - MARGIN_MS, (topic, partition)
        known = self._tails.get(where)
        if known is None or needed < known.since_ms or (since is not None and known.begun < since):
            # Once more the margin, so that the next user, whose event is a little older, needs no second reading.
            since_ms = max(0, needed - MARGIN_MS)
            reading = asyncio.create_task(asyncio.to_thread(self._read, topic, partition, since_ms))
            known = self._tails[where] = _Reading(since_ms, time.monotonic(), reading)
        task = known.tail
        try:
            tail = await asyncio.shield(task)
        except Exception:
            # Whoever tries again reads again.
            if where in self._tails and self._tails[where].tail is task:
                del self._tails[where]
            raise
        return tail

    def _read(self, base: str, partition: int, since_ms: int) -> Tail:
        """All versions of a partition from a time on."""
        name = self._settings.topic(base)
        tail: Tail = {}
        began, count = time.monotonic(), 0
        with Scanner(self._settings) as scanner:
            for message in scanner.read([_start(scanner, TopicPartition(name, partition, OFFSET_BEGINNING), since_ms)]):
                count += 1
                _add(tail, base, message)
                if time.monotonic() - began > READ_SECONDS:
                    raise TimeoutError(f"the end of {base}[{partition}] was not reached within {READ_SECONDS:.0f} s")
        logger.info("read the last %d records of %s[%d]", count, base, partition)
        return tail


def _start(scanner: Scanner, where: TopicPartition, since_ms: int) -> TopicPartition:
    [found] = scanner.since([where], since_ms)
    end = scanner.end(where)
    by_time = end if found.offset == OFFSET_END else found.offset
    # Where this lies before the log's beginning, it is read from there.
    return TopicPartition(where.topic, where.partition, max(0, min(by_time, end - LEAST_RECORDS)))


def _forget(tail: Tail, base: str, key: bytes) -> None:
    """A tombstone: what was sent before it is no more, and its versions are given again."""
    try:
        owner, domain, *_ = orjson.loads(key)
        tail.pop(key_start(owner) if base == CardDiff.TOPIC else compound_key(owner, domain), None)
    except (ValueError, TypeError):
        return


def _add(tail: Tail, base: str, message: Message) -> None:
    value = message.value()
    if value is None:
        _forget(tail, base, message.key() or b"")
        return
    try:
        if base == SkillDiff.TOPIC:
            diff = decode(SkillDiff, value)
            key, found = compound_key(diff.user_id, diff.domain), Newest(diff.version)
        elif base == CardDiff.TOPIC:
            told = decode(CardDiff, value)
            key, found = key_start(told.user_id), Newest(told.version)
        elif base == Outcome.TOPIC:
            key, found = decode(Outcome, value).event_id.encode(), _THERE
        else:
            slim = decode(SlimSkill, value)
            key, found = compound_key(slim.user_id, slim.domain), Newest(slim.skill_version, slim.text)
    except BadRecord:  # not of our making; the materializer dead-letters it
        return
    known = tail.get(key)
    if known is None or known.version <= found.version:
        tail[key] = found
