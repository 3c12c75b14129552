"""The reader: passes fetched records to the intakes in batches, past Faust's queues.

Faust's own way leads each record through a conductor, a queue and a stream: 0.3 CPU ms per record, a quarter of a
choice's cost. Faust keeps the group, the assignment, the fetching, the tables, their recovery and the commits:

- `ReadingConsumer` takes the intakes' records out of a fetch, and commits the offsets of the reader;
- `Reader` makes events of them, drops those that it has passed on already, and counts a partition as done up to its
  first unfinished event.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from faust.transport.drivers import aiokafka as driver
from faust.types import TP

from schemas import Position
from streams.worker import metrics


class Head:
    """The progress of one partition in one consumer generation: records are passed on to `taken`, finished to `done`.

    `left_at` is the first abandoned offset: it comes again with all records behind it, and no more events begin here.
    Running events before it are finished as usual.
    """

    __slots__ = ("app", "done", "generation", "left_at", "pending", "taken", "tp")

    def __init__(self, tp: TP, generation: int, app: Any = None) -> None:
        self.tp, self.generation, self.app = tp, generation, app
        self.taken = 0
        self.done: int | None = None
        self.left_at: int | None = None
        self.pending: deque[Taken] = deque()

    @property
    def is_left(self) -> bool:
        """True if an event was abandoned."""
        return self.left_at is not None

    def leave(self, event: "Taken") -> None:
        """Abandon an event."""
        self.left_at = event.offset if self.left_at is None else min(self.left_at, event.offset)


class Taken:
    """A record as handlers see it: a Faust event and its message in one; `timestamp` is in seconds since 1970."""

    __slots__ = (
        "__weakref__",
        "generation_id",
        "head",
        "is_done",
        "key",
        "offset",
        "partition",
        "timestamp",
        "topic",
        "tp",
        "value",
    )

    def __init__(self, head: Head, record: Any) -> None:
        self.head, self.tp, self.generation_id = head, head.tp, head.generation
        self.topic, self.partition = head.tp
        self.offset: int = record.offset
        self.timestamp: float = (record.timestamp or 0) / 1_000
        self.key: bytes | None = record.key
        self.value: bytes | None = record.value
        self.is_done = False

    @property
    def message(self) -> "Taken":
        """Itself, as a Faust event has a message."""
        return self

    @property
    def app(self) -> Any:
        """The app, by which long waits check that the partition has not moved."""
        return self.head.app


Take = Callable[[Sequence[Taken]], None]
"""Takes events in the order of their partition, without waiting."""


class Reader:
    """Passes fetched records to the handlers of their topics.

    `progressed` is the last moment at which an event was finished, by the monotonic clock, for the watchdog.
    `newest_ms` is the newest Kafka timestamp of the events that the worker has read, without requests to forget.
    """

    def __init__(self, app: Any) -> None:
        self._app = app
        self._takers: dict[str, Take] = {}
        self._heads: dict[TP, Head] = {}
        self._unfinished, self._idle = 0, asyncio.Event()
        self._idle.set()
        self._on_done: list[Callable[[Taken], None]] = [self._note_acknowledged]
        self._next_offset: dict[tuple[str, int], int] = {}
        self.progressed = time.monotonic()
        self.newest_ms = 0

    @property
    def topics(self) -> Iterable[str]:
        """Its topics."""
        return self._takers.keys()

    def attach(self, topics: Iterable[str], take: Take) -> None:
        """Pass these topics' records to `take`."""
        self._takers.update(dict.fromkeys(topics, take))

    def on_ack(self, on_done: Callable[[Taken], None]) -> None:
        """Register a callback for acknowledged events, in partition order."""
        self._on_done.append(on_done)

    def take(self, where: tuple[str, int], records: Iterable[Any]) -> None:
        """Pass on the fetched records of a partition, each once per generation."""
        tp, generation = TP(*where), self._app.consumer_generation_id
        head = self._heads.get(tp)
        if head is None or head.generation != generation:
            head = self._heads[tp] = Head(tp, generation, self._app)
        events = [Taken(head, record) for record in records if record.offset >= head.taken]
        if not events:
            return
        head.taken = events[-1].offset + 1
        head.pending.extend(events)
        self._takers[tp.topic](events)

    def is_stale(self, event: Taken) -> bool:
        """Return true if its partition has moved since it was fetched."""
        return bool(event.generation_id != self._app.consumer_generation_id)

    @property
    def flows(self) -> bool:
        """True if events may begin: not during a rebalance, a recovery or shutdown."""
        return bool(self._app.flow_control.is_active())

    def hold(self, head: Head) -> None:
        """Pause a partition; records that are fetched already still come."""
        if not self._is_old(head):
            self._app.consumer.on_buffer_full(head.tp)

    def release(self, head: Head) -> None:
        """Resume a partition."""
        if not self._is_old(head):
            self._app.consumer.on_buffer_drop(head.tp)

    def _is_old(self, head: Head) -> bool:
        return bool(head.generation != self._app.consumer_generation_id)

    def begin(self) -> None:
        """Count a running event: a rebalance waits until it is finished."""
        self._unfinished += 1
        self._idle.clear()

    def end(self, event: Taken) -> int:
        """Count an event that ran as finished or cancelled; return how many of its partition are acknowledged by it."""
        self._unfinished -= 1
        if not self._unfinished:
            self._idle.set()
        head, before = event.head, len(event.head.pending)
        while head.pending and head.pending[0].is_done:
            done = head.pending.popleft()
            if (head.left_at is None or done.offset < head.left_at) and not self._is_old(head):
                head.done = done.offset + 1
                for on_done in self._on_done:
                    on_done(done)
        return before - len(head.pending)

    def done(self, tp: TP) -> int | None:
        """Return the offset to commit."""
        head = self._heads.get(tp)
        return None if head is None or self._is_old(head) else head.done

    def all_done(self) -> Mapping[TP, int]:
        """Return the offsets to commit, by partition."""
        found = ((tp, self.done(tp)) for tp in self._heads)
        return {tp: offset for tp, offset in found if offset is not None}

    def touch(self) -> None:
        """Note that this worker is alive and working."""
        self.progressed = time.monotonic()
        metrics.PROGRESS.set_to_current_time()

    def _note_acknowledged(self, event: Taken) -> None:
        self._next_offset[event.topic, event.partition] = event.offset + 1

    def is_acknowledged(self, source: Position) -> bool:
        """Return true if no worker will be given the event at this position again; false for others' partitions."""
        tp = TP(source.topic, source.partition)
        return source.offset < max(self._next_offset.get((tp.topic, tp.partition), 0), self._committed(tp))

    def has_more(self, topic: str, partition: int) -> bool:
        """Return true if a partition holds unfinished records, as of the last fetch."""
        tp = TP(topic, partition)
        try:
            end = self._app.consumer.highwater(tp)
        except (AssertionError, LookupError):  # not assigned to this worker, or not any more
            return False
        if end is None:
            return True
        return int(end) > self._next_offset.get((tp.topic, partition), self._committed(tp))

    def _committed(self, tp: TP) -> int:
        return int(self._app.consumer._committed_offset.get(tp) or 0)

    async def wait_empty(self) -> None:
        """Wait until no event runs."""
        await self._idle.wait()


class ReadingConsumer(driver.Consumer):
    """Faust's consumer, which passes records to the reader and commits the reader's offsets."""

    async def _wait_next_records(self, timeout: float) -> Any:  # noqa: ASYNC109 - Faust's own name
        records, active = await super()._wait_next_records(timeout)
        reader: Reader = self.app.reader
        # While the flow is stopped, Faust drops fetched records and seeks back.
        if records and self.flow_active and not self.should_stop:
            for tp in [tp for tp in records if tp.topic in reader.topics]:
                batch = records.pop(tp)
                if tp in active or tp in self._buffered_partitions:
                    reader.take(tp, batch)
        return records, active

    async def wait_empty(self) -> None:
        """Wait for running events, then commit. Called before partitions move, and at shutdown."""
        await self.app.reader.wait_empty()
        await super().wait_empty()

    def _filter_tps_with_pending_acks(self, topics: Any = None) -> Iterator[TP]:
        yield from super()._filter_tps_with_pending_acks(topics)
        yield from self.app.reader.all_done()

    def _new_offset(self, tp: TP) -> int | None:
        done: int | None = self.app.reader.done(tp)
        return super()._new_offset(tp) if done is None else done


def position_of(message: Any) -> Position:
    """Return a message's place in Kafka."""
    return Position(
        topic=message.topic,
        partition=message.partition,
        offset=message.offset,
        timestamp_ms=max(0, int((message.timestamp or 0) * 1000)),
    )
