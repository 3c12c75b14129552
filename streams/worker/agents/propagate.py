"""Agent `propagate`: adds takers to items, and writes changed items at intervals (paper 2.2)."""

import asyncio
import logging
import time
from collections.abc import AsyncIterable
from typing import Any

from operators.propagate import shared_out
from schemas import BadRecord, Touch, decode
from streams.kafka.clients import partition_of
from streams.worker import metrics
from streams.worker.deps import Deps
from streams.worker.graph import send_touch
from streams.worker.items.owner import Owner
from streams.worker.runtime.dispatch import Batch, ConsumedRecord, batches_of, position_of
from streams.worker.runtime.executor import DeadLetters
from streams.worker.runtime.fence import PartitionRevoked
from streams.worker.runtime.producer import Producer
from streams.worker.tables import Tables

logger = logging.getLogger("sager.worker")

STAGE = "propagate"
LOOK_SECONDS, AGAIN_SECONDS = 0.1, 1.0
AT_ONCE = 64
"""Touches that are applied before other tasks run."""
MOST_WAITING = 20_000
"""Unacknowledged touches of a partition, beyond which none are read."""


def define(app: Any, tables: Tables, producer: Producer, deps: Deps) -> None:
    """Define the agent."""
    gathering = Propagate(app, producer, deps)

    @app.agent(batches_of(app, Touch), name=STAGE)
    async def propagate(batches: AsyncIterable[Batch]) -> None:
        """Add takers to items, and write changed items at intervals."""
        async for batch in batches:
            await gathering.apply(batch)


class Propagate:
    """One owner of items for each of this worker's partitions."""

    def __init__(self, app: Any, producer: Producer, deps: Deps) -> None:
        self._reader, self._producer, self._deps = app.reader, producer, deps
        self._letters = DeadLetters(producer, deps.settings, STAGE)
        self._owners: dict[int, Owner] = {}
        self._flushing: asyncio.Task[None] | None = None
        self._unacked = metrics.UNACKED.labels(STAGE)

    async def apply(self, batch: Batch) -> None:
        """Apply touches, one after the other; they are acknowledged when their items are written."""
        for number, event in enumerate(batch, 1):
            while not self._reader.flows:  # noqa: ASYNC110 - it has no event
                # Stale events are dropped if partitions have moved.
                await asyncio.sleep(LOOK_SECONDS)
            if event.progress.abandoned_at is not None or not self._reader.begin(event):
                continue
            await self._on_event(event)
            if number % AT_ONCE == 0:
                await asyncio.sleep(0)

    async def _on_event(self, event: ConsumedRecord) -> None:
        metrics.labelled(metrics.TAKEN, Touch.TOPIC).inc()
        try:
            owner = await self._owner(event)
            outcome = await self._handle(owner, event)
        except Exception as error:
            if not isinstance(error, PartitionRevoked):
                logger.exception("%s: %s/%s@%s", STAGE, event.topic, event.partition, event.offset)
            self._give_up(event.partition, event)
            return
        metrics.labelled(metrics.EVENTS, STAGE, outcome).inc()
        self._flush_soon()
        if owner.waiting > MOST_WAITING and self._flushing is not None:
            await asyncio.wait([self._flushing])

    def _give_up(self, partition: int, *more: ConsumedRecord) -> None:
        """Drop a partition's owner: nothing more of it is committed in this generation, and its events come again."""
        owner = self._owners.pop(partition, None)
        for event in dict.fromkeys([*(owner.abandon() if owner else ()), *more]):
            metrics.labelled(metrics.STALE, STAGE).inc()
            event.progress.abandon(event)
            self._reader.end(event)

    async def _owner(self, event: ConsumedRecord) -> Owner:
        """Return the owner of the event's partition; a new one begins where the log ends. Raises PartitionRevoked."""
        partition, generation = event.partition, event.generation_id
        owner = self._owners.get(partition)
        if owner is not None and owner.generation == generation:
            return owner
        self._give_up(partition)
        if self._flushing is not None:  # a new owner begins behind the records that are being sent
            await asyncio.wait([self._flushing])
        owner = Owner(self._reader, self._producer, self._deps, partition, generation, self._acknowledge)
        # The previous owner's last write is where this one begins.
        await self._deps.items.reach_end(partition)
        if generation != self._producer.generation():
            raise PartitionRevoked
        self._owners[partition] = owner
        return owner

    async def _handle(self, owner: Owner, event: ConsumedRecord) -> str:
        """Apply or dead-letter the event; return its outcome."""
        position = position_of(event)
        try:
            touch = decode(Touch, event.value)
            if touch.forgotten:
                return await owner.forget(event, touch)
            return await self._apply(owner, event, touch)
        except PartitionRevoked:
            raise
        except BadRecord as error:
            await self._letters.dead_letter(event, position, error.reason, error.detail)
        except Exception as error:
            logger.exception("%s: %s/%s@%s", STAGE, position.topic, position.partition, position.offset)
            await self._letters.dead_letter(event, position, "internal-error", f"{type(error).__name__}: {error}")
        owner.add(event)
        return "dead-lettered"

    async def _apply(self, owner: Owner, event: ConsumedRecord, touch: Touch) -> str:
        """Apply the partition's part of a touch, and forward the rest: its sender counts other partitions."""
        parts = shared_out(touch, lambda item_id: partition_of(item_id, self._deps.settings.partitions))
        here = parts.pop(owner.partition, None)
        for partition, part in parts.items():
            await send_touch(self._producer, event, part, partition)
            metrics.REROUTED.labels(STAGE).inc()
        if here is None:
            owner.add(event)
            return "rerouted"
        return owner.take(event, here)

    def _acknowledge(self, event: ConsumedRecord) -> None:
        event.is_done = True
        self._reader.end(event)

    def _flush_soon(self) -> None:
        self._unacked.set(sum(owner.waiting for owner in self._owners.values()))
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._flush())

    async def _flush(self) -> None:
        while any(owner.waiting for owner in self._owners.values()):
            # Wait for more, but not while a rebalance or shutdown waits for unacknowledged events.
            until = time.monotonic() + self._deps.settings.graph_flush_seconds
            while (remaining := until - time.monotonic()) > 0 and self._reader.flows:  # noqa: ASYNC110 - it has no event
                await asyncio.sleep(min(remaining, LOOK_SECONDS))
            await asyncio.sleep(0)
            await asyncio.gather(*map(self._flush_one, list(self._owners.values())))
            self._unacked.set(sum(owner.waiting for owner in self._owners.values()))

    async def _flush_one(self, owner: Owner) -> None:
        try:
            await owner.flush()
        except PartitionRevoked:
            if self._owners.get(owner.partition) is owner:
                self._give_up(owner.partition)
        except Exception:
            logger.exception("%s: the items of partition %d are written again", STAGE, owner.partition)
            await asyncio.sleep(AGAIN_SECONDS)
