"""The parts that all agents share: app, tables, caches, and sends that arrive before an event is acknowledged."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import faust
from faust.types import TP

from operators.contrast import SLOTS, RingLimits
from operators.language.ports import Found
from operators.propagate import GraphLimits
from operators.statinit import parser_for, read_item, vocabulary_for
from operators.steps import Start
from schemas.base import Model
from schemas.codec import ModelT, decode, encode
from schemas.forgetting import Receipt, subject_of
from schemas.items import Candidate, Fact, ItemFacts
from schemas.memory import Memory
from schemas.skills import Position
from schemas.state import OpenRankings
from schemas.topics import TOPICS, compound_key
from streams.kafka.clients import partition_of
from streams.language import joined_vocabulary
from streams.lru import LruCache
from streams.privacy import privacy_of
from streams.pseudonyms import ranking_key, secret_of
from streams.settings import Settings
from streams.steps import limits_of
from streams.worker import metrics
from streams.worker.items.shared import Items
from streams.worker.reasoning.domains import GlobalSkills, LearnedWeights
from streams.worker.runtime.membership import Membership
from streams.worker.runtime.ordered import Stale
from streams.worker.runtime.outlet import Delivered, Full, MessageSizeTooLarge, Outlet
from streams.worker.runtime.reader import Reader, Taken
from streams.worker.runtime.repairs import DeliveredTable

logger = logging.getLogger("sager.worker")

PARSED_ITEMS, DECODED_VALUES, HANDED_OVER = 20_000, 4_000, 1_000
FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS, FULL_SECONDS = 0.2, 10.0, 0.01
REQUEST_BYTES = 4 * 1024 * 1024

_Result = TypeVar("_Result")


class Pipeline:
    """One worker's parts. Tables hold keys and values as bytes, as on their changelogs.

    `timers` run beside the agents for as long as the worker does. `progressed` is the last moment at which an event was
    finished, by the monotonic clock, for the watchdog. `newest_ms` is the newest Kafka timestamp of the events that the
    worker has read, without requests to forget.
    """

    def __init__(self, app: Any, settings: Settings, tables: Mapping[str, DeliveredTable]) -> None:
        self.app, self.settings, self.tables = app, settings, tables
        self.skills, self.profiles, self.memories = tables["skills"], tables["profiles"], tables["memories"]
        self.open_rankings, self.receipts = tables["open-rankings"], tables["receipts"]
        self.cards, self.conversations, self.weights = tables["cards"], tables["conversations"], tables["weights"]
        self.reader: Reader = app.reader
        self.outlet = Outlet(settings)
        self.global_skills, self.learned_weights = GlobalSkills(settings), LearnedWeights(settings)
        self.timers: list[Callable[[], Awaitable[None]]] = []
        self.progressed = time.monotonic()
        self.newest_ms = 0
        self.privacy = privacy_of(settings)
        self.merge_limits = limits_of(settings)
        self.ring_limits = RingLimits(
            rankings=settings.open_rankings // SLOTS, waiting=settings.waiting_selections // SLOTS
        )
        self.graph_limits = GraphLimits(
            floor=settings.support_floor, fan_out=settings.fan_out, secret=secret_of(settings)
        )
        self.ranking_key = ranking_key(settings)
        self.items = Items(settings, self.graph_limits)
        self.start = Start(
            self.merge_limits, privacy=self.privacy, from_history=settings.statinit, from_template=settings.cold_start
        )
        self._next_offset: dict[tuple[str, int], int] = {}
        self._decoded: LruCache[tuple[str, bytes], tuple[bytes, Model]] = LruCache(DECODED_VALUES)
        self._handed: LruCache[bytes, Model] = LruCache(HANDED_OVER)
        self._parsed: LruCache[tuple[str, str], tuple[Candidate, ItemFacts]] = LruCache(PARSED_ITEMS)
        self._locks: WeakValueDictionary[tuple[str, bytes], asyncio.Lock] = WeakValueDictionary()
        self.reader.on_ack(self._note_acknowledged)

    @property
    def graph(self) -> GraphLimits | None:
        """The limits of the user-item graph; None if it is off."""
        return self.graph_limits if self.settings.propagate else None

    def receipt(self, user_id: str) -> Receipt | None:
        """Return the user's receipt; None if they never asked to be forgotten."""
        return self.read(self.receipts, subject_of(user_id).encode(), Receipt)

    def forget_epoch(self, user_id: str) -> str:
        """Return a cache-busting token that changes after any erasure for this user."""
        raw = self.receipts.get(subject_of(user_id).encode())
        return "" if raw is None else str(hash(raw))

    def facts_of(self, domain: str, candidate: Candidate) -> ItemFacts:
        """Return the facts of an item that may be learned, by the domain's parser; popular items are parsed once."""
        key = (domain, candidate.item_id)
        known = self._parsed.get(key)
        # pydantic's own comparison takes twice the time, ten times a choice.
        if known is not None and vars(known[0]) == vars(candidate):
            return known[1]
        read = read_item(candidate, domain, parser_for(domain, self.settings.parsers), self.privacy)
        _count_private(read.found)
        if read.failure:
            logger.warning("an item of %s cannot be read (%s): nothing is learned from it", domain, read.failure)
        self._parsed.put(key, (candidate, read.facts))
        return read.facts

    async def vocabulary(self, user_id: str, domain: str) -> tuple[Fact, ...]:
        """Return the facts that a user's words about a domain can name.

        They come from the user's own lists, the parser's closed vocabulary, the global skill, and the tastes that
        several takers of the graph's items share, so that all workers agree on them.
        """
        closed = vocabulary_for(domain, self.settings.parsers)
        shared = await self.items.tastes(domain) if self.graph is not None else ()
        population = self.global_skills.vocabulary(domain)
        return joined_vocabulary((*self._shown_to(user_id, domain), *closed), population, shared)

    def _shown_to(self, user_id: str, domain: str) -> tuple[Fact, ...]:
        """Return the facts of the items that a user was shown and took, the newest first."""
        rings = (self.read(self.open_rankings, compound_key(user_id, slot), OpenRankings) for slot in range(SLOTS))
        waiting = (each for ring in rings if ring is not None for each in ring.rankings if each.domain == domain)
        shown = (fact for ranking in waiting for item in ranking.candidates for fact in item.facts)
        memory = self.read(self.memories, compound_key(user_id, domain), Memory)
        taken = () if memory is None else (fact for each in memory.taken for fact in each.facts)
        seen = () if memory is None else reversed(memory.seen)
        return tuple(dict.fromkeys((*shown, *seen, *taken)))

    def redact_instruction(self, instruction: str, domain: str) -> str:
        """Return an instruction without private data, as it may be kept and shown to a model."""
        redacted = self.privacy.redact(instruction, domain)
        _count_private(redacted.found)
        return redacted.text

    def lock(self, table: str, key: bytes) -> asyncio.Lock:
        """Return the lock under which agents share a table's value."""
        return self._locks.setdefault((table, key), asyncio.Lock())

    def generation(self) -> int:
        """Return the consumer generation, which changes with every rebalance."""
        return int(self.app.consumer_generation_id)

    def touch(self) -> None:
        """Note that this worker is alive and working."""
        self.progressed = time.monotonic()
        metrics.PROGRESS.set_to_current_time()

    def read(self, table: DeliveredTable, key: bytes, model: type[ModelT]) -> ModelT | None:
        """Return a table's value, from a cache as long as the table holds the same bytes.

        Decoding costs more than everything else that a stage does with a value.
        """
        value = table.get(key)
        if value is None:
            return None
        kept = self._decoded.get((model.__name__, key))
        if kept is not None and kept[0] == value and isinstance(kept[1], model):
            return kept[1]
        decoded = decode(model, value)
        self._decoded.put((model.__name__, key), (value, decoded))
        return decoded

    def hand_over(self, raw: bytes, record: Model) -> None:
        """Keep a record that this worker sends and is about to read; `decode` finds it by its bytes."""
        self._handed.put(raw, record)

    def decode(self, model: type[ModelT], value: bytes | None) -> ModelT:
        """Return the event in these bytes, or raise BadRecord; from a cache if this worker has encoded it."""
        made = None if value is None else self._handed.get(value)
        if value is None or not isinstance(made, model):
            return decode(model, value)
        self._handed.drop(value)
        return made

    async def write(self, table: DeliveredTable, event: Any, key: bytes, value: Model) -> None:
        """Set a table's value once its changelog has it. Raises Stale, with nothing written, if the partition moved."""
        raw, before = encode(value), table.get(key)
        sent = await self._change(table, event, key, raw)
        # After a rebalance the table may have been recovered already, with what came behind this on the changelog.
        if event.message.generation_id == self.generation() or table.get(key) == before:
            table.hold(key, raw, sent)
            self._decoded.put((type(value).__name__, key), (raw, value))

    async def delete(self, table: DeliveredTable, event: Any, key: bytes) -> None:
        """Remove a table's value, also where there is none, once its changelog has the tombstone; raises as `write`."""
        sent = await self._change(table, event, key, None)
        if event.message.generation_id == self.generation():
            table.hold(key, None, sent)
        self._decoded.drop_where(lambda name: name[1] == key)
        # This may be an erasure.
        self._handed.drop_where(lambda _: True)

    async def _change(self, table: DeliveredTable, event: Any, key: bytes, raw: bytes | None) -> Delivered:
        partition = event.message.partition
        table.sends(partition, key)
        try:
            return await self.send(event, table.name, key, raw, partition)
        except MessageSizeTooLarge:
            table.is_refused(partition, key)
            raise

    async def send(
        self,
        event: Any,
        base: str,
        key: bytes | None,
        value: bytes | None,
        partition: int | None = None,
        is_there: Callable[[], Awaitable[bool]] | None = None,
    ) -> Delivered:
        """Produce a record, or a tombstone, on the topic `base`, and wait through outages until the broker has it.

        `partition` is by default that of the key. `is_there`, for a record that must not be in the log twice, is called
        before another attempt: true if the log has it already. Raises as `retry` does.
        """
        if partition is None:
            partition = partition_of((key or b"").decode(), TOPICS[base].partitions(self.settings.partitions))
        topic, tried = self.settings.topic(base), False

        async def attempt() -> Delivered:
            nonlocal tried
            if tried and is_there is not None and await is_there():
                return Delivered(TP(topic, partition), 0)
            sending = self.outlet.send(topic, partition, key, value)
            tried = True
            return await sending

        sent = await self.retry(event, base, attempt)
        metrics.labelled(metrics.SENT, base).inc()
        return sent

    async def retry(self, event: Any, what: str, attempt: Callable[[], Awaitable[_Result]]) -> _Result:
        """Return the result of an attempt that needs the broker, repeated while it fails.

        Raises Stale if the event's partition has moved, and MessageSizeTooLarge if the topic takes no such record.
        """
        delay = FIRST_RETRY_SECONDS
        while True:
            # Only while the partition is certainly ours.
            member: Membership = self.app.membership
            if not (member.may_send or await member.confirmed()) or event.message.generation_id != self.generation():
                raise Stale
            try:
                return await attempt()
            except MessageSizeTooLarge:
                raise
            except Full:
                await asyncio.sleep(FULL_SECONDS)
            except Exception as error:
                logger.warning("%s failed, again in %.1f s: %s", what, delay, error)
                await asyncio.sleep(delay)
                delay = min(2 * delay, LAST_RETRY_SECONDS)

    def _note_acknowledged(self, message: Taken) -> None:
        self._next_offset[message.topic, message.partition] = message.offset + 1

    def is_acknowledged(self, source: Position) -> bool:
        """Return true if no worker will be given the event at this position again; false for others' partitions."""
        tp = TP(source.topic, source.partition)
        return source.offset < max(self._next_offset.get((tp.topic, tp.partition), 0), self._committed(tp))

    def has_more(self, base: str, partition: int) -> bool:
        """Return true if a partition holds unfinished records, as of the last fetch."""
        tp = TP(self.settings.topic(base), partition)
        try:
            end = self.app.consumer.highwater(tp)
        except (AssertionError, LookupError):  # not assigned to this worker, or not any more
            return False
        if end is None:
            return True
        return int(end) > self._next_offset.get((tp.topic, partition), self._committed(tp))

    def _committed(self, tp: TP) -> int:
        return int(self.app.consumer._committed_offset.get(tp) or 0)


def _count_private(found: Found) -> None:
    for kind, times in found.items():
        metrics.PRIVATE.labels(kind).inc(times)


def raw_topic(app: faust.App, settings: Settings, *bases: str, **more: Any) -> Any:
    """Return a Faust topic of bytes: we decode, because an error in Faust's decoding stalls an agent."""
    names = [settings.topic(base) for base in bases]
    return app.topic(*names, key_type=bytes, value_type=bytes, key_serializer="raw", value_serializer="raw", **more)


def position_of(message: Any) -> Position:
    """Return a message's place in Kafka."""
    return Position(
        topic=message.topic,
        partition=message.partition,
        offset=message.offset,
        timestamp_ms=max(0, int((message.timestamp or 0) * 1000)),
    )
