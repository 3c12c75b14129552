"""Executors: one user's events one after another, many users at once, acknowledged in the order of offsets.

Faust's own `concurrency=N` loses table updates (the documentation forbids it), and acknowledging out of order lets a
commit pass over an event in flight (faust-streaming #606). So a task per user works off that user's events, and a
partition counts as done up to its first unfinished event (`dispatch.Reader`).

A handler gets events of the right type on the right partition, not from the future and not erased. Other records are
re-routed (invariant 13), dead-lettered (invariant 9) or dropped.
"""

import asyncio
import logging
import time
import weakref
from collections import deque
from collections.abc import AsyncIterable, Awaitable, Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

from faust.streams import _current_event

from operators.admission import TOLERANCE, RejectReason, event_id_of, reject_reason
from schemas import BadRecord, DeadLetter, Event, ForgetRequest, Model, Position, encode
from schemas.topics import TOPICS
from streams.kafka.clients import partition_of
from streams.metrics import CLOCK_SKEW, DEAD_LETTERS, FROM_THE_FUTURE
from streams.settings import Settings
from streams.worker import metrics
from streams.worker.deps import Worker
from streams.worker.runtime.dispatch import BatchReader, ConsumedRecord, RecordBatch, batches_of
from streams.worker.runtime.fence import Interrupted, PartitionRevoked
from streams.worker.runtime.producer import MessageSizeTooLarge, Producer

logger = logging.getLogger("sager.executor")

# Takes the consumed record, the event in it and its position; returns the outcome for the metrics.
Handler = Callable[[Any, Any, Position], Awaitable[str]]
# Events that run at once, unless an agent asks for another number.
DEFAULT_IN_FLIGHT = 256
# Events that begin before other tasks run: each is decoded then, which takes a while.
STARTS_PER_TURN = 16
RETRY_SECONDS, CLIPPED_BYTES = 0.05, 4_096
AHEAD_DETAIL = f"its time is more than {TOLERANCE.seconds // 60} minutes ahead of its record's or of the worker's clock"


class RoutedEvent(NamedTuple):
    """The handler of an event, and its owner: an owner's events run one at a time. None: no owner."""

    key: str | None
    handle: Callable[[], Awaitable[None]]


class DeadLetterWriter:
    """Keeps records that a stage cannot process."""

    def __init__(self, producer: Producer, settings: Settings, stage: str) -> None:
        self.stage = stage
        self._producer, self._settings = producer, settings

    async def dead_letter(
        self, event: Any, position: Position, reason: str, detail: str, value: bytes | None = None
    ) -> None:
        """Dead-letter a record with its position, the reason and its bytes."""
        if value is None:
            value = event.value or b""
        try:
            await self._send_letter(event, DeadLetter.of(self.stage, position, reason, detail, event.key, value))
        except MessageSizeTooLarge:
            # A broker with a lower limit than ours. Position and beginning are better than a partition that stops here.
            small = DeadLetter.of(self.stage, position, reason, detail, event.key, value, limit=CLIPPED_BYTES)
            await self._send_letter(event, small)
        DEAD_LETTERS.labels(self.stage, reason).inc()
        metrics.EVENTS.labels(self.stage, "dead-lettered").inc()

    async def _send_letter(self, event: Any, letter: DeadLetter) -> None:
        # Not by the key: hashing a hostile one takes 0.7 s a megabyte, and all agents would wait.
        partition = letter.source.partition
        await self._producer.send(event, DeadLetter.TOPIC, letter.key, encode(letter), partition=partition)


class RecordDispatcher(DeadLetterWriter):
    """The records of one agent, its `stage` in metrics and dead letters: decodes and checks them for its handler.

    An owner's events run one after another. Without `by_owner` each begins in its turn, runs to its first wait, and
    then they overlap.
    """

    def __init__(
        self, worker: Worker, stage: str, handle: Handler, *models: type[Event], by_owner: bool = True
    ) -> None:
        settings = worker.deps.settings
        super().__init__(worker.producer, settings, stage)
        self.reader: BatchReader = worker.app.reader
        self._tables, self._handler, self._by_owner = worker.tables, handle, by_owner
        self._event_key = settings.event_key_bytes
        self._topics = {settings.topic(model.TOPIC): TOPICS[model.TOPIC] for model in models}

    def route(self, event: ConsumedRecord) -> RoutedEvent:
        """Return the owner of a record's event, and the handler to run."""
        topic = self._topics[event.topic]
        position = event.position
        if topic.model is not ForgetRequest:
            self.reader.newest_ms = max(self.reader.newest_ms, position.timestamp_ms)
        metrics.labelled(metrics.TAKEN, topic.base).inc()
        try:
            record = self._tables.decode(topic.model, event.value)
        except BadRecord as error:
            return RoutedEvent(None, partial(self.dead_letter, event, position, error.reason, error.detail))
        owner = topic.owner_of(record)
        right = partition_of(owner, self._settings.partitions)
        if right != position.partition:
            return RoutedEvent(owner, partial(self._reroute, event, topic.base, owner, right))
        return RoutedEvent(owner if self._by_owner else None, partial(self._handle, event, record, position))

    async def _handle(self, event: Any, record: Model, position: Position) -> None:
        why = self._reject_reason(record, position)
        if why is RejectReason.FROM_THE_FUTURE:
            await self.dead_letter(event, position, why.value, AHEAD_DETAIL)
            return
        outcome = why.value if why else await self._handler(event, record, position)
        metrics.labelled(metrics.EVENTS, self.stage, outcome).inc()

    def _reject_reason(self, record: Model, position: Position) -> RejectReason | None:
        if event_id_of(record) is None:
            return None
        user_id, occurred_at = record.user_id, record.occurred_at  # type: ignore[attr-defined]
        receipt, now = self._tables.receipt(user_id), datetime.now(UTC)
        logged_at = position.moment if position.timestamp_ms else None
        if logged_at is not None:
            CLOCK_SKEW.set(max(0.0, (logged_at - now).total_seconds()))
            FROM_THE_FUTURE.inc(logged_at - now > TOLERANCE)
        why = reject_reason(record, logged_at, now, receipt, self._event_key)
        if why is not None or receipt is None:
            return why
        moments = [occurred_at] if logged_at is None else [occurred_at, logged_at]
        return RejectReason.FORGOTTEN if receipt.covers(getattr(record, "domain", None), *moments) else None

    async def _reroute(self, event: Any, base: str, owner: str, right: int) -> None:
        # The record's producer does not hash keys with murmur2.
        await self._producer.send(event, base, owner.encode(), event.value, partition=right)
        metrics.REROUTED.labels(self.stage).inc()
        metrics.EVENTS.labels(self.stage, "rerouted").inc()

    async def on_error(self, event: Any, error: Exception) -> None:
        """Dead-letter an event whose handler failed unexpectedly."""
        detail = f"{type(error).__name__}: {error}"
        try:
            await self.dead_letter(event, event.position, "internal-error", detail)
        except PartitionRevoked:
            metrics.STALE.labels(self.stage).inc()


class KeyedExecutor:
    """Runs one agent's handlers, at most `in_flight` at once.

    `records` returns an event's owner and handler, and dead-letters an event whose handler raised.
    """

    def __init__(self, records: RecordDispatcher, in_flight: int = DEFAULT_IN_FLIGHT) -> None:
        self._records, self._reader, self._limit = records, records.reader, in_flight
        self._backlog: deque[ConsumedRecord] = deque()
        self._queues: dict[str, deque[tuple[ConsumedRecord, RoutedEvent]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._in_flight = 0
        self._is_scheduled = False
        stage = records.stage
        metrics.IN_FLIGHT_LIMIT.labels(stage).inc(in_flight)
        self._running, self._queued = metrics.IN_FLIGHT.labels(stage), metrics.QUEUED.labels(stage)
        self._unacked, self._stale = metrics.UNACKED.labels(stage), metrics.STALE.labels(stage)
        self._seconds = metrics.STAGE_SECONDS.labels(stage)

    def submit(self, batch: RecordBatch) -> None:
        """Take events of a partition, and begin as many as there is room for."""
        self._backlog.extend(batch)
        self._queued.inc(len(batch))
        self._start_ready()

    def _start_ready(self) -> None:
        for number in range(STARTS_PER_TURN):
            if self._in_flight >= self._limit or not self._backlog:
                return
            if number == 0 and not self._reader.app.flow_control.is_active():
                # Stale events are dropped if partitions have moved.
                self._schedule_start(RETRY_SECONDS)
                return
            self._start_one()
        self._schedule_start(0.0)

    def _start_one(self) -> None:
        event = self._backlog.popleft()
        if not self._reader.begin(event):
            self._queued.dec()
            return
        task = self._route(event)
        self._in_flight += 1
        self._unacked.inc()
        queue = None if task.key is None else self._queues.get(task.key)
        if queue is not None:
            queue.append((event, task))
            return
        queue = deque([(event, task)])
        if task.key is not None:
            self._queues[task.key] = queue
        serving = asyncio.create_task(self._serve(task.key, queue))
        self._tasks.add(serving)
        serving.add_done_callback(self._tasks.discard)

    def _route(self, event: ConsumedRecord) -> RoutedEvent:
        try:
            return self._records.route(event)
        except Exception as error:
            return RoutedEvent(None, partial(_fail, error))

    def _schedule_start(self, seconds: float) -> None:
        if self._is_scheduled:
            return
        self._is_scheduled = True

        def start() -> None:
            self._is_scheduled = False
            self._start_ready()

        asyncio.get_running_loop().call_later(seconds, start)

    async def _serve(self, key: str | None, queue: deque[tuple[ConsumedRecord, RoutedEvent]]) -> None:
        try:
            while queue:
                event, task = queue[0]
                # From it a RocksDB table takes the partition of a key.
                _current_event.set(weakref.ref(event))
                self._queued.dec()
                with self._running.track_inprogress():
                    began = time.perf_counter()
                    await self._guarded(event, task)
                    self._seconds.observe(time.perf_counter() - began)
                # Not in the finally: an event that was cancelled must come again after the restart.
                event.is_done = True
                queue.popleft()
                self._end(event)
                self._start_ready()
        finally:
            if key is not None:
                self._queues.pop(key, None)
            for event, _ in queue:  # cancelled: none of them is done
                self._end(event)

    def _end(self, event: ConsumedRecord) -> None:
        self._in_flight -= 1
        self._unacked.dec(self._reader.end(event))

    async def _guarded(self, event: ConsumedRecord, task: RoutedEvent) -> None:
        try:
            if event.generation_id != event.progress.app.consumer_generation_id:
                raise PartitionRevoked
            if event.progress.abandoned_at is not None:
                raise Interrupted
            await task.handle()
        except (PartitionRevoked, Interrupted):
            # Also where its partition has not moved yet: it is not done, and must not be committed in this generation.
            self._stale.inc()
            event.progress.abandon(event)
        except Exception as error:
            logger.exception("%s: %s/%s@%s", self._records.stage, event.topic, event.partition, event.offset)
            await self._records.on_error(event, error)


async def _fail(error: Exception) -> None:
    raise error


def define_agent(
    app: Any, name: str, topics: Sequence[type[Event]], take: Callable[[RecordBatch], None], about: str
) -> None:
    """Define a Faust agent that passes each batch of these topics to `take`; `faust agents` prints `about`."""

    async def agent(batches: AsyncIterable[RecordBatch]) -> None:
        async for batch in batches:
            take(batch)

    agent.__doc__ = about
    app.agent(batches_of(app, *topics), name=name)(agent)
