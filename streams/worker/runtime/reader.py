"""The reader: what Faust fetches of the topics that intakes handle goes to them a batch at a time.

Faust's own way leads each record through a conductor, a queue and a stream: 0.3 CPU ms per record, a quarter of what a
choice costs. Faust keeps the group, the assignment, the fetching, the tables, their recovery and the commits. Past it
go only the records between a fetch and a handler, and the note of how far a partition is done:

- `ReadingConsumer` takes these topics' records out of what was fetched, and commits what the reader has as done;
- `Reader` makes events of them, drops those it has given out already, and counts a partition as done up to its first
  unfinished event.

Topics that no intake handles take Faust's way.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from faust.transport.drivers import aiokafka as driver
from faust.types import TP


class Head:
    """How far one partition is read and done, in one generation of the group.

    Attributes:
        tp: the partition.
        generation: the consumer generation in which its records were fetched.
        app: the Faust app.
        taken: the offset behind the last record that was given out.
        done: the offset up to which everything is finished; None before anything is.
        left_at: the first offset that was abandoned: it comes again with all that stands behind it, and nothing more is
            begun here. What stands before it, and is still under way, is done as ever.
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
        """Whether an event was abandoned."""
        return self.left_at is not None

    def leave(self, event: "Taken") -> None:
        """Abandon an event."""
        self.left_at = event.offset if self.left_at is None else min(self.left_at, event.offset)


class Taken:
    """A record as handlers see it: a Faust event and its message in one.

    Attributes:
        head: its partition's.
        is_done: its handler has finished.
        timestamp: seconds since 1970.
    """

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
        """Itself: what a Faust event calls its message."""
        return self

    @property
    def app(self) -> Any:
        """The app, of which whoever waits long asks whether the event is still its own."""
        return self.head.app


class Take(Protocol):
    """Takes events in the order of their partition, at once; what does not fit it keeps."""

    def __call__(self, events: Sequence[Taken]) -> None:
        """Take them."""


class Reader:
    """Gives fetched records to whoever handles their topic.

    Args:
        app: the Faust app, for its generation and its consumer.
    """

    def __init__(self, app: Any) -> None:
        self._app = app
        self._takers: dict[str, Take] = {}
        self._heads: dict[TP, Head] = {}
        self._unfinished, self._idle = 0, asyncio.Event()
        self._idle.set()
        self._on_done: list[Callable[[Taken], None]] = []

    @property
    def topics(self) -> Iterable[str]:
        """The topics that it reads."""
        return self._takers.keys()

    def attach(self, topics: Iterable[str], take: Take) -> None:
        """Have these topics' records given to `take`."""
        self._takers.update(dict.fromkeys(topics, take))

    def tell(self, on_done: Callable[[Taken], None]) -> None:
        """Have each event told that is done with for good, in the order of its partition."""
        self._on_done.append(on_done)

    def take(self, where: tuple[str, int], records: Iterable[Any]) -> None:
        """Give out what was fetched of a partition; what was given out in this generation is not given out again."""
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
        """Whether its partition has moved, or has come back, since it was fetched."""
        return bool(event.generation_id != self._app.consumer_generation_id)

    @property
    def flows(self) -> bool:
        """Whether events may be begun: not while partitions are moved or tables recovered, nor at the end."""
        return bool(self._app.flow_control.is_active())

    def hold(self, head: Head) -> None:
        """Fetch no more of a partition for now. What is fetched already still comes."""
        if not self._is_old(head):
            self._app.consumer.on_buffer_full(head.tp)

    def release(self, head: Head) -> None:
        """Fetch a partition again."""
        if not self._is_old(head):
            self._app.consumer.on_buffer_drop(head.tp)

    def _is_old(self, head: Head) -> bool:
        return bool(head.generation != self._app.consumer_generation_id)

    def begin(self) -> None:
        """Count an event that is begun: a partition is not given away before it is finished."""
        self._unfinished += 1
        self._idle.clear()

    def end(self, event: Taken) -> int:
        """Count an event that was begun as one that is no longer under way, whether it is done or was cancelled.

        Returns:
            How many events of its partition wait for nothing any more.
        """
        self._unfinished -= 1
        if not self._unfinished:
            self._idle.set()
        head, before = event.head, len(event.head.pending)
        while head.pending and head.pending[0].is_done:
            done = head.pending.popleft()
            if (head.left_at is None or done.offset < head.left_at) and not self._is_old(head):
                head.done = done.offset + 1
                for tell in self._on_done:
                    tell(done)
        return before - len(head.pending)

    def done(self, tp: TP) -> int | None:
        """The offset to commit: everything before it is done."""
        head = self._heads.get(tp)
        return None if head is None or self._is_old(head) else head.done

    def all_done(self) -> Mapping[TP, int]:
        """The offsets to commit, by partition."""
        found = ((tp, self.done(tp)) for tp in self._heads)
        return {tp: offset for tp, offset in found if offset is not None}

    async def wait_empty(self) -> None:
        """Wait until all that was begun is finished."""
        await self._idle.wait()


class ReadingConsumer(driver.Consumer):
    """Faust's consumer, which gives the reader its topics' records and commits what the reader has as done."""

    async def _wait_next_records(self, timeout: float) -> Any:  # noqa: ASYNC109 - Faust's own name
        records, active = await super()._wait_next_records(timeout)
        reader: Reader = self.app.reader
        # While the flow is stopped, Faust drops what was fetched and seeks back.
        if records and self.flow_active and not self.should_stop:
            for tp in [tp for tp in records if tp.topic in reader.topics]:
                batch = records.pop(tp)
                if tp in active or tp in self._buffered_partitions:
                    reader.take(tp, batch)
        return records, active

    async def wait_empty(self) -> None:
        """Wait for all that was begun, then commit. Called before partitions are given away, and at the end."""
        await self.app.reader.wait_empty()
        await super().wait_empty()

    def _filter_tps_with_pending_acks(self, topics: Any = None) -> Iterator[TP]:
        yield from super()._filter_tps_with_pending_acks(topics)
        yield from self.app.reader.all_done()

    def _new_offset(self, tp: TP) -> int | None:
        done: int | None = self.app.reader.done(tp)
        return super()._new_offset(tp) if done is None else done
