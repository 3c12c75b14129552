"""Key-ordered concurrency: one user's events one after another, many users at once, acks in offset order.

Faust's own `concurrency=N` loses table updates (the documentation forbids it), and out-of-order acks let a
commit pass over an event in flight (faust-streaming #606). So: one task per user who has something to do, which works
off that user's events, and a partition that counts as done up to its first unfinished event (`Reader`).

Other events wait in a backlog as they were fetched.
"""

import asyncio
import logging
import time
import weakref
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from faust.streams import _current_event

from streams.worker import metrics
from streams.worker.runtime.reader import Batch, Taken

if TYPE_CHECKING:
    from streams.worker.runtime.intake import Intake

logger = logging.getLogger("sager.ordered")

IN_FLIGHT = 256
"""Events that run at once, unless an agent asks for another number."""
AT_ONCE = 16
"""Events that begin before other tasks run: each is decoded then, which takes a while."""
LOOK_AGAIN_SECONDS = 0.05


class Stale(Exception):
    """The event's partition has moved: another worker processes it, and this one must not write."""


class Abandoned(Exception):
    """The event is unfinished, although its partition has not moved yet: it comes again, here or elsewhere."""


class Work(NamedTuple):
    """The handler of an event, and its owner, of whom one event is handled at a time; None: no owner."""

    key: str | None
    handle: Callable[[], Awaitable[None]]


class KeyOrdered:
    """Runs one agent's handlers, at most `in_flight` at once.

    `agent` returns an event's owner and handler (`route`), and handles an event whose handler raised (`on_error`).
    """

    def __init__(self, agent: "Intake", in_flight: int = IN_FLIGHT) -> None:
        self._agent, self._reader, self._limit = agent, agent.reader, in_flight
        self._backlog: deque[Taken] = deque()
        self._lines: dict[str, deque[tuple[Taken, Work]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._in_flight = 0
        self._will_look = False
        stage = agent.stage
        metrics.IN_FLIGHT_LIMIT.labels(stage).inc(in_flight)
        self._running, self._queued = metrics.IN_FLIGHT.labels(stage), metrics.QUEUED.labels(stage)
        self._unacked, self._stale = metrics.UNACKED.labels(stage), metrics.STALE.labels(stage)
        self._seconds = metrics.STAGE_SECONDS.labels(stage)

    def submit(self, batch: Batch) -> None:
        """Take events of a partition, and begin as many as there is room for."""
        self._backlog.extend(batch)
        self._queued.inc(len(batch))
        self._begin()

    def _begin(self) -> None:
        for _ in range(AT_ONCE):
            if self._in_flight >= self._limit or not self._backlog:
                return
            if not self._reader.flows:
                # Stale events are dropped if partitions have moved.
                self._look_again(LOOK_AGAIN_SECONDS)
                return
            self._begin_one()
        self._look_again(0.0)

    def _begin_one(self) -> None:
        event = self._backlog.popleft()
        if not self._reader.begin(event):
            self._queued.dec()
            return
        work = self._routed(event)
        self._in_flight += 1
        self._unacked.inc()
        line = None if work.key is None else self._lines.get(work.key)
        if line is not None:
            line.append((event, work))
            return
        line = deque([(event, work)])
        if work.key is not None:
            self._lines[work.key] = line
        task = asyncio.create_task(self._serve(work.key, line))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _routed(self, event: Taken) -> Work:
        try:
            return self._agent.route(event)
        except Exception as error:
            return Work(None, partial(_fail, error))

    def _look_again(self, seconds: float) -> None:
        if self._will_look:
            return
        self._will_look = True

        def look() -> None:
            self._will_look = False
            self._begin()

        asyncio.get_running_loop().call_later(seconds, look)

    async def _serve(self, key: str | None, line: deque[tuple[Taken, Work]]) -> None:
        try:
            while line:
                event, work = line[0]
                # From it a RocksDB table takes the partition of a key.
                _current_event.set(weakref.ref(event))
                self._queued.dec()
                with self._running.track_inprogress():
                    began = time.perf_counter()
                    await self._guarded(event, work)
                    self._seconds.observe(time.perf_counter() - began)
                # Not in the finally: an event that was cancelled must come again after the restart.
                event.is_done = True
                line.popleft()
                self._end(event)
                self._begin()
        finally:
            if key is not None:
                self._lines.pop(key, None)
            for event, _ in line:  # cancelled: none of them is done
                self._end(event)

    def _end(self, event: Taken) -> None:
        self._in_flight -= 1
        self._unacked.dec(self._reader.end(event))

    async def _guarded(self, event: Taken, work: Work) -> None:
        try:
            if self._reader.is_stale(event):
                raise Stale
            if event.head.is_left:
                raise Abandoned
            await work.handle()
        except (Stale, Abandoned):
            # Also where its partition has not moved yet: it is not done, and must not be committed in this generation.
            self._stale.inc()
            event.head.leave(event)
        except Exception as error:
            logger.exception("%s: %s/%s@%s", self._agent.stage, event.topic, event.partition, event.offset)
            await self._agent.on_error(event, error)


async def _fail(error: Exception) -> None:
    raise error
