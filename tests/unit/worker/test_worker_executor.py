"""Key-ordered concurrency: whatever order handlers finish in, acknowledgements and each key's events keep theirs."""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from faust.types import TP
from hypothesis import given
from hypothesis import strategies as st

from operators.evolve.proposals import RulesReasoner
from streams.settings import OnLlmFailure
from streams.worker.reasoning.reasoner import Reasoning
from streams.worker.runtime.batches import MAX_WAITING, BatchReader
from streams.worker.runtime.dispatch import KeyedExecutor, RoutedEvent
from streams.worker.runtime.membership import Interrupted, PartitionRevoked
from tests.fake_log import on_ack

KEYS = st.sampled_from(["ann", "bob", "cem", None])
EVENTS = st.lists(st.tuples(st.integers(0, 2), KEYS), min_size=1, max_size=12)
OUTCOMES = st.lists(st.sampled_from(["done", "done", "error", "interrupted"]), min_size=12, max_size=12)

ERRORS = {"error": ValueError("no"), "interrupted": Interrupted()}


class Fetched:
    """A record as a fetch brings it."""

    def __init__(self, offset: int) -> None:
        self.offset, self.timestamp, self.key, self.value = offset, 0, None, b""


class Run:
    """A runner, its events, and handlers that end when the test says so."""

    def __init__(self, in_flight: int = 100) -> None:
        self.consumer_generation_id = 1
        self.flow_control, self.consumer = SimpleNamespace(is_active=lambda: True), self
        self.acked: dict[int, list[int]] = defaultdict(list)
        self.begun: list[int] = []
        self.errors: list[Exception] = []
        self.finished: set[int] = set()
        self.events: list[tuple[int, int]] = []
        self.full: set[Any] = set()
        self._ends: dict[int, asyncio.Future[None]] = {}
        self._works: dict[tuple[int, int, int], RoutedEvent] = {}
        self._offsets: dict[int, int] = defaultdict(int)
        self.reader = BatchReader(self)
        self.stage = "a stage"
        self.ordered = KeyedExecutor(self, in_flight)
        on_ack(self.reader, lambda event: self.acked[event.partition].append(event.offset))

    def on_buffer_full(self, tp: Any) -> None:
        self.full.add(tp)

    def on_buffer_drop(self, tp: Any) -> None:
        self.full.discard(tp)

    def route(self, event: Any) -> RoutedEvent:
        return self._works[event.generation_id, event.partition, event.offset]

    async def on_error(self, event: Any, error: Exception) -> None:
        self.errors.append(error)

    async def fetch(self, partition: int, *works: RoutedEvent) -> None:
        first = self._offsets[partition]
        self._offsets[partition] += len(works)
        for offset, work in enumerate(works, first):
            self._works[self.consumer_generation_id, partition, offset] = work
            self.events.append((partition, offset))
        self.take(partition, *(Fetched(offset) for offset in range(first, first + len(works))))
        await turn()

    def take(self, partition: int, *fetched: Fetched) -> None:
        self.ordered.submit(self.reader.batch(TP("t", partition), fetched))

    def work(self, key: str | None, number: int) -> RoutedEvent:
        self._ends[number] = asyncio.get_running_loop().create_future()

        async def handle() -> None:
            self.begun.append(number)
            await self._ends[number]
            self.finished.add(number)

        return RoutedEvent(key, handle)

    async def submit(self, partition: int, key: str | None) -> int:
        number = len(self.events)
        await self.fetch(partition, self.work(key, number))
        return number

    async def end(self, number: int, error: Exception | None = None) -> None:
        if error is None:
            self._ends[number].set_result(None)
        else:
            if not isinstance(error, Interrupted):
                self.finished.add(number)
            self._ends[number].set_exception(error)
        await turn()

    def of(self, partition: int) -> list[int]:
        return [number for number, (where, _) in enumerate(self.events) if where == partition]


async def turn() -> None:
    for _ in range(8):
        await asyncio.sleep(0)


def run(play: Callable[[], Any]) -> None:
    asyncio.run(play())


@given(events=EVENTS, outcomes=OUTCOMES, data=st.data())
def test_acknowledged_in_order_and_never_before_it_is_done(
    events: list[tuple[int, str | None]], outcomes: list[str], data: st.DataObject
) -> None:
    async def play() -> None:
        world = Run()
        for partition, key in events:
            await world.submit(partition, key)
        left, abandoned = set(range(len(events))), set[int]()
        while able := sorted(left & set(world.begun)):
            number = data.draw(st.sampled_from(able))
            left.discard(number)
            if outcomes[number] == "interrupted":
                abandoned.add(events[number][0])
            await world.end(number, ERRORS.get(outcomes[number]))
            for partition in range(3):
                done = [n in world.finished for n in world.of(partition)]
                head = done.index(False) if False in done else len(done)
                assert world.acked[partition] == list(range(head)), "all that is done at the head, and no more"
        assert {events[number][0] for number in left} <= abandoned, "only behind an abandoned event none begins"
        assert len(world.errors) == sum(outcomes[number] == "error" for number in world.begun)
        await asyncio.wait_for(world.reader.wait_empty(), 1)

    run(play)


@given(events=EVENTS, data=st.data())
def test_one_key_after_another_and_many_keys_at_once(events: list[tuple[int, str | None]], data: st.DataObject) -> None:
    async def play() -> None:
        world = Run()
        for partition, key in events:
            await world.submit(partition, key)
        left = set(range(len(events)))
        while left:
            for number in left:
                before = [n for n in range(number) if events[n][1] == events[number][1] and n in left]
                waits = events[number][1] is not None and bool(before)
                assert (number in world.begun) is not waits
            number = data.draw(st.sampled_from(sorted(left & set(world.begun))))
            left.discard(number)
            await world.end(number)

    run(play)


async def test_a_full_backlog_pauses_fetching_until_it_is_half_empty() -> None:
    """A slow model and ten thousand waiting records: those stay in Kafka, and none is decoded before its time."""
    world = Run(in_flight=4)
    total = 2 * MAX_WAITING
    await world.fetch(0, *(world.work(f"user-{number}", number) for number in range(total)))
    assert world.full == {("t", 0)}
    assert world.begun == [0, 1, 2, 3]

    for number in range(total):
        held = world.full == {("t", 0)}
        assert held == (total - number - 4 >= MAX_WAITING // 2), number
        await world.end(number)

    assert world.acked[0] == list(range(total))


async def test_a_rebalance_starts_no_event_and_awaits_running_ones() -> None:
    world = Run(in_flight=1)
    await world.submit(0, "ann")
    await world.submit(0, "bob")
    world.flow_control.is_active = lambda: False
    empty = asyncio.create_task(world.reader.wait_empty())
    await turn()
    assert not empty.done()

    await world.end(0)

    await empty
    assert world.begun == [0]
    assert dict(world.reader.all_done()) == {("t", 0): 1}, "to be committed before they are given away"


async def test_events_of_a_returning_partition_are_read_again_once() -> None:
    world = Run(in_flight=1)
    await world.submit(0, "ann")
    await world.submit(0, "bob")
    world.consumer_generation_id = 2
    world._offsets[0] = 0
    again, bob = await world.submit(0, "ann"), await world.submit(0, "bob")
    await world.end(0)
    await world.end(again)
    await world.end(bob)

    assert world.begun == [0, again, bob], "the old self of what waited is dropped"
    assert world.acked[0] == [0, 1]


async def test_records_repeated_by_a_seek_are_dispatched_once() -> None:
    """In one generation: all that was fetched of it is here still, or done."""
    world = Run()
    await world.submit(0, "ann")

    world.take(0, Fetched(0))
    await turn()
    await world.end(0)

    assert (world.begun, world.acked[0]) == ([0], [0])


async def test_gaps_between_offsets_are_passed_over() -> None:
    """A compacted topic, or a transaction's markers."""
    world = Run()
    await world.submit(0, "ann")
    world._offsets[0] = 7
    second = await world.submit(0, "bob")
    await world.end(0)
    await world.end(second)

    assert dict(world.reader.all_done()) == {("t", 0): 8}


async def test_an_event_whose_routing_fails_is_dead_lettered() -> None:
    world = Run()
    world.take(0, Fetched(0))
    await turn()

    assert [type(error) for error in world.errors] == [KeyError]
    assert world.acked[0] == [0]


async def test_an_event_whose_dead_letter_is_fenced_is_not_acknowledged() -> None:
    """The worker may not send any more: committing the event would lose it."""
    world = Run()

    async def fenced(event: Any, error: Exception) -> None:
        raise PartitionRevoked

    world.on_error = fenced  # type: ignore[method-assign]
    await world.end(await world.submit(0, "ann"), ValueError("no"))

    assert dict(world.reader.all_done()) == {}
    await asyncio.wait_for(world.reader.wait_empty(), 1)


async def test_no_later_event_of_an_owner_overtakes_one_whose_dead_letter_failed() -> None:
    world = Run()

    async def fails(event: Any, error: Exception) -> None:
        raise RuntimeError("no dead letter")

    world.on_error = fails  # type: ignore[method-assign]
    failed, later = await world.submit(0, "ann"), await world.submit(0, "ann")
    await world.end(failed, ValueError("no"))
    await turn()

    assert later not in world.begun
    assert world.acked[0] == []


async def test_a_redelivered_event_is_not_acknowledged_by_its_first_delivery() -> None:
    world = Run()
    old = await world.submit(0, "ann")
    world.consumer_generation_id = 2
    world._offsets[0] = 0
    new = await world.submit(0, "bob")

    await world.end(new)
    assert world.acked[0] == [0], "it does not wait for its old self either"
    await world.end(old)

    assert world.acked[0] == [0]


async def test_a_cancelled_handler_is_not_acknowledged() -> None:
    """A worker that ends in the middle of it."""
    world = Run()
    number = await world.submit(0, "ann")
    [task] = world.ordered._tasks
    behind = await world.submit(0, "bob")
    task.cancel()
    await world.end(behind)

    assert number not in world.finished
    assert world.acked[0] == [], "nor what stands behind it"


async def test_an_event_waiting_for_a_model_notices_a_revoked_partition() -> None:
    """Waiting asks the event in hand for its app: nothing is raised before there is a reason."""
    world, raised, done = Run(), list[type[Exception]](), asyncio.Event()
    reasoning = Reasoning(RulesReasoner(), OnLlmFailure.WAIT, lambda: None)

    async def handle() -> None:
        await reasoning._pause(0.001)
        world.flow_control = SimpleNamespace(is_active=lambda: False)
        await refused()
        world.consumer_generation_id = 2
        await refused()
        done.set()

    async def refused() -> None:
        try:
            await reasoning._pause(0.001)
        except (PartitionRevoked, Interrupted) as error:
            raised.append(type(error))

    await world.fetch(0, RoutedEvent("ann", handle))
    await asyncio.wait_for(done.wait(), 60)

    assert world.errors == []
    assert raised == [Interrupted, PartitionRevoked]
