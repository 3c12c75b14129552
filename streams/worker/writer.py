"""Writes versions of skills and cards, each once: table, then log.

1. The value is written to its table, with its newest diff inside.
2. The diff is sent to the log, and the slim skill to its topic.
3. If the worker dies in between, its successor sends the diff, unless the log has it.

To find that out, the successor reads the end of the log, once per partition and generation, and only for a value whose
event is not acknowledged yet.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

import orjson
from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, TopicPartition

from operators.cards.fold import CardOutOfOrder
from operators.learning.fold import OutOfOrder
from operators.seals import seal_log
from schemas import TOPICS, BadRecord, Card, CardDiff, PolicySkill, SkillDiff, SlimSkill, compound_key, decode, encode
from schemas.weights import RankingOutcome
from streams.caching import LruCache
from streams.kafka.scanner import Scanner
from streams.settings import Settings
from streams.worker.runtime.batches import BatchReader
from streams.worker.runtime.producer import Producer
from streams.worker.tables import StateTable

logger = logging.getLogger("sager.worker")

# Clocks differ between machines: a diff may have an earlier time than its event.
CLOCK_MARGIN_MS = 600_000
# Minimum to read, for events from a producer whose clock is far ahead.
MIN_RECORDS = 2_000
# Concurrent sends for one user: a long log would fill the producer's queue.
SENDS_PER_BATCH = 200
# More users than can have finished events behind a slow one.
MAX_MARKS = 50_000

DiffT = TypeVar("DiffT", SkillDiff, CardDiff)


class NewestVersion(NamedTuple):
    """The newest version on a topic; for slim skills, its text."""

    version: int
    text: str = ""


# Newest versions in the part of a partition that was read, by the key of `_entry`.
Tail = dict[bytes, NewestVersion]


class _TailRead(NamedTuple):
    since_ms: int
    begun: float
    tail: "asyncio.Task[Tail]"


class OutputTail:
    """Reads the ends of output topics, again after each rebalance."""

    def __init__(self, settings: Settings, generation: Callable[[], int]) -> None:
        self._settings, self._generation = settings, generation
        self._of_generation = -1
        self._tails: dict[tuple[str, int], _TailRead] = {}

    async def newest(
        self, topic: str, partition: int, key: bytes, from_ms: int, since: float | None = None
    ) -> NewestVersion | None:
        """Return the newest version at the end of a partition, if any.

        `key` is that of the skill or card in its table, or the id of the outcome. Versions sent
        before `from_ms` may be missed. An end that was read before `since` (monotonic seconds) is read again.
        """
        if self._generation() != self._of_generation:
            self._of_generation = self._generation()
            self._tails.clear()
        needed, where = from_ms - CLOCK_MARGIN_MS, (topic, partition)
        known = self._tails.get(where)
        if known is None or needed < known.since_ms or (since is not None and known.begun < since):
            # Twice the margin, so that a slightly older event of the next user needs no second reading.
            since_ms = max(0, needed - CLOCK_MARGIN_MS)
            reading = asyncio.create_task(asyncio.to_thread(self._read, topic, partition, since_ms))
            known = self._tails[where] = _TailRead(since_ms, time.monotonic(), reading)
        try:
            tail = await asyncio.shield(known.tail)
        except Exception:
            if self._tails.get(where) is known:  # the next attempt reads again
                del self._tails[where]
            raise
        return tail.get(key)

    def _read(self, base: str, partition: int, since_ms: int) -> Tail:
        count, tail = 0, Tail()
        with Scanner(self._settings) as scanner:
            where = TopicPartition(self._settings.topic(base), partition, OFFSET_BEGINNING)
            for message in scanner.read([_start(scanner, where, since_ms)]):
                count += 1
                _add(tail, base, message.key() or b"", message.value())
        logger.info("read the last %d records of %s[%d]", count, base, partition)
        return tail


def _start(scanner: Scanner, where: TopicPartition, since_ms: int) -> TopicPartition:
    [found] = scanner.from_time([where], since_ms)
    end = scanner.end(where)
    by_time = end if found.offset == OFFSET_END else found.offset
    return TopicPartition(where.topic, where.partition, max(0, min(by_time, end - MIN_RECORDS)))


def _add(tail: Tail, base: str, key: bytes, value: bytes | None) -> None:
    if value is None:  # erased: versions start again at 1
        try:
            owner, domain, *_ = orjson.loads(key)
            tail.pop(owner.encode() if base == CardDiff.TOPIC else compound_key(owner, domain), None)
        except (ValueError, TypeError, AttributeError):
            pass
        return
    try:
        name, found = _entry(base, value)
    except BadRecord:  # the materializer dead-letters it
        return
    known = tail.get(name)
    if known is None or known.version <= found.version:
        tail[name] = found


def _entry(base: str, value: bytes) -> tuple[bytes, NewestVersion]:
    match decode(TOPICS[base].model, value):
        case SkillDiff() as diff:
            return compound_key(diff.user_id, diff.domain), NewestVersion(diff.version)
        case SlimSkill() as slim:
            return compound_key(slim.user_id, slim.domain), NewestVersion(slim.skill_version, slim.text)
        case CardDiff() as card_diff:
            return card_diff.user_id.encode(), NewestVersion(card_diff.version)
        case RankingOutcome() as outcome:
            return outcome.event_id.encode(), NewestVersion(1)
    raise AssertionError(f"the end of {base} is not needed")


def read_versions(settings: Settings, model: type[DiffT], partition: int, start: bytes) -> list[DiffT]:
    """Return all versions under keys with this start, in order."""
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


ValueT = TypeVar("ValueT", PolicySkill, Card)


class LogIncomplete(Exception):
    """A log has gaps, so it cannot be rewritten."""


class VersionedWriter(Generic[ValueT, DiffT]):
    """Writes versions of one kind of value; callers hold the user's lock."""

    def __init__(
        self,
        reader: BatchReader,
        table: StateTable[ValueT],
        producer: Producer,
        settings: Settings,
        diff: type[DiffT],
        fold: Callable[[Sequence[DiffT]], Mapping[Any, ValueT]],
    ) -> None:
        self._reader, self._producer, self._settings = reader, producer, settings
        self._table: StateTable[ValueT] = table
        self._diff: type[DiffT] = diff
        self._fold: Callable[[Sequence[DiffT]], Mapping[Any, ValueT]] = fold
        self._tail = OutputTail(settings, producer.generation)
        # The newest version with all records sent by this process, by key.
        self._sent: LruCache[bytes, int] = LruCache(MAX_MARKS)

    def _key(self, value: ValueT) -> bytes:
        return TOPICS[self._table.name].key_of(value)

    async def write(self, event: Any, value: ValueT, records: Sequence[DiffT | SlimSkill]) -> None:
        """Write a version, then send its records."""
        await self._table.write(event, self._key(value), value)
        await self.send(event, value, records)

    async def send(self, event: Any, value: ValueT, records: Sequence[DiffT | SlimSkill]) -> None:
        """Send the records of a version that is in its table."""
        await asyncio.gather(*(self._send(event, record, self._key(value)) for record in records))
        self._sent.put(self._key(value), value.version)

    async def _send(self, event: Any, record: DiffT | SlimSkill, name: bytes) -> None:
        topic, partition = TOPICS[record.TOPIC], event.partition
        # A slim skill may be sent twice, as its topic is compacted.
        is_logged = None if isinstance(record, SlimSkill) else partial(self._is_logged, partition, record, name)
        await self._producer.send(event, topic.base, topic.key_of(record), encode(record), partition, is_logged)

    async def _is_logged(self, partition: int, diff: DiffT, name: bytes) -> bool:
        # An earlier attempt may have arrived, with only its acknowledgement lost.
        found = await self._tail.newest(diff.TOPIC, partition, name, _answered_ms(diff), time.monotonic())
        return found is not None and found.version >= diff.version

    async def _unsent(
        self, event: Any, value: ValueT, pending: Collection[str], *topics: str
    ) -> list[NewestVersion | None]:
        """Return the newest version on these topics; empty if all was sent.

        `pending` holds the ids of events that are acknowledged but unfinished.
        """
        last = value.last_diff
        if last is None or (self._sent.get(self._key(value)) or 0) >= value.version:
            return []
        if last.event_id not in pending and (last.source is None or self._reader.is_acknowledged(last.source)):
            return []
        # Concurrently, as the first choice after a takeover waits for them.
        where = event.partition, self._key(value), _answered_ms(last)
        asks = [(f"reading the end of {topic}", partial(self._tail.newest, topic, *where)) for topic in topics]
        return await asyncio.gather(*(self._producer.retry(event, *ask) for ask in asks))

    async def _erase(self, event: Any, value: ValueT, diffs: Sequence[bytes], *others: tuple[str, bytes]) -> None:
        await self._send_all(event, [(self._diff.TOPIC, key, None) for key in diffs])
        await self._send_all(event, [(topic, key, None) for topic, key in others])
        # Last: a repeated request reads from it which versions to remove.
        await self._table.delete(event, self._key(value))
        self._sent.drop(self._key(value))  # its versions start again at 1

    async def _log(self, event: Any, start: bytes, version: int) -> list[DiffT]:
        ask = partial(asyncio.to_thread, read_versions, self._settings, self._diff, event.partition, start)
        log: list[DiffT] = await self._producer.retry(event, f"reading {self._diff.TOPIC}", ask)
        return [each for each in log if each.version <= version]

    async def _rewrite(
        self, event: Any, log: Sequence[DiffT], changed: Sequence[DiffT], version: int
    ) -> tuple[ValueT, DiffT]:
        """Replace a log by changed versions; return its fold and last version.

        `changed` may have one more version than the log, which is not sent. Raises LogIncomplete, with nothing sent, if
        the result is not at this version.
        """
        sealed = seal_log(changed, self._settings.chain_key_bytes)
        try:
            value = next(iter(self._fold(sealed).values()), None)
        except (OutOfOrder, CardOutOfOrder) as error:
            raise LogIncomplete(str(error)) from error
        if value is None or value.version != version:
            raise LogIncomplete(f"the log is at version {value.version if value else 0}, not at {version}")
        key_of = TOPICS[self._diff.TOPIC].key_of
        differ = [new for old, new in zip(log, sealed, strict=False) if new != old]
        await self._send_all(event, [(self._diff.TOPIC, key_of(each), encode(each)) for each in differ])
        return value, sealed[-1]

    async def _send_all(self, event: Any, records: Sequence[tuple[str, bytes, bytes | None]]) -> None:
        send, partition = self._producer.send, event.partition
        for start in range(0, len(records), SENDS_PER_BATCH):
            await asyncio.gather(*(send(event, *each, partition) for each in records[start : start + SENDS_PER_BATCH]))


def _answered_ms(diff: DiffT) -> int:
    """Return when Kafka logged a version's event, before its diff."""
    return 0 if diff.source is None else diff.source.timestamp_ms
