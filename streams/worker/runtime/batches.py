"""Fetched records in batches, and the offsets to commit.

A Faust stream costs 0.3 CPU ms per element, so an element is a batch: all records of one partition in one fetch.
`BatchConsumer` passes them to the `BatchReader`, which queues them on the `BatchTopic` of their agent. Faust still does
the group, the assignment, the fetching, the tables and the commits.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import faust
from faust.transport.drivers import aiokafka as driver
from faust.types import TP
from mode.utils.queues import FlowControlEvent, ThrowableQueue

from schemas import Event, ItemUpdate, Position
from streams.worker import metrics

# A partition with so many waiting events is paused. Fewer would leave the worker idle until the next fetch.
MAX_WAITING = 256
POLL_SECONDS = 0.1


class PartitionProgress:
    """Progress of one partition in one consumer generation.

    Records are dispatched up to `dispatched` and finished up to `done`; `waiting` of them have not begun. From
    `abandoned_at` on, Kafka delivers the records again, so no more events begin here.
    """

    __slots__ = ("abandoned_at", "app", "dispatched", "done", "generation", "is_paused", "pending", "tp", "waiting")

    def __init__(self, tp: TP, generation: int, app: Any = None) -> None:
        self.tp, self.generation, self.app = tp, generation, app
        self.dispatched = self.waiting = 0
        self.is_paused = False
        self.done: int | None = None
        self.abandoned_at: int | None = None
        self.pending: deque[ConsumedRecord] = deque()

    def abandon(self, event: "ConsumedRecord") -> None:
        """Commit neither this event nor a later one in this generation."""
        self.abandoned_at = event.offset if self.abandoned_at is None else min(self.abandoned_at, event.offset)


class ConsumedRecord:
    """A Faust event and its message."""

    def __init__(self, progress: PartitionProgress, record: Any) -> None:
        self.progress, self.tp, self.generation_id = progress, progress.tp, progress.generation
        self.topic, self.partition = progress.tp
        self.offset: int = record.offset
        self.key: bytes | None = record.key
        self.value: bytes | None = record.value
        self.position = Position(
            topic=self.topic, partition=self.partition, offset=self.offset, timestamp_ms=max(0, record.timestamp or 0)
        )
        self.is_done = False

    @property
    def message(self) -> "ConsumedRecord":
        """This record, for Faust's `event.message`."""
        return self

    @property
    def app(self) -> Any:
        """The app, for `reasoner._check_partition`."""
        return self.progress.app


# Records of one partition, in order.
RecordBatch = list[ConsumedRecord]
# The stream of an agent.
Batches = AsyncIterable[RecordBatch]


class RegisteredTopic(faust.Topic):
    """A topic of the registry, with raw bytes."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raw = {"key_type": bytes, "value_type": bytes, "key_serializer": "raw", "value_serializer": "raw"}
        super().__init__(*args, **{**kwargs, **raw})

    async def declare(self) -> None:
        """Do nothing: `topics.ensure` creates the topic."""
        # Faust would create it with its own partition count, and a user's events and state would be on different ones.


class BatchTopic(RegisteredTopic):
    """The channel of an agent whose stream elements are batches."""

    _queue: ThrowableQueue | None

    @property
    def queue(self) -> ThrowableQueue:
        """The queue of all clones, which the reader bounds by pausing partitions."""
        if self._queue is None:
            # Without flow control: if Faust cleared the queue within a generation, its records would never come again.
            self._queue = ThrowableQueue(flow_control=FlowControlEvent(initially_suspended=False))
        return self._queue

    def _clone_args(self) -> Mapping[str, Any]:
        return {**super()._clone_args(), "queue": self.queue}

    def get_topic_name(self) -> str:
        """Return the names of the topics, for `faust agents`."""
        return ", ".join(self.topics)


def batches_of(app: Any, *models: type[Event | ItemUpdate]) -> BatchTopic:
    """Return the channel of an agent that reads these models' topics."""
    topic = BatchTopic(app, topics=[app.settings.topic(model.TOPIC) for model in models])
    app.reader.channels.update(dict.fromkeys(topic.topics, topic))
    for model, name in zip(models, topic.topics, strict=True):
        metrics.OLDEST.labels(model.TOPIC).set_function(partial(app.reader.oldest, name))
    return topic


class BatchReader:
    """Dispatches fetched records to their channels, and tracks finished events.

    `progressed` is when an event was last finished (monotonic seconds). `newest_ms` is the newest Kafka timestamp of
    all events read, except erasure requests.
    """

    def __init__(self, app: Any) -> None:
        self.app = app
        self.channels: dict[str, BatchTopic] = {}
        self._progress: dict[TP, PartitionProgress] = {}
        self._unfinished, self._idle = 0, asyncio.Event()
        self._idle.set()
        self._next_offset: dict[TP, int] = {}
        self.progressed = time.monotonic()
        self.newest_ms = 0

    def dispatch(self, where: tuple[str, int], records: Iterable[Any]) -> None:
        """Queue fetched records for their agent, each once per generation."""
        if batch := self.batch(TP(*where), records):
            self.channels[where[0]].queue.put_nowait(batch)

    def batch(self, tp: TP, records: Iterable[Any]) -> RecordBatch:
        """Return the records that were not dispatched yet in this generation."""
        generation = self.app.consumer_generation_id
        progress = self._progress.get(tp)
        if progress is None or progress.generation != generation:
            progress = self._progress[tp] = PartitionProgress(tp, generation, self.app)
        events = [ConsumedRecord(progress, record) for record in records if record.offset >= progress.dispatched]
        if events:
            progress.dispatched = events[-1].offset + 1
            progress.pending.extend(events)
            progress.waiting += len(events)
            if progress.waiting >= MAX_WAITING and not progress.is_paused:
                progress.is_paused = True
                # Records that the fetcher holds already still arrive.
                self.app.consumer.on_buffer_full(tp)
        return events

    @property
    def flows(self) -> bool:
        """True if events may begin, without rebalance, recovery or shutdown."""
        return bool(self.app.flow_control.is_active())

    def begin(self, event: ConsumedRecord) -> bool:
        """Count an event as running; return false if it is stale."""
        # A rebalance waits for running events.
        progress = event.progress
        if progress.generation != self.app.consumer_generation_id:
            return False
        progress.waiting -= 1
        if progress.is_paused and progress.waiting < MAX_WAITING // 2:
            progress.is_paused = False
            self.app.consumer.on_buffer_drop(progress.tp)
        self._unfinished += 1
        self._idle.clear()
        return True

    def end(self, event: ConsumedRecord) -> int:
        """Count an event as ended; return how many leave the pending queue."""
        self.touch()
        self._unfinished -= 1
        if not self._unfinished:
            self._idle.set()
        progress, before = event.progress, len(event.progress.pending)
        while progress.pending and progress.pending[0].is_done:
            done = progress.pending.popleft()
            if (progress.abandoned_at is None or done.offset < progress.abandoned_at) and not self._is_stale(progress):
                self.acknowledge(done)
        return before - len(progress.pending)

    def acknowledge(self, event: ConsumedRecord) -> None:
        """Acknowledge an event; callers keep the order of its partition."""
        self._next_offset[event.tp] = event.progress.done = event.offset + 1

    def _is_stale(self, progress: PartitionProgress) -> bool:
        return bool(progress.generation != self.app.consumer_generation_id)

    def done(self, tp: TP) -> int | None:
        """Return the offset to commit."""
        progress = self._progress.get(tp)
        return None if progress is None or self._is_stale(progress) else progress.done

    def all_done(self) -> Mapping[TP, int]:
        """Return the offsets to commit, by partition."""
        found = ((tp, self.done(tp)) for tp in self._progress)
        return {tp: offset for tp, offset in found if offset is not None}

    def touch(self) -> None:
        """Record progress for the watchdog."""
        self.progressed = time.monotonic()
        metrics.PROGRESS.set_to_current_time()

    def is_acknowledged(self, source: Position) -> bool:
        """Return true if Kafka will not deliver this position to us again."""
        tp = TP(source.topic, source.partition)
        return source.offset < self._reached(tp)

    def has_earlier(self, topic: str, partition: int, than_ms: int) -> bool:
        """Return true if a partition may have unfinished records with an earlier Kafka timestamp."""
        tp = TP(topic, partition)
        progress = self._progress.get(tp)
        if progress is not None and progress.pending and not self._is_stale(progress):
            return progress.pending[0].position.timestamp_ms < than_ms
        try:
            end = self.app.consumer.highwater(tp)
        except (AssertionError, LookupError):  # the partition is not assigned to this worker
            return False
        if end is None:
            return True
        return int(end) > self._reached(tp)

    def _reached(self, tp: TP) -> int:
        # Another worker may have had the partition since our last record.
        return max(self._next_offset.get(tp, 0), int(self.app.consumer._committed_offset.get(tp) or 0))

    def oldest(self, topic: str) -> float:
        """Return when Kafka logged the oldest unfinished record, or now.

        It covers the records fetched from this worker's partitions, in seconds since 1970.
        """
        found = [time.time()]
        for tp, progress in list(self._progress.items()):
            if tp.topic == topic and tp in self.app.consumer.assignment():
                # The event loop may take the last record meanwhile: metrics have a thread of their own.
                with suppress(IndexError):
                    found.append(progress.pending[0].position.timestamp_ms / 1_000)
        return min(found)

    async def pause(self, seconds: float, is_over: Callable[[], bool] = lambda: False) -> None:
        """Collect more events before a write, until `is_over`.

        It ends early if a rebalance or shutdown waits for unacknowledged events.
        """
        until = time.monotonic() + seconds
        while (remaining := until - time.monotonic()) > 0 and self.flows and not is_over():  # noqa: ASYNC110 - no event
            await asyncio.sleep(min(remaining, POLL_SECONDS))

    async def wait_empty(self) -> None:
        """Wait until no event is running."""
        await self._idle.wait()


class BatchConsumer(driver.Consumer):
    """A Faust consumer that dispatches by the reader, and commits its offsets."""

    async def _wait_next_records(self, timeout: float) -> Any:  # noqa: ASYNC109 - Faust's own name
        records, active = await super()._wait_next_records(timeout)
        reader: BatchReader = self.app.reader
        # While the flow is stopped, Faust drops fetched records and seeks back.
        if records and self.flow_active and not self.should_stop:
            for tp in [tp for tp in records if tp.topic in reader.channels]:
                batch = records.pop(tp)
                if tp in active or tp in self._buffered_partitions:
                    reader.dispatch(tp, batch)
        return records, active

    async def wait_empty(self) -> None:
        """Wait for running events, then commit, before partitions move."""
        await self.app.reader.wait_empty()
        await super().wait_empty()

    def _filter_tps_with_pending_acks(self, topics: Any = None) -> Iterator[TP]:
        yield from super()._filter_tps_with_pending_acks(topics)
        yield from self.app.reader.all_done()

    def _new_offset(self, tp: TP) -> int | None:
        done: int | None = self.app.reader.done(tp)
        return super()._new_offset(tp) if done is None else done
