"""Agent `propagate`: items hear who took them, and are written once in a while (paper 2.2)."""

import asyncio
import logging
import time
from typing import Any

from pydantic_core import from_json

from operators.propagate import shared_out, touch_of_old
from schemas import BadRecord, Touch, decode
from streams.kafka.clients import partition_of
from streams.kafka.packed import unpack
from streams.worker import metrics
from streams.worker.graph import send_touch
from streams.worker.items.owner import Owner
from streams.worker.pipeline import Pipeline, position_of
from streams.worker.runtime.intake import Intake
from streams.worker.runtime.ordered import Stale

logger = logging.getLogger("sager.worker")

STAGE = "propagate"
LOOK_SECONDS = 0.1
AGAIN_SECONDS = 1.0
MOST_WAITING = 20_000
"""Touches of a partition that are applied and not acknowledged yet; then no more are read."""


def attach(pipeline: Pipeline) -> None:
    """Add the agent to the worker."""
    propagate = Propagate(pipeline)
    pipeline.app.agent(pipeline.source(Touch.TOPIC), name=STAGE)(propagate.run)


class Propagate:
    """The agent: one owner of items for each partition that this worker has been given."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._letters = Intake(pipeline, STAGE, {})
        self._owners: dict[int, Owner] = {}
        self._flushing: asyncio.Task[None] | None = None
        self._unacked = metrics.UNACKED.labels(STAGE)
        self._stream: Any = None

    async def run(self, stream: Any) -> None:
        """Take every event of a stream; no event makes it raise."""
        self._stream = stream.noack()
        async for event in self._stream.events():
            await self._on_event(event)

    async def _on_event(self, event: Any) -> None:
        metrics.TAKEN.labels(Touch.TOPIC).inc()
        try:
            owner = await self._owner(event)
            outcome = await self._handle(owner, event)
        except Stale:
            metrics.STALE.labels(STAGE).inc()
            return
        metrics.EVENTS.labels(STAGE, outcome).inc()
        self._flush_soon()
        if owner.waiting > MOST_WAITING and self._flushing is not None:
            await asyncio.wait([self._flushing])

    async def _owner(self, event: Any) -> Owner:
        """The owner of the event's partition; a new one begins where the log ends.

        Raises:
            Stale: the partition has moved.
        """
        partition, generation = event.message.partition, event.message.generation_id
        owner = self._owners.get(partition)
        if owner is not None and owner.generation == generation:
            return owner
        self._owners.pop(partition, None)
        if self._flushing is not None:  # what is on its way to the log is part of where a new owner begins
            await asyncio.wait([self._flushing])
        owner = Owner(self._pipeline, partition, generation, self._acknowledge)
        await owner.claim()
        if generation != self._pipeline.generation():
            raise Stale
        self._owners[partition] = owner
        return owner

    async def _handle(self, owner: Owner, event: Any) -> str:
        """Have the event applied; what cannot be is dead-lettered. Its outcome's word."""
        position = position_of(event.message)
        try:
            touch = self._read(unpack(event.value or b""))
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

    async def _apply(self, owner: Owner, event: Any, touch: Touch) -> str:
        """Apply what is of this partition, and send on what is not: its sender counts other partitions."""
        parts = shared_out(touch, lambda item_id: partition_of(item_id, self._pipeline.settings.partitions))
        here = parts.pop(owner.partition, None)
        for partition, part in parts.items():
            await send_touch(self._pipeline, event, part, partition)
            metrics.REROUTED.labels(STAGE).inc()
        if here is None:
            owner.add(event)
            return "rerouted"
        return owner.take(event, here)

    def _read(self, value: bytes) -> Touch:
        """A touch, also one of an older release.

        Raises:
            BadRecord: it is none.
        """
        try:
            return decode(Touch, value)
        except BadRecord:
            try:
                return touch_of_old(from_json(value), self._pipeline.graph_limits.secret)
            except (ValueError, TypeError, KeyError, AttributeError):
                pass
            raise

    async def _acknowledge(self, event: Any) -> None:
        await self._stream.ack(event)

    def _flush_soon(self) -> None:
        self._unacked.set(sum(owner.waiting for owner in self._owners.values()))
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._flush())

    async def _flush(self) -> None:
        """Write and acknowledge after a while, until nothing waits."""
        while any(owner.waiting for owner in self._owners.values()):
            await self._pause()
            await asyncio.gather(*map(self._flush_one, list(self._owners.values())))
            self._unacked.set(sum(owner.waiting for owner in self._owners.values()))

    async def _flush_one(self, owner: Owner) -> None:
        try:
            await owner.flush()
        except Stale:
            metrics.STALE.labels(STAGE).inc()
            if self._owners.get(owner.partition) is owner:
                del self._owners[owner.partition]
        except Exception:
            logger.exception("%s: the items of partition %d are written again", STAGE, owner.partition)
            await asyncio.sleep(AGAIN_SECONDS)

    async def _pause(self) -> None:
        """Wait for more to come; not while a rebalance or the worker's end waits for what is unacknowledged."""
        until, flow = time.monotonic() + self._pipeline.settings.graph_flush_seconds, self._pipeline.app.flow_control
        while (remaining := until - time.monotonic()) > 0 and flow.is_active():  # noqa: ASYNC110 - it has no event
            await asyncio.sleep(min(remaining, LOOK_SECONDS))
        await asyncio.sleep(0)
