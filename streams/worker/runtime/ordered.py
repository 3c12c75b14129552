"""Key-ordered concurrency: one user's events one after another, many users at once, acks in offset order.

Faust's own `concurrency=N` loses table updates (the documentation forbids it), and out-of-order acks let a
commit pass over an event in flight (faust-streaming #606). So: one stream, one task per event chained behind
the previous task of its key, and acknowledgement of the contiguous head of each partition.
"""

import asyncio
import logging
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from typing import Any

from streams.worker import metrics

logger = logging.getLogger("sager.ordered")


class Stale(Exception):
    """The event's partition has moved: another worker processes it, and this one must not write."""


class Abandoned(Exception):
    """The event is unfinished and must not be acknowledged, although its partition has not moved yet.

    It is delivered again, to this worker or to another one.
    """


class KeyOrdered:
    """Runs handlers of a manually acknowledged stream.

    Args:
        stream: what `stream.noack()` gave.
        stage: the agent's name in metrics.
        in_flight: how many handlers may run at once.
        current_generation: the consumer generation now; an event of another one is not acknowledged.
        on_error: what is to become of an event whose handler raised; must not raise.
        on_progress: called whenever an event is finished.
        on_acknowledged: called with the message of every event that is acknowledged.
    """

    def __init__(
        self,
        stream: Any,
        stage: str,
        in_flight: int,
        current_generation: Callable[[], int],
        on_error: Callable[[Any, Exception], Awaitable[None]],
        on_progress: Callable[[], None],
        on_acknowledged: Callable[[Any], None],
    ) -> None:
        self._stream = stream
        self._stage = stage
        self._room = asyncio.Semaphore(in_flight)
        self._generation = current_generation
        self._on_error = on_error
        self._on_progress = on_progress
        self._on_acknowledged = on_acknowledged
        self._last_of_key: dict[str, asyncio.Task[None]] = {}
        self._pending: dict[Any, deque[Any]] = defaultdict(deque)
        self._done: set[Any] = set()
        # Partitions, by generation, of which an event was abandoned: what stands behind it comes again with it.
        self._left: set[Any] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._running = metrics.IN_FLIGHT.labels(stage)
        self._queued = metrics.QUEUED.labels(stage)
        self._unacked = metrics.UNACKED.labels(stage)

    async def submit(self, event: Any, key: str | None, handle: Callable[[], Awaitable[None]]) -> None:
        """Run `handle` once all earlier events of this key are done; waits while too many are in flight."""
        with self._queued.track_inprogress():
            await self._room.acquire()
        # Per generation: an event that comes again after a rebalance must not be acknowledged by its old self.
        queue = (event.message.tp, event.message.generation_id)
        self._pending[queue].append(event)
        self._unacked.inc()
        before = self._last_of_key.get(key) if key is not None else None
        task = asyncio.create_task(self._run(event, queue, before, key, handle))
        if key is not None:
            self._last_of_key[key] = task
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def submit_alone(self, event: Any, handle: Callable[[], Awaitable[None]]) -> None:
        """Run `handle` when all earlier events are done, and begin no later one before it is."""
        while self._tasks:
            await asyncio.wait(self._tasks)
        await self.submit(event, None, handle)
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def _run(
        self,
        event: Any,
        queue: Any,
        before: asyncio.Task[None] | None,
        key: str | None,
        handle: Callable[[], Awaitable[None]],
    ) -> None:
        try:
            if before is not None:
                with self._queued.track_inprogress():
                    await asyncio.wait([before])
            with self._running.track_inprogress(), metrics.STAGE_SECONDS.labels(self._stage).time():
                await self._guarded(event, queue, handle)
            # Not in the finally: an event that was cancelled half-way must come again after the restart.
            self._done.add(event)
        finally:
            self._room.release()
            if key is not None and self._last_of_key.get(key) is asyncio.current_task():
                del self._last_of_key[key]
        await self._acknowledge(queue)
        self._on_progress()

    async def _guarded(self, event: Any, queue: Any, handle: Callable[[], Awaitable[None]]) -> None:
        try:
            if self._is_stale(event):
                raise Stale
            if queue in self._left:
                raise Abandoned
            await handle()
        except Stale:
            metrics.STALE.labels(self._stage).inc()
        except Abandoned:
            metrics.STALE.labels(self._stage).inc()
            self._left.add(queue)
        except Exception as error:
            message = event.message
            logger.exception("%s: %s/%s@%s", self._stage, message.topic, message.partition, message.offset)
            await self._on_error(event, error)

    async def _acknowledge(self, queue: Any) -> None:
        pending = self._pending[queue]
        while pending and pending[0] in self._done:
            event = pending.popleft()
            self._done.discard(event)
            self._unacked.dec()
            if queue in self._left:
                # Nothing of this partition is committed any more, and Faust must not wait for it to be.
                event.message.acked = True
            elif not self._is_stale(event):
                await self._stream.ack(event)
                self._on_acknowledged(event.message)
        if not pending:
            self._pending.pop(queue, None)

    def _is_stale(self, event: Any) -> bool:
        return bool(event.message.generation_id != self._generation())
