"""What the agents share: the app, its topics and tables, and sends that are certain before an event is acked."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import faust
from faust.types import TP

from operators.contrast import SLOTS, RingLimits
from operators.items import read_item
from operators.language.ports import Found
from operators.merge import MergeLimits
from operators.privacy import Privacy
from operators.propagate import GraphLimits
from operators.statinit import parser_for, vocabulary_for
from operators.steps import Start
from schemas import (
    TOPICS,
    Candidate,
    Fact,
    ItemFacts,
    Memory,
    Model,
    OpenRankings,
    Position,
    Receipt,
    compound_key,
    decode,
    encode,
    subject_of,
)
from schemas.codec import ModelT
from streams.kafka.clients import partition_of
from streams.kafka.packed import pack, unpack
from streams.language import joined_vocabulary
from streams.lru import LruCache
from streams.privacy import privacy_of
from streams.pseudonyms import ranking_key, secret_of
from streams.settings import Settings
from streams.steps import limits_of
from streams.worker import metrics
from streams.worker.items.shared import Items
from streams.worker.reasoning.global_skills import GlobalSkills
from streams.worker.reasoning.weights import LearnedWeights
from streams.worker.runtime.membership import Membership
from streams.worker.runtime.ordered import KeyOrdered, Stale, Work
from streams.worker.runtime.outlet import Delivered, Full, MessageSizeTooLarge, Outlet
from streams.worker.runtime.reader import Reader, Taken
from streams.worker.runtime.repairs import DeliveredTable

logger = logging.getLogger("sager.worker")

PARSED_ITEMS = 20_000
DECODED_VALUES = 4_000
HANDED_OVER = 1_000
FIRST_RETRY_SECONDS = 0.2
LAST_RETRY_SECONDS = 10.0
FULL_SECONDS = 0.01
REQUEST_BYTES = 4 * 1024 * 1024

_Result = TypeVar("_Result")


@dataclass
class Pipeline:
    """One worker's parts. Agents get it instead of globals.

    Attributes:
        app: the Faust app.
        settings: the effective configuration.
        reader: gives the agents what was fetched.
        outlet: the producer of all that is written.
        skills, profiles, open_rankings, memories, receipts, weights, cards, conversations: the tables;
            keys and values are bytes as on the changelog.
        global_skills: the domains' templates, once started.
        learned_weights: what the domains' rankings go by, once started.
        items: all items of the graph, once started.
        timers: what runs besides the agents, for as long as the worker does.
        progressed: when anything was last finished, by the monotonic clock, for the watchdog.
    """

    app: faust.App
    settings: Settings
    reader: Reader
    outlet: Outlet
    skills: DeliveredTable
    profiles: DeliveredTable
    open_rankings: DeliveredTable
    memories: DeliveredTable
    receipts: DeliveredTable
    weights: DeliveredTable
    cards: DeliveredTable
    conversations: DeliveredTable
    global_skills: GlobalSkills
    learned_weights: LearnedWeights
    timers: list[Callable[[], Awaitable[None]]] = field(default_factory=list)
    progressed: float = field(default_factory=time.monotonic)
    newest_ms: int = 0
    """The newest Kafka timestamp of the events that the worker has read; requests to forget do not count."""
    ring_limits: RingLimits = field(init=False)
    graph_limits: GraphLimits = field(init=False)
    items: Items = field(init=False)
    ranking_key: bytes = field(init=False, repr=False)
    privacy: Privacy = field(init=False)
    start: Start = field(init=False)
    merge_limits: MergeLimits = field(init=False)
    _next_offset: dict[tuple[str, int], int] = field(default_factory=dict)
    _decoded: LruCache[tuple[str, bytes], tuple[bytes, Model]] = field(default_factory=lambda: LruCache(DECODED_VALUES))
    _handed: LruCache[bytes, Model] = field(default_factory=lambda: LruCache(HANDED_OVER))
    _parsed: LruCache[tuple[str, str], tuple[Candidate, ItemFacts]] = field(
        default_factory=lambda: LruCache(PARSED_ITEMS)
    )
    _locks: WeakValueDictionary[tuple[str, bytes], asyncio.Lock] = field(default_factory=WeakValueDictionary)

    def __post_init__(self) -> None:
        self.reader.tell(self._note_acknowledged)
        self.privacy = privacy_of(self.settings)
        self.merge_limits = limits_of(self.settings)
        self.ring_limits = RingLimits(
            rankings=self.settings.open_rankings // SLOTS, waiting=self.settings.waiting_selections // SLOTS
        )
        self.graph_limits = GraphLimits(
            floor=self.settings.support_floor, fan_out=self.settings.fan_out, secret=secret_of(self.settings)
        )
        self.ranking_key = ranking_key(self.settings)
        self.items = Items(self.settings, self.graph_limits)
        self.start = Start(
            self.merge_limits,
            privacy=self.privacy,
            from_history=self.settings.statinit,
            from_template=self.settings.cold_start,
        )

    @property
    def graph(self) -> GraphLimits | None:
        """The limits of the user-item graph; None where it is switched off."""
        return self.graph_limits if self.settings.propagate else None

    @property
    def tables(self) -> dict[str, DeliveredTable]:
        """All tables, by the registry's names."""
        of_users = (self.skills, self.profiles, self.open_rankings, self.memories, self.receipts)
        of_talks = (self.cards, self.conversations)
        return {table.name: table for table in (*of_users, *of_talks, self.weights)}

    def note_time(self, position: Position) -> None:
        """Keep the newest Kafka timestamp."""
        self.newest_ms = max(self.newest_ms, position.timestamp_ms)

    def receipt(self, user_id: str) -> Receipt | None:
        """The person's receipt; None if they never asked to be forgotten."""
        return self.read(self.receipts, subject_of(user_id).encode(), Receipt)

    def forget_epoch(self, user_id: str) -> str:
        """Changes whenever something of this person was forgotten: their versions begin anew then."""
        raw = self.receipts.get(subject_of(user_id).encode())
        return "" if raw is None else str(hash(raw))

    def source(self, *bases: str) -> Any:
        """One raw channel over these topics of the registry."""
        return raw_topic(self.app, self.settings, *bases)

    def facts_of(self, domain: str, candidate: Candidate) -> ItemFacts:
        """What the domain's parser finds in an item and may be learned; the same item is parsed once.

        Popular ones are many.
        """
        key = (domain, candidate.item_id)
        known = self._parsed.get(key)
        # Their fields: pydantic's own comparison takes twice the time, ten times a choice.
        if known is not None and vars(known[0]) == vars(candidate):
            return known[1]
        parser = parser_for(domain, self.settings.parsers)
        read = read_item(candidate, domain, parser, self.privacy)
        facts = read.facts
        _count_private(read.found)
        if read.failure:
            logger.warning("an item of %s cannot be read (%s): nothing is learned from it", domain, read.failure)
        self._parsed.put(key, (candidate, facts))
        return facts

    async def vocabulary(self, user_id: str, domain: str) -> tuple[Fact, ...]:
        """The facts that a person's words about a domain can name.

        They come from the person's own lists, the parser's closed vocabulary, the global skill, and the tastes that
        several takers of the graph's items share: all workers agree on them, also after a restart. Other people's
        tastes may not change the meaning of a sentence.
        """
        closed = vocabulary_for(domain, self.settings.parsers)
        shared = await self.items.tastes(domain) if self.graph is not None else ()
        population = self.global_skills.vocabulary(domain)
        return joined_vocabulary((*self._shown_to(user_id, domain), *closed), population, shared)

    def _shown_to(self, user_id: str, domain: str) -> tuple[Fact, ...]:
        """The facts of the items that a person was shown and took, the newest first."""
        rings = (self.read(self.open_rankings, compound_key(user_id, slot), OpenRankings) for slot in range(SLOTS))
        waiting = (each for ring in rings if ring is not None for each in ring.rankings if each.domain == domain)
        shown = (fact for ranking in waiting for item in ranking.candidates for fact in item.facts)
        memory = self.read(self.memories, compound_key(user_id, domain), Memory)
        taken = () if memory is None else (fact for each in memory.taken for fact in each.facts)
        seen = () if memory is None else reversed(memory.seen)
        return tuple(dict.fromkeys((*shown, *seen, *taken)))

    def asked(self, instruction: str, domain: str) -> str:
        """What a person asked for, as it may be kept and shown to a model."""
        redacted = self.privacy.redact(instruction, domain)
        _count_private(redacted.found)
        return redacted.text

    def lock(self, table: str, key: bytes) -> asyncio.Lock:
        """The lock under which two agents share a table's value, gone when nobody holds it."""
        return self._locks.setdefault((table, key), asyncio.Lock())

    def generation(self) -> int:
        """The consumer generation: it changes with every rebalance."""
        return int(self.app.consumer_generation_id)

    def touch(self) -> None:
        """Note that this worker is alive and working."""
        self.progressed = time.monotonic()
        metrics.PROGRESS.set_to_current_time()

    def read(self, table: DeliveredTable, key: bytes, model: type[ModelT]) -> ModelT | None:
        """A table's value; None where there is none.

        Decoding a value costs more than all else that a stage does with it, so what was decoded or written last
        is kept, and serves as long as the table holds the very same bytes.
        """
        value = table.get(key)
        if value is None:
            return None
        kept = self._decoded.get((model.__name__, key))
        if kept is not None and kept[0] == value and isinstance(kept[1], model):
            return kept[1]
        decoded = decode(model, unpack(value))
        self._keep(key, value, decoded)
        return decoded

    def hand_over(self, raw: bytes, record: Model) -> None:
        """Keep a record that this worker sends and is about to read: `decode` knows it by its bytes."""
        self._handed.put(raw, record)

    def decode(self, model: type[ModelT], value: bytes | None) -> ModelT:
        """The event in these bytes; what this worker has made of the very same ones is not decoded again.

        Raises:
            BadRecord: the bytes are not such an event.
        """
        made = None if value is None else self._handed.get(value)
        if value is None or not isinstance(made, model):
            return decode(model, value)
        self._handed.drop(value)
        return made

    def _keep(self, key: bytes, raw: bytes, value: Model) -> None:
        self._decoded.put((type(value).__name__, key), (raw, value))

    async def write(self, table: DeliveredTable, event: Any, key: bytes, value: Model) -> None:
        """Set a table's value, once its changelog has it.

        Raises:
            Stale: the partition has moved; nothing was written.
        """
        raw, before = encode(value), table.get(key)
        if TOPICS[table.name].packed:
            raw = pack(raw)
        sent = await self._change(table, event, key, raw)
        # After a rebalance the table may have been recovered already, with what came behind this on the changelog.
        if event.message.generation_id == self.generation() or table.get(key) == before:
            table.hold(key, raw, sent)
            self._keep(key, raw, value)

    async def delete(self, table: DeliveredTable, event: Any, key: bytes) -> None:
        """Remove a table's value, once its changelog has the tombstone; one that is not there too.

        Raises:
            Stale: the partition has moved; nothing was removed here.
        """
        sent = await self._change(table, event, key, None)
        if event.message.generation_id == self.generation():
            table.drop(key, sent)
        self._decoded.drop_where(lambda name: name[1] == key)
        # Somebody may be forgotten by this: what was handed over and not taken yet is decoded from the log.
        self._handed.drop_where(lambda _: True)

    async def _change(self, table: DeliveredTable, event: Any, key: bytes, raw: bytes | None) -> Delivered:
        partition = event.message.partition
        table.sends(partition, key)
        try:
            return await self._deliver(event, table.name, partition, key, raw)
        except MessageSizeTooLarge:
            table.is_refused(partition, key)
            raise

    async def tombstone(self, event: Any, base: str, key: bytes, partition: int) -> None:
        """Say on a compacted topic that what was under this key is gone."""
        await self.send(event, base, key, None, partition)

    async def send(
        self,
        event: Any,
        base: str,
        key: bytes | None,
        value: bytes | None,
        partition: int | None = None,
        is_there: Callable[[], Awaitable[bool]] | None = None,
    ) -> Delivered:
        """Produce a record and wait until the broker has it, through outages; where it stands.

        Args:
            event: what led to it.
            base: the topic, by the registry's name.
            key: its key.
            value: its bytes; None for a tombstone.
            partition: by default that of the key.
            is_there: whether the log has it already; asked before it is sent again, for a record that must not be in
                the log twice.

        Raises:
            Stale: the partition of the event that led here has moved.
            MessageSizeTooLarge: the topic takes no record of this size.
        """
        if partition is None:
            partition = partition_of((key or b"").decode(), TOPICS[base].partitions(self.settings.partitions))
        if value is not None and TOPICS[base].packed:
            value = pack(value)
        return await self._deliver(event, base, partition, key, value, is_there)

    async def _deliver(
        self,
        event: Any,
        base: str,
        partition: int,
        key: bytes | None,
        value: bytes | None,
        is_there: Callable[[], Awaitable[bool]] | None = None,
    ) -> Delivered:
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
        """The result of what needs the broker, tried again and again while it fails.

        Raises:
            Stale: the partition of the event that led here has moved.
            MessageSizeTooLarge: a record is too large, which trying again does not heal.
        """
        delay = FIRST_RETRY_SECONDS
        while True:
            await self._fence(event)
            try:
                return await attempt()
            except MessageSizeTooLarge:
                raise
            except Full:
                await asyncio.sleep(FULL_SECONDS)
            except Exception as error:
                delay = await self._wait_to_retry(what, error, delay)

    async def _fence(self, event: Any) -> None:
        """Let through only while the event's partition is certainly ours.

        Raises:
            Stale: it is not.
        """
        member: Membership = self.app.membership
        if not (member.may_send or await member.confirmed()) or event.message.generation_id != self.generation():
            raise Stale

    async def _wait_to_retry(self, what: str, error: Exception, delay: float) -> float:
        logger.warning("%s failed, again in %.1f s: %s", what, delay, error)
        await asyncio.sleep(delay)
        return min(2 * delay, LAST_RETRY_SECONDS)

    def ordered(
        self,
        stage: str,
        in_flight: int,
        route: Callable[[Taken], Work],
        on_error: Callable[[Taken, Exception], Awaitable[None]],
    ) -> KeyOrdered:
        """The runner of one agent's handlers."""
        return KeyOrdered(self.reader, stage, in_flight, route, on_error, self.touch)

    def _note_acknowledged(self, message: Taken) -> None:
        self._next_offset[message.topic, message.partition] = message.offset + 1

    def is_acknowledged(self, source: Position) -> bool:
        """Whether the event at this position is done with for good: no worker will be given it again.

        Of a partition that is not ours nothing is known, and the answer is no.
        """
        tp = TP(source.topic, source.partition)
        return source.offset < max(self._next_offset.get((tp.topic, tp.partition), 0), self._committed(tp))

    def has_more(self, base: str, partition: int) -> bool:
        """Whether a topic's partition holds records that this worker has fetched or seen the end of, but not finished.

        The end is the one that the last fetch told, so a record produced this moment may be missed.
        """
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
    """A Faust topic whose keys and values are bytes: decoding is ours, because an error in Faust's stalls an agent."""
    names = [settings.topic(base) for base in bases]
    return app.topic(*names, key_type=bytes, value_type=bytes, key_serializer="raw", value_serializer="raw", **more)


def position_of(message: Any) -> Position:
    """Where a Kafka message stands."""
    return Position(
        topic=message.topic,
        partition=message.partition,
        offset=message.offset,
        timestamp_ms=max(0, int((message.timestamp or 0) * 1000)),
    )
