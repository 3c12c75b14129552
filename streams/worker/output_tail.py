"""The ends of output topics: read when a worker may have died before it sent a version.

A skill is written before its diff is sent. A successor finds the skill with the diff in it, and cannot see from the
table whether the diff was sent. So it reads the end of the log, once per partition and generation, and only for a skill
whose event is not acknowledged yet: nothing is lost, and no version is in the log twice. Cards work the same way, and
outcomes by their id.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import orjson
from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, TopicPartition

from schemas import TOPICS, BadRecord, CardDiff, Outcome, SkillDiff, SlimSkill, compound_key, decode, key_start
from streams.kafka.scanner import Scanner
from streams.lru import LruCache
from streams.settings import Settings

logger = logging.getLogger("sager.worker")

MARGIN_MS = 600_000
"""Clocks of machines differ: a diff may carry a time before that of the event it answers."""
LEAST_RECORDS = 2_000
"""Read at least, for events whose producer's clock is far ahead."""
READ_SECONDS = 60.0
MARKS = 50_000
"""Users whose last sending is remembered: more than can be in flight and finished behind a slow event."""

DiffT = TypeVar("DiffT", SkillDiff, CardDiff)


class Newest(NamedTuple):
    """The newest version on a topic, with the text of a slim skill."""

    version: int
    text: str = ""


Tail = dict[bytes, Newest]
"""By the key of `_entry`: the newest version in the part of a partition that was read."""


class _Reading(NamedTuple):
    since_ms: int
    begun: float
    tail: "asyncio.Task[Tail]"


class OutputTail:
    """Reads the ends of skill-diffs, slim-skills, card-diffs and outcomes, as far back as needed.

    `generation` returns the consumer generation; after a rebalance the ends are read again.
    """

    def __init__(self, settings: Settings, generation: Callable[[], int]) -> None:
        self._settings, self._generation = settings, generation
        self._of_generation = -1
        self._tails: dict[tuple[str, int], _Reading] = {}
        self._here: LruCache[bytes, int] = LruCache(MARKS)

    def mark_sent(self, key: bytes, version: int) -> None:
        """Remember that this process has sent all of a version."""
        self._here.put(key, version)

    def is_marked(self, key: bytes, version: int) -> bool:
        """Return true if this process has sent all of the version, or a newer one."""
        return (self._here.get(key) or 0) >= version

    def forget(self, key: bytes) -> None:
        """Drop an erased skill or card: its versions start again at 1."""
        self._here.drop(key)

    async def newest(
        self, topic: str, partition: int, key: bytes, from_ms: int, since: float | None = None
    ) -> Newest | None:
        """Return the newest version at the end of a topic's partition; None if there is none.

        The key of a skill is `["user","domain"]`, of a card the beginning `["user",`, of an outcome its id. The version
        was not sent before `from_ms`; the end must have been read after `since`, a moment of the monotonic clock.
        """
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
        try:
            tail = await asyncio.shield(known.tail)
        except Exception:
            if self._tails.get(where) is known:  # the next attempt reads again
                del self._tails[where]
            raise
        return tail.get(key)

    def _read(self, base: str, partition: int, since_ms: int) -> Tail:
        began, count = time.monotonic(), 0
        tail: Tail = {}
        with Scanner(self._settings) as scanner:
            where = TopicPartition(self._settings.topic(base), partition, OFFSET_BEGINNING)
            for message in scanner.read([_start(scanner, where, since_ms)]):
                count += 1
                _add(tail, base, message.key() or b"", message.value())
                if time.monotonic() - began > READ_SECONDS:
                    raise TimeoutError(f"the end of {base}[{partition}] was not reached within {READ_SECONDS:.0f} s")
        logger.info("read the last %d records of %s[%d]", count, base, partition)
        return tail


def _start(scanner: Scanner, where: TopicPartition, since_ms: int) -> TopicPartition:
    [found] = scanner.since([where], since_ms)
    end = scanner.end(where)
    by_time = end if found.offset == OFFSET_END else found.offset
    return TopicPartition(where.topic, where.partition, max(0, min(by_time, end - LEAST_RECORDS)))


def _add(tail: Tail, base: str, key: bytes, value: bytes | None) -> None:
    if value is None:  # erased: its versions begin again
        try:
            owner, domain, *_ = orjson.loads(key)
            tail.pop(key_start(owner) if base == CardDiff.TOPIC else compound_key(owner, domain), None)
        except (ValueError, TypeError):
            pass
        return
    try:
        name, found = _entry(base, value)
    except BadRecord:  # the materializer dead-letters it
        return
    known = tail.get(name)
    if known is None or known.version <= found.version:
        tail[name] = found


def _entry(base: str, value: bytes) -> tuple[bytes, Newest]:
    match decode(TOPICS[base].model, value):
        case SkillDiff() as diff:
            return compound_key(diff.user_id, diff.domain), Newest(diff.version)
        case SlimSkill() as slim:
            return compound_key(slim.user_id, slim.domain), Newest(slim.skill_version, slim.text)
        case CardDiff() as card_diff:
            return key_start(card_diff.user_id), Newest(card_diff.version)
        case Outcome() as outcome:
            return outcome.event_id.encode(), Newest(1)
    raise AssertionError(f"the end of {base} is never read")


def read_versions(settings: Settings, model: type[DiffT], partition: int, start: bytes) -> list[DiffT]:
    """Return all versions under keys with this start, in order; of two records with one key the newer one."""
    found: dict[bytes, DiffT] = {}
    with Scanner(settings) as scanner:
        where = TopicPartition(settings.topic(model.TOPIC), partition, OFFSET_BEGINNING)
        for message in scanner.read([where]):
            key = message.key() or b""
            if not key.startswith(start):
                continue
            found.pop(key, None)
            try:
                found[key] = decode(model, message.value())
            except BadRecord:  # a tombstone, or a record that the materializer dead-letters
                continue
    return sorted(found.values(), key=lambda diff: diff.version)
