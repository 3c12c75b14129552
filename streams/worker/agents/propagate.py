"""Agent `propagate`: adds takers to items, and writes changed items at intervals (paper 2.2)."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

from operators.propagate import shared_out
from schemas import BadRecord, Touch, decode
from streams.kafka.clients import partition_of
from streams.worker import metrics
from streams.worker.deps import Deps
from streams.worker.graph import send_touch
from streams.worker.items.owner import Owner
from streams.worker.producer import Producer
from streams.worker.runtime.intake import Intake, subscribe
from streams.worker.runtime.ordered import BACKLOG, Stale
from streams.worker.runtime.reader import Head, Taken, position_of
from streams.worker.tables import Tables

logger = logging.getLogger("sager.worker")

STAGE = "propagate"
LOOK_SECONDS, AGAIN_SECONDS = 0.1, 1.0
AT_ONCE = 64
"""Touches that are applied before other tasks run."""
MOST_WAITING = 20_000
"""Unacknowledged touches of a partition, beyond which none are read."""


def attach(app: Any, tables: Tables, producer: Producer, deps: Deps) -> None:
    """Add the agent to the worker."""
    propagate = Propagate(app, tables, producer, deps)
    app.reader.attach([deps.settings.topic(Touch.TOPIC)], propagate.take)
    subscribe(app, deps.settings, STAGE, Touch.TOPIC)


class Propagate:
    """The agent: one owner of items for each of this worker's partitions."""

    def __init__(self, app: Any, tables: Tables, producer: Producer, deps: Deps) -> None:
        self._reader, self._producer, self._deps = app.reader, producer, deps
        self._letters = Intake(app, tables, producer, deps.settings, STAGE, {})
        self._owners: dict[int, Owner] = {}
        self._backlog: deque[Taken] = deque()
        self._held: set[Head] = set()
        self._working: asyncio.Task[None] | None = None
        self._flushing: asyncio.Task[None] | None = None
        self._unacked = metrics.UNACKED.labels(STAGE)

    def take(self, events: Sequence[Taken]) -> None:
        """Take what was fetched of a partition."""
        self._backlog.extend(events)
        if len(self._backlog) >= BACKLOG:
            self._held.add(events[0].head)
            self._reader.hold(events[0].head)
        if self._working is None or self._working.done():
            self._working = asyncio.create_task(self._work())

    async def _work(self) -> None:
        count = 0
        while self._backlog:
            if not self._reader.flows:
                # Stale events are dropped if partitions have moved.
                await asyncio.sleep(LOOK_SECONDS)
                continue
            event = self._backlog.popleft()
            if self._held and len(self._backlog) < BACKLOG // 2:
                for head in self._held:
                    self._reader.release(head)
                self._held.clear()
            if self._reader.is_stale(event) or event.head.is_left:
                continue
            self._reader.begin()
            await self._on_event(event)
            count += 1
            if count % AT_ONCE == 0:
                await asyncio.sleep(0)

    async def _on_event(self, event: Taken) -> None:
        metrics.labelled(metrics.TAKEN, Touch.TOPIC).inc()
        try:
            owner = await self._owner(event)
            outcome = await self._handle(owner, event)
        except Exception as error:
            if not isinstance(error, Stale):
                logger.exception("%s: %s/%s@%s", STAGE, event.topic, event.partition, event.offset)
            self._give_up(event.partition, event)
            return
        metrics.labelled(metrics.EVENTS, STAGE, outcome).inc()
        self._flush_soon()
        if owner.waiting > MOST_WAITING and self._flushing is not None:
            await asyncio.wait([self._flushing])

    def _give_up(self, partition: int, *more: Taken) -> None:
        """Drop a partition's owner: nothing more of it is committed in this generation, and its events come again."""
        owner = self._owners.pop(partition, None)
        for event in dict.fromkeys([*(owner.leave() if owner else ()), *more]):
            metrics.labelled(metrics.STALE, STAGE).inc()
            event.head.leave(event)
            self._reader.end(event)

    async def _owner(self, event: Taken) -> Owner:
        """Return the owner of the event's partition; a new one begins where the log ends. Stale if it has moved."""
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
            raise Stale
        self._owners[partition] = owner
        return owner

    async def _handle(self, owner: Owner, event: Taken) -> str:
        """Apply or dead-letter the event; return its outcome."""
        position = position_of(event)
        try:
            touch = decode(Touch, event.value)
            if touch.forgotten:
                return await owner.forget(event, touch)
            return await self._apply(owner, event, touch)
        except Stale:
            raise
        except BadRecord as error:
            await self._letters.dead_letter(event, position, error.reason, error.detail)
        except Exception as error:
            logger.exception("%s: %s/%s@%s", STAGE, position.topic, position.partition, position.offset)
            await self._letters.dead_letter(event, position, "internal-error", f"{type(error).__name__}: {error}")
        owner.add(event)
        return "dead-lettered"

    async def _apply(self, owner: Owner, event: Taken, touch: Touch) -> str:
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

    def _acknowledge(self, event: Taken) -> None:
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
        except Stale:
            if self._owners.get(owner.partition) is owner:
                self._give_up(owner.partition)
        except Exception:
            logger.exception("%s: the items of partition %d are written again", STAGE, owner.partition)
            await asyncio.sleep(AGAIN_SECONDS)
