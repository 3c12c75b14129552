"""Key-ordered concurrency: whatever order handlers finish in, acknowledgements and each key's events keep theirs."""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from streams.worker.runtime.ordered import Abandoned, KeyOrdered, Stale

KEYS = st.sampled_from(["ann", "bob", "cem", None])
EVENTS = st.lists(st.tuples(st.integers(0, 2), KEYS), min_size=1, max_size=12)
OUTCOMES = st.lists(st.sampled_from(["done", "done", "done", "error"]), min_size=12, max_size=12)


class Run:
    """A runner, its events, and handlers that end when the test says so."""

    def __init__(self, in_flight: int = 100) -> None:
        self.generation = 1
        self.acked: dict[int, list[int]] = defaultdict(list)
        self.begun: list[int] = []
        self.errors: list[Exception] = []
        self.finished: set[int] = set()
        self.events: list[Any] = []
        self.told: list[Any] = []
        self._ends: dict[int, asyncio.Future[None]] = {}
        self._offsets: dict[int, int] = defaultdict(int)
        self.progress = 0
        self.ordered = KeyOrdered(
            self, "a stage", in_flight, lambda: self.generation, self.on_error, self.on_progress, self.told.append
        )

    async def ack(self, event: Any) -> None:
        self.acked[event.message.partition].append(event.message.offset)

    async def on_error(self, event: Any, error: Exception) -> None:
        self.errors.append(error)

    def on_progress(self) -> None:
        self.progress += 1

    def event(self, partition: int) -> Any:
        offset = self._offsets[partition]
        self._offsets[partition] += 1
        message = SimpleNamespace(
            topic="t",
            partition=partition,
            offset=offset,
            tp=("t", partition),
            generation_id=self.generation,
            acked=False,
        )
        event = Event(message)
        self.events.append(event)
        return event

    async def submit(self, partition: int, key: str | None) -> int:
        """Submit an event; its number."""
        number = len(self.events)
        self._ends[number] = asyncio.get_running_loop().create_future()

        async def handle() -> None:
            self.begun.append(number)
            await self._ends[number]
            self.finished.add(number)

        await self.ordered.submit(self.event(partition), key, handle)
        await turn()
        return number

    async def end(self, number: int, error: Exception | None = None) -> None:
        """Let a handler end."""
        if error is None:
            self._ends[number].set_result(None)
        else:
            self.finished.add(number)
            self._ends[number].set_exception(error)
        await turn()

    def of(self, partition: int) -> list[int]:
        """The numbers of a partition's events, by their offsets."""
        return [number for number, event in enumerate(self.events) if event.message.partition == partition]


class Event:
    """An event that can be told from any other, as Faust's can."""

    def __init__(self, message: Any) -> None:
        self.message = message


async def turn() -> None:
    for _ in range(8):
        await asyncio.sleep(0)


def run(play: Callable[[], Any]) -> None:
    """Play in an event loop of its own, as hypothesis needs it."""
    asyncio.run(play())


@given(events=EVENTS, outcomes=OUTCOMES, data=st.data())
def test_acknowledged_in_order_and_never_before_it_is_done(
    events: list[tuple[int, str | None]], outcomes: list[str], data: st.DataObject
) -> None:
    async def play() -> None:
        world = Run()
        for partition, key in events:
            await world.submit(partition, key)
        left = set(range(len(events)))
        while left:
            able = sorted(left & set(world.begun))
            assert able, "something can always go on"
            number = data.draw(st.sampled_from(able))
            left.discard(number)
            await world.end(number, ValueError("no") if outcomes[number] == "error" else None)
            for partition in range(3):
                mine = world.of(partition)
                done = [n in world.finished for n in mine]
                head = done.index(False) if False in done else len(done)
                assert world.acked[partition] == list(range(head)), "all that is done at the head, and no more"
        assert world.progress == len(events)
        assert len(world.errors) == sum(outcome == "error" for outcome in outcomes[: len(events)])
        assert len(world.told) == len(events)

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


async def test_no_more_run_at_once_than_there_is_room_for() -> None:
    world = Run(in_flight=2)
    await world.submit(0, "ann")
    await world.submit(0, "bob")
    third = asyncio.create_task(world.submit(0, "cem"))
    await turn()
    assert world.begun == [0, 1]

    await world.end(1)
    await third

    assert world.begun == [0, 1, 2]
    assert world.acked[0] == []


async def test_what_comes_from_before_a_rebalance_is_not_done_and_not_acknowledged() -> None:
    world = Run()
    under_way, waits = await world.submit(0, "ann"), await world.submit(0, "ann")

    world.generation = 2
    await world.end(under_way)

    assert waits not in world.begun
    assert world.acked[0] == []
    assert world.told == []


async def test_an_event_that_comes_again_is_not_acknowledged_by_its_old_self() -> None:
    world = Run()
    old = await world.submit(0, "ann")
    world.generation = 2
    world._offsets[0] = 0
    new = await world.submit(0, "bob")

    await world.end(new)
    assert world.acked[0] == [0], "it does not wait for its old self either"
    await world.end(old)

    assert world.acked[0] == [0]


async def test_what_is_stale_is_no_error() -> None:
    world = Run()
    await world.end(await world.submit(0, "ann"), Stale())

    assert world.errors == []


async def test_behind_an_abandoned_event_nothing_of_its_partition_is_acknowledged() -> None:
    world = Run()
    first, second = await world.submit(0, "ann"), await world.submit(0, "bob")
    other = await world.submit(1, "cem")

    await world.end(second)
    await world.end(first, Abandoned())
    third = await world.submit(0, "dee")
    await world.end(other)

    assert third not in world.begun
    assert (world.acked[0], world.acked[1]) == ([], [0])
    assert all(event.message.acked for event in world.events[:2]), "Faust waits for none of them"
    assert world.errors == []


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


async def test_alone_means_behind_all_that_came_before_and_before_all_that_comes() -> None:
    world = Run()
    first = await world.submit(0, "ann")
    begun: list[str] = []
    gate = asyncio.Event()

    async def alone() -> None:
        begun.append("alone")
        await gate.wait()

    waiting = asyncio.create_task(world.ordered.submit_alone(world.event(0), alone))
    await turn()
    assert begun == []
    await world.end(first)
    assert begun == ["alone"]
    assert not waiting.done()
    gate.set()
    await waiting
    assert world.acked[0] == [0, 1]
