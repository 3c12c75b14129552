"""Agent `propagate`: adds takers to items (paper 2.2).

An update is acknowledged when its items are on the log. After a crash the others come again. They hold states, so
applying them twice changes nothing.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from datetime import UTC, datetime

from pydantic_core import to_json

from operators.graph.items import NO_REPLY, add_taker, forget_taker, split_by_partition
from schemas import BadRecord, ItemMemory, ItemUpdate, compound_key, decode, encode
from streams.kafka.clients import partition_of
from streams.worker import metrics
from streams.worker.deps import Worker
from streams.worker.items import ERASURE_KEY, send_touch
from streams.worker.runtime.batches import Batches, ConsumedRecord, RecordBatch, batches_of
from streams.worker.runtime.dispatch import DeadLetterWriter
from streams.worker.runtime.membership import PartitionRevoked
from streams.worker.runtime.producer import MessageSizeTooLarge

logger = logging.getLogger("sager.worker")

STAGE = "propagate"
POLL_SECONDS, RETRY_SECONDS = 0.1, 1.0
# Updates applied per turn of the event loop.
UPDATES_PER_TURN = 64
# Items encoded and sent concurrently: encoding more would delay heartbeats.
SENDS_PER_BATCH = 200
# Limit of unacknowledged updates per partition, which bounds memory.
MAX_WAITING = 20_000


def define(worker: Worker) -> None:
    """Define the agent."""
    agent = PropagateAgent(worker)

    @worker.app.agent(batches_of(worker.app, ItemUpdate), name=STAGE)
    async def propagate(batches: Batches) -> None:
        """Adds takers to items, and writes changed items at intervals."""
        async for batch in batches:
            await agent.apply(batch)


class PropagateAgent:
    """Routes updates to an `ItemPartition` for each of this worker's partitions."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._reader, self._producer, self._deps = worker.app.reader, worker.producer, worker.deps
        self._letters = DeadLetterWriter(worker.producer, worker.deps.settings, STAGE)
        self._owners: dict[int, ItemPartition] = {}
        self._flushing: asyncio.Task[None] | None = None
        self._unacked = metrics.UNACKED.labels(STAGE)

    async def apply(self, batch: RecordBatch) -> None:
        """Apply updates in order; they are acknowledged when their items are written."""
        for number, event in enumerate(batch, 1):
            while not self._reader.flows:  # noqa: ASYNC110 - it has no event
                # A rebalance: events of moved partitions turn stale, and are dropped below.
                await asyncio.sleep(POLL_SECONDS)
            if event.progress.abandoned_at is not None or not self._reader.begin(event):
                continue
            await self._on_event(event)
            if number % UPDATES_PER_TURN == 0:
                await asyncio.sleep(0)

    async def _on_event(self, event: ConsumedRecord) -> None:
        metrics.labelled(metrics.TAKEN, ItemUpdate.TOPIC).inc()
        try:
            owner = await self._owner(event)
            await self._handle(owner, event)
        except Exception as error:
            if not isinstance(error, PartitionRevoked):
                logger.exception("%s: %s/%s@%s", STAGE, event.topic, event.partition, event.offset)
            self._give_up(event.partition, event)
            return
        self._flush_soon()
        if len(owner.events) > MAX_WAITING and self._flushing is not None:
            await asyncio.wait([self._flushing])

    def _give_up(self, partition: int, *more: ConsumedRecord) -> None:
        # Commit nothing more of this partition in this generation, so that its events come again.
        owner = self._owners.pop(partition, None)
        for event in dict.fromkeys([*(owner.abandon() if owner else ()), *more]):
            metrics.labelled(metrics.STALE, STAGE).inc()
            event.progress.abandon(event)
            self._reader.end(event)

    async def _owner(self, event: ConsumedRecord) -> "ItemPartition":
        """Return the state of the event's partition."""
        partition, generation = event.partition, event.generation_id
        owner = self._owners.get(partition)
        if owner is not None and owner.generation == generation:
            return owner
        self._give_up(partition)
        if self._flushing is not None:  # sends of the previous owner
            await asyncio.wait([self._flushing])
        owner = ItemPartition(self._worker, partition, generation)
        # Otherwise it would overwrite the last items of the previous owner.
        await self._deps.items.reach_end(partition)
        if generation != self._producer.generation():
            raise PartitionRevoked
        self._owners[partition] = owner
        return owner

    async def _handle(self, owner: "ItemPartition", event: ConsumedRecord) -> None:
        try:
            outcome = await self._apply(owner, event, decode(ItemUpdate, event.value))
            metrics.labelled(metrics.EVENTS, STAGE, outcome).inc()
        except PartitionRevoked:
            raise
        except BadRecord as error:
            await self._letters.dead_letter(event, event.position, error.reason, error.detail)
        except Exception as error:
            await self._letters.on_error(event, error)
        owner.add(event)

    async def _apply(self, owner: "ItemPartition", event: ConsumedRecord, touch: ItemUpdate) -> str:
        """Apply the partition's part of an update, and forward the rest."""
        if touch.forgotten:
            return await owner.forget(event, touch)
        parts = split_by_partition(touch, lambda item_id: partition_of(item_id, self._deps.settings.partitions))
        here = parts.pop(owner.partition, None)
        for partition, part in parts.items():
            await send_touch(self._producer, event, part, partition)
            metrics.REROUTED.labels(STAGE).inc()
        return "rerouted" if here is None else owner.take(here)

    def _flush_soon(self) -> None:
        self._unacked.set(sum(len(owner.events) for owner in self._owners.values()))
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._flush())

    async def _flush(self) -> None:
        while any(owner.events for owner in self._owners.values()):
            await self._reader.pause(self._deps.settings.graph_flush_seconds)
            await asyncio.sleep(0)
            await asyncio.gather(*map(self._flush_one, list(self._owners.values())))
            self._unacked.set(sum(len(owner.events) for owner in self._owners.values()))

    async def _flush_one(self, owner: "ItemPartition") -> None:
        try:
            await owner.flush()
        except PartitionRevoked:
            if self._owners.get(owner.partition) is owner:
                self._give_up(owner.partition)
        except Exception:
            logger.exception("%s: the items of partition %d are written again", STAGE, owner.partition)
            await asyncio.sleep(RETRY_SECONDS)


class ItemPartition:
    """The items of one partition in one consumer generation."""

    def __init__(self, worker: Worker, partition: int, generation: int) -> None:
        app, _, self._producer, deps = worker
        self.generation, self.partition = generation, partition
        self._reader, self._settings, self._items = app.reader, deps.settings, deps.items
        # Items newer than the log that this worker has read; None if removed.
        self._newer: dict[bytes, ItemMemory | None] = {}
        self._dirty: set[bytes] = set()
        # Last written value and offset per item. Until the follower reads it, `_newer` must keep the item.
        self._written: dict[bytes, tuple[bytes | None, int]] = {}
        self.events: deque[ConsumedRecord] = deque()
        self._is_abandoned = False
        self._writing = asyncio.Lock()

    def take(self, touch: ItemUpdate) -> str:
        """Apply an update, which the next flush writes; return its outcome."""
        changed = add_taker(lambda item_id, domain: self._item(compound_key(item_id, domain)), touch, datetime.now(UTC))
        for item in changed:
            key = compound_key(item.item_id, item.domain)
            self._newer[key] = item
            self._dirty.add(key)
        return "gathered" if changed else "repeated"

    def add(self, event: ConsumedRecord) -> None:
        """Queue an applied event, which the next flush acknowledges."""
        # An abandoned owner acknowledges nothing, so a rebalance would wait for the event.
        if self._is_abandoned:
            raise PartitionRevoked
        self.events.append(event)

    def abandon(self) -> list[ConsumedRecord]:
        """Stop this generation's state; return its unacknowledged events."""
        self._is_abandoned = True
        left = list(self.events)
        self.events.clear()
        return left

    def _item(self, key: bytes) -> ItemMemory | None:
        if key in self._newer:
            return self._newer[key]
        known = self._items.read(key, self.partition)
        return None if known is None else known.item

    async def flush(self) -> None:
        """Write changed items and acknowledge their events.

        Raises PartitionRevoked, with no event acknowledged, if the partition has moved.
        """
        async with self._writing:
            if not self.events:
                return
            done = list(self.events)
            await self._write(done[-1])
            if self.generation != self._producer.generation():
                raise PartitionRevoked
            if self._is_abandoned:
                return
            for event in done:
                self.events.popleft()
                event.is_done = True
                self._reader.end(event)

    async def _write(self, event: ConsumedRecord) -> None:
        self._drop_read_back()
        for key in self._keys_over_limit():
            self._newer[key] = None
            self._dirty.add(key)
        dirty, self._dirty = list(self._dirty), set()
        try:
            for start in range(0, len(dirty), SENDS_PER_BATCH):
                sends = (self._send(event, key) for key in dirty[start : start + SENDS_PER_BATCH])
                # Await all, also if one fails: a send that outlives its flush could overwrite a newer value.
                for result in await asyncio.gather(*sends, return_exceptions=True):
                    if isinstance(result, BaseException):
                        raise result
        except BaseException:
            self._dirty.update(dirty)
            raise

    async def _send(self, event: ConsumedRecord, key: bytes) -> None:
        item = self._newer.get(key)
        raw = None if item is None else encode(item)
        try:
            sent = await self._producer.send(event, ItemMemory.TOPIC, key, raw, self.partition)
        except MessageSizeTooLarge:
            if raw is None:
                raise
            # The broker's limit is below ours. Resetting one item is better than a partition that stops.
            logger.warning("an item of partition %d is too large for the broker, and is reset", self.partition)
            if self._newer.get(key) is item:
                self._newer[key] = None
            raw, sent = None, await self._producer.send(event, ItemMemory.TOPIC, key, None, self.partition)
        self._written[key] = raw, sent.offset

    def _drop_read_back(self) -> None:
        store, partition = self._items.store, self.partition
        reached = store.position(partition)
        # Compare offsets too: a missing item may be one whose value and tombstone are both unread.
        came = [
            key for key, (raw, offset) in self._written.items() if reached > offset and store.get(partition, key) == raw
        ]
        for key in came:
            del self._written[key]
            if key not in self._dirty:
                self._newer.pop(key, None)

    def _keys_over_limit(self) -> Sequence[bytes]:
        """Return the least recently written items beyond the configured limit."""
        store, partition = self._items.store, self.partition
        limit = -(-self._settings.graph_items // self._settings.partitions)
        count = store.count(partition)
        for key, item in self._newer.items():
            count += (item is not None) - (store.get(partition, key) is not None)
        return store.oldest(partition, count - limit, self._newer) if count > limit else ()

    async def forget(self, event: ConsumedRecord, touch: ItemUpdate) -> str:
        """Remove a user from all items, and report that on the log.

        Raises PartitionRevoked if the partition has moved; its new owner does it.
        """
        async with self._writing:
            for key in await self._keys_with_taker(touch.taker):
                item = self._item(key)
                without = None if item is None else forget_taker(item, touch)
                if without is not None:
                    self._newer[key] = without if without.takers else None
                    self._dirty.add(key)
            # Write all changes before the report, which promises that they are on the log.
            await self._write(event)
            if touch.forgotten and touch.forgotten != NO_REPLY:
                report = to_json(touch.forgotten)
                await self._producer.send(event, ItemMemory.TOPIC, ERASURE_KEY, report, self.partition)
        return "forgotten"

    async def _keys_with_taker(self, neighbour: str) -> list[bytes]:
        newer = [
            key for key, item in self._newer.items() if item and any(t.neighbour == neighbour for t in item.takers)
        ]
        return list(dict.fromkeys([*newer, *await self._items.keys_with_taker(self.partition, neighbour)]))
