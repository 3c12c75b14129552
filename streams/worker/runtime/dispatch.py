"""Dispatches records to handlers: each user's events in order, many users concurrently.

Faust's `concurrency=N` loses table updates, and a commit can pass over an event in flight (faust-streaming #606). Here
each event has a task that holds its user's lock, and `BatchReader` commits up to the first unfinished one.

Handlers get valid events on the right partition, neither from the future nor erased, in lists of known items. Other
records are re-routed (invariant 13), dead-lettered (invariant 9) or dropped.
"""

import asyncio
import logging
import weakref
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from faust.streams import _current_event

from operators.admission import TOLERANCE, RejectReason, event_id_of, reject_reason
from schemas import TOPICS, BadRecord, DeadLetter, Event, ForgetRequest, Model, Position, decode, encode
from streams.kafka.clients import partition_of
from streams.metrics import CLOCK_SKEW, DEAD_LETTERS, FROM_THE_FUTURE
from streams.settings import Settings
from streams.worker import metrics
from streams.worker.deps import Worker
from streams.worker.runtime.batches import Batches, ConsumedRecord, RecordBatch, batches_of
from streams.worker.runtime.membership import Interrupted, PartitionRevoked
from streams.worker.runtime.producer import MessageSizeTooLarge, Producer

logger = logging.getLogger("sager.executor")

# Takes the record, its event and its position; returns the outcome, a label of the metrics.
Handler = Callable[[Any, Any, Position], Awaitable[str]]
# Concurrent events of an agent by default.
DEFAULT_IN_FLIGHT = 256
# Decoding a record takes 0.1 ms: more starts in one turn would delay heartbeats.
STARTS_PER_TURN = 16
RETRY_SECONDS, CLIPPED_BYTES = 0.05, 4_096
AHEAD_DETAIL = f"its time is more than {TOLERANCE.seconds // 60} minutes ahead of its record's or of the worker's clock"

UNKNOWN_ITEM = "unknown-item"
UNKNOWN_DETAIL = "is an id alone, and the topic `items` has no such item of this domain: send it there, then replay"


class RoutedEvent(NamedTuple):
    """The handler of an event, and its owner, if any."""

    key: str | None
    handle: Callable[[], Awaitable[None]]


class DeadLetterWriter:
    """Sends records that a stage cannot process to the dead letters."""

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
            # The broker's limit is below ours. A clipped letter is better than a partition that stops here.
            small = DeadLetter.of(self.stage, position, reason, detail, event.key, value, limit=CLIPPED_BYTES)
            await self._send_letter(event, small)
        DEAD_LETTERS.labels(self.stage, reason).inc()
        metrics.EVENTS.labels(self.stage, "dead-lettered").inc()

    async def on_error(self, event: Any, error: Exception) -> None:
        """Dead-letter an event whose handler failed unexpectedly."""
        logger.error("%s: %s/%s@%s", self.stage, event.topic, event.partition, event.offset, exc_info=error)
        await self.dead_letter(event, event.position, "internal-error", f"{type(error).__name__}: {error}")

    async def _send_letter(self, event: Any, letter: DeadLetter) -> None:
        # Not by key: hashing a hostile key takes 0.7 s per megabyte, and blocks all agents.
        partition = letter.source.partition
        await self._producer.send(event, DeadLetter.TOPIC, letter.key, encode(letter), partition=partition)


class RecordDispatcher(DeadLetterWriter):
    """Decodes and checks an agent's records, and routes them to its handlers.

    `stage` names the agent in metrics and dead letters. Without `by_owner`, an owner's events may overlap.
    """

    def __init__(
        self, worker: Worker, stage: str, handlers: Mapping[type[Event], Handler], *, by_owner: bool = True
    ) -> None:
        settings = worker.deps.settings
        super().__init__(worker.producer, settings, stage)
        self._app, self.reader = worker.app, worker.app.reader
        self.models, self._tables, self._by_owner = tuple(handlers), worker.tables, by_owner
        self._event_key, self._catalogue = settings.event_key_bytes, worker.deps.catalogue
        self._routes = {
            settings.topic(model.TOPIC): (TOPICS[model.TOPIC], handler) for model, handler in handlers.items()
        }

    def define_agent(self, submit: Callable[[RecordBatch], None], name: str | None = None) -> None:
        """Define the Faust agent that submits batches of these records."""

        async def submit_all(batches: Batches) -> None:
            async for batch in batches:
                submit(batch)

        self._app.agent(batches_of(self._app, *self.models), name=name or self.stage)(submit_all)

    def route(self, event: ConsumedRecord) -> RoutedEvent:
        """Return the handler for a record, and the owner of its event."""
        topic, handler = self._routes[event.topic]
        position = event.position
        if topic.model is not ForgetRequest:
            self.reader.newest_ms = max(self.reader.newest_ms, position.timestamp_ms)
        metrics.labelled(metrics.TAKEN, topic.base).inc()
        try:
            record = decode(topic.model, event.value)
        except BadRecord as error:
            return RoutedEvent(None, partial(self.dead_letter, event, position, error.reason, error.detail))
        owner = topic.owner_of(record)
        right = partition_of(owner, self._settings.partitions)
        if right != position.partition:
            return RoutedEvent(owner, partial(self._reroute, event, topic.base, owner, right))
        return RoutedEvent(owner if self._by_owner else None, partial(self._handle, handler, event, record, position))

    async def _handle(self, handler: Handler, event: Any, record: Model, position: Position) -> None:
        why = self._reject_reason(record, position)
        if why is RejectReason.FROM_THE_FUTURE:
            await self.dead_letter(event, position, why.value, AHEAD_DETAIL)
            return
        if why is None and (unknown := await self._catalogue.unknown_item(record, position)) is not None:
            await self.dead_letter(event, position, UNKNOWN_ITEM, f"{unknown!r} {UNKNOWN_DETAIL}")
            return
        outcome = why.value if why else await handler(event, record, position)
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


class KeyedExecutor:
    """Runs up to `in_flight` handlers of an agent, one per owner."""

    def __init__(self, records: RecordDispatcher, in_flight: int = DEFAULT_IN_FLIGHT) -> None:
        self._records, self._reader, self._limit = records, records.reader, in_flight
        self._backlog: deque[ConsumedRecord] = deque()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_scheduled = False
        stage = records.stage
        metrics.IN_FLIGHT_LIMIT.labels(stage).inc(in_flight)
        self._running, self._queued = metrics.IN_FLIGHT.labels(stage), metrics.QUEUED.labels(stage)
        self._unacked, self._stale = metrics.UNACKED.labels(stage), metrics.STALE.labels(stage)
        self._seconds = metrics.STAGE_SECONDS.labels(stage)

    def submit(self, batch: RecordBatch) -> None:
        """Queue events of a partition, and start up to the limit."""
        self._backlog.extend(batch)
        self._queued.inc(len(batch))
        self._start_ready()

    def _start_ready(self) -> None:
        for number in range(STARTS_PER_TURN):
            if len(self._tasks) >= self._limit or not self._backlog:
                return
            if number == 0 and not self._reader.app.flow_control.is_active():
                # A rebalance: events of moved partitions turn stale, and are dropped later.
                self._schedule_start(RETRY_SECONDS)
                return
            self._start_one()
        self._schedule_start(0.0)

    def _schedule_start(self, seconds: float) -> None:
        if self._is_scheduled:
            return
        self._is_scheduled = True

        def start() -> None:
            self._is_scheduled = False
            self._start_ready()

        asyncio.get_running_loop().call_later(seconds, start)

    def _start_one(self) -> None:
        event = self._backlog.popleft()
        if not self._reader.begin(event):
            self._queued.dec()
            return
        try:
            routed = self._records.route(event)
        except Exception as error:
            routed = RoutedEvent(None, partial(self._records.on_error, event, error))
        self._unacked.inc()
        # Locks are fair and tasks begin in the order of their creation, so an owner's events keep their order.
        lock = None if routed.key is None else self._locks.setdefault(routed.key, asyncio.Lock())
        task = asyncio.create_task(self._run(event, routed, lock))
        self._tasks.add(task)
        task.add_done_callback(partial(self._end, event))

    async def _run(self, event: ConsumedRecord, routed: RoutedEvent, lock: asyncio.Lock | None) -> None:
        async with lock or nullcontext():
            # A RocksDB table takes the partition of a key from the current event.
            _current_event.set(weakref.ref(event))
            self._queued.dec()
            try:
                with self._running.track_inprogress(), self._seconds.time():
                    await self._guarded(event, routed)
            except BaseException:
                # Cancelled, or its dead letter failed. It comes again after the restart, with its owner's later events:
                # if those were applied first, the fence would take it for a repeat.
                event.progress.abandon(event)
                raise
            event.is_done = True

    def _end(self, event: ConsumedRecord, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._unacked.dec(self._reader.end(event))
        if not task.cancelled():
            self._start_ready()

    async def _guarded(self, event: ConsumedRecord, routed: RoutedEvent) -> None:
        try:
            if event.generation_id != event.progress.app.consumer_generation_id:
                raise PartitionRevoked
            if event.progress.abandoned_at is not None:
                raise Interrupted
            try:
                await routed.handle()
            except (PartitionRevoked, Interrupted):
                raise
            except Exception as error:
                await self._records.on_error(event, error)
        except (PartitionRevoked, Interrupted):
            # Also if the partition has not moved yet: a commit in this generation would lose the unfinished event.
            self._stale.inc()
            event.progress.abandon(event)
