"""A log in memory, on which the real worker runs in one event loop: every agent, table and topic, in milliseconds.

The fake stands where Kafka stands. Above it all is real: the Faust app with its agents, tables and topics, made by
`create`. Below it are the things that a broker and a machine do to a worker: a send fails, is slow, or lands while its
answer is lost; partitions move; the process dies after any effect, and a successor reads the same log.
"""

import asyncio
import itertools
import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pytest
from aiokafka.errors import KafkaConnectionError
from confluent_kafka import OFFSET_END, TopicPartition
from faust.types import TP

from schemas import TOPICS, Item, ItemMemory, Model, ModelT, Position, SkillDiff, Weights, by_name, decode, encode
from streams.kafka.clients import partition_of
from streams.settings import Settings
from streams.worker import writer
from streams.worker.create import Worker, create
from streams.worker.deps import Deps
from streams.worker.items import ERASURE_KEY
from streams.worker.runtime.batches import BatchReader, BatchTopic, RecordBatch
from streams.worker.runtime.producer import RecordPosition

PARTITIONS = 2
PREFIX = "t."
SECONDS = 60.0
"""A deadline for what takes milliseconds on a quiet machine."""


def settings_in(folder: Path, **more: Any) -> Settings:
    """A deployment without a broker."""
    known: dict[str, Any] = {
        "bootstrap": "127.0.0.1:1",
        "prefix": PREFIX,
        "app_id": "t",
        "partitions": PARTITIONS,
        "data_dir": folder / "data",
        "fan_out": 2,
        "support_floor": 2,
        "graph_flush_seconds": 0,
        "weights_flush_seconds": 0,
    }
    return Settings(**{**known, **more})


@dataclass(frozen=True)
class Record:
    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int

    @property
    def timestamp(self) -> int:
        return self.timestamp_ms


class FakeLog:
    """All topics of a deployment, and how far its group has committed.

    Args:
        settings: the deployment.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.records: dict[TP, list[Record]] = defaultdict(list)
        self.committed: dict[TP, int] = {}
        self.generation = 0
        self.order: list[Record] = []
        self.agents: set[asyncio.Task[None]] = set()
        self._more = asyncio.Event()
        self._followers: list[tuple[Deps, list[int]]] = []
        self.is_followed = True

    def follow(self, deps: Deps) -> None:
        """Give a worker's copies of followed topics what there is, and all that comes; or only when asked."""
        self._followers.append((deps, [0]))
        self._tell()

    def _tell(self) -> None:
        for deps, reached in self._followers if self.is_followed else ():
            for record in self.order[reached[0] :]:
                if record.topic == PREFIX + ItemMemory.TOPIC:
                    deps.items.take(record.partition, record.offset, record.key or b"", record.value)
                if record.topic == PREFIX + Weights.TOPIC:
                    deps.learned_weights.apply(record.key or b"", record.value)
                if record.topic == PREFIX + Item.TOPIC:
                    deps.catalogue.apply(record.partition, record.offset, record.key or b"", record.value)
            reached[0] = len(self.order)

    def reach_end(self, base: str, partition: int) -> threading.Event:
        """Have all followers read what there is."""
        was_followed, self.is_followed = self.is_followed, True
        self._tell()
        self.is_followed = was_followed
        reached = threading.Event()
        reached.set()
        return reached

    def append(
        self, topic: str, partition: int, key: bytes | None, value: bytes | None, timestamp_ms: int | None = None
    ) -> Record:
        held = self.records[TP(topic, partition)]
        stamp = int(time.time() * 1_000) if timestamp_ms is None else timestamp_ms
        record = Record(topic, partition, len(held), key, value, stamp)
        held.append(record)
        self.order.append(record)
        self._tell()
        self._more.set()
        self._more = asyncio.Event()
        return record

    def put(self, event: Any, *, partition: int | None = None, timestamp_ms: int | None = None) -> Record:
        topic = TOPICS[type(event).TOPIC]
        where = partition_of(topic.owner_of(event), self.settings.partitions) if partition is None else partition
        return self.append(topic.name(PREFIX), where, topic.key_of(event), encode(event), timestamp_ms)

    def put_all(self, events: Iterable[Any]) -> list[Record]:
        return [self.put(event) for event in events]

    def put_bytes(self, base: str, value: bytes, key: bytes | None = None, partition: int = 0) -> Record:
        """Produce any bytes."""
        return self.append(PREFIX + base, partition, key, value)

    def copy(self) -> "FakeLog":
        other = FakeLog(self.settings)
        other.records.update({tp: list(held) for tp, held in self.records.items()})
        other.committed, other.generation, other.order = dict(self.committed), self.generation, list(self.order)
        return other

    async def more(self) -> None:
        await self._more.wait()

    def wake(self) -> None:
        self._more.set()
        self._more = asyncio.Event()

    def of(self, base: str) -> list[Record]:
        return [record for p in range(self.settings.partitions) for record in self.records[TP(PREFIX + base, p)]]

    def values(self, model: type[ModelT]) -> list[ModelT]:
        """A topic's values, decoded, in the order in which they were appended; no tombstones."""
        name = PREFIX + _base_of(model)
        records = (r for r in self.order if r.topic == name and r.value is not None and r.key != ERASURE_KEY)
        return [decode(model, r.value) for r in records]

    def newest(self, model: type[ModelT]) -> dict[bytes, ModelT]:
        """What compaction leaves of a topic."""
        held = self.compacted(_base_of(model)).items()
        return {key: decode(model, value) for key, value in held if key != ERASURE_KEY}

    def compacted(self, base: str) -> dict[bytes, bytes]:
        left = {record.key or b"": record.value for record in self.of(base)}
        return {key: value for key, value in left.items() if value is not None}

    @property
    def diffs(self) -> list[SkillDiff]:
        return self.values(SkillDiff)

    def count(self) -> Counter[str]:
        return Counter(record.topic.removeprefix(PREFIX) for record in self.order)


def _base_of(model: type[Model]) -> str:
    return next(topic.base for topic in TOPICS.values() if topic.model is model)


class FakeScanner:
    """The log as `streams.kafka.scanner.Scanner` shows it."""

    def __init__(self, log: FakeLog) -> None:
        self._log = log

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Nothing to close."""

    def from_time(self, where: Sequence[TopicPartition], timestamp_ms: int) -> list[TopicPartition]:
        found = []
        for each in where:
            held = self._log.records[TP(each.topic, each.partition)]
            offset = next((r.offset for r in held if r.timestamp_ms >= timestamp_ms), OFFSET_END)
            found.append(TopicPartition(each.topic, each.partition, offset))
        return found

    def end(self, where: TopicPartition) -> int:
        return len(self._log.records[TP(where.topic, where.partition)])

    def read(self, where: Sequence[TopicPartition]) -> Iterator["Scanned"]:
        for each in where:
            held = list(self._log.records[TP(each.topic, each.partition)])
            yield from (Scanned(record) for record in held[max(0, each.offset) :])


class Scanned:
    """A record as confluent-kafka gives it."""

    def __init__(self, record: Record) -> None:
        self._record = record

    def key(self) -> bytes | None:
        return self._record.key

    def value(self) -> bytes | None:
        return self._record.value


class Gate:
    """Holds sends on their way.

    Args:
        on_open: called when it is opened.
    """

    def __init__(self, on_open: Callable[[], Any]) -> None:
        self.waiting = 0
        self._on_open, self._is_open, self._drops = on_open, asyncio.Event(), False

    async def passed(self) -> None:
        """Wait until it is open.

        Raises:
            KafkaConnectionError: what waited is dropped.
        """
        self.waiting += 1
        await self._is_open.wait()
        self.waiting -= 1
        if self._drops:
            raise KafkaConnectionError("dropped on its way")

    def open(self, *, drops: bool = False) -> None:
        """Let go what waits, or let it fail; what is sent from now on does not wait."""
        self._drops = drops
        self._on_open()
        self._is_open.set()


class FakeWorker:
    """The real worker over a fake log.

    Args:
        log: what it reads and writes. Tables are what their changelogs say.
        seed: of the order in which partitions are read and sends of different partitions arrive.
        dies_after: the process is gone once it has had so many effects on the log.
        commits: whether what is acknowledged is committed at once; otherwise only a `stop` commits.
        slow: a send takes up to so many turns of the event loop.
    """

    def __init__(
        self,
        log: FakeLog,
        seed: int = 0,
        *,
        dies_after: int | None = None,
        commits: bool = True,
        slow: int = 0,
        settings: Settings | None = None,
    ) -> None:
        self.log, self.settings = log, settings or log.settings
        self.effects, self.is_dead, self.commits = 0, False, commits
        self.acknowledged: list[tuple[TP, int]] = []
        self.wrong: list[str] = []
        self._rng, self._dies_after, self._slow = random.Random(seed), dies_after, slow
        self._failures: Counter[str] = Counter()
        self._gates: dict[str, Gate] = {}
        self._in_line: dict[TP, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._others = asyncio.all_tasks()
        self._agents: set[asyncio.Task[None]] = set()
        self.parts: Worker = create(self.settings)
        self.parts.deps.items._log = log  # type: ignore[assignment]
        log.follow(self.parts.deps)
        self.parts.producer.kafka = _Producer(self)  # type: ignore[assignment]
        self.parts.app.consumer = _Consumer(self)
        self.sources = {PREFIX + base for base in read_by(self.parts)}
        self.next_offset: dict[TP, int] = {}
        self.full: set[TP] = set()
        self.acked_to: dict[TP, int] = {}
        self.assign()
        on_ack(self.parts.app.reader, self.ack)
        for agent in self.parts.app.agents.values():
            tasks = agent.fun(_elements(agent.channel)), self._read(agent.channel.topics)
            self._agents.update(asyncio.create_task(task, name=agent.name) for task in tasks)
        log.agents.update(self._agents)

    def assign(self) -> None:
        """Join the group, or a rebalance: a new generation, tables recovered, reading from what is committed."""
        self.log.generation += 1
        self.parts.app.consumer_generation_id = self.log.generation
        self.parts.app.membership.confirm(float("inf"))
        self.parts.app.flow_control.resume()
        self.full.clear()
        for table in self.parts.tables.by_name.values():
            table.data.clear()
            for key, value in self.log.compacted(table.name).items():
                table.data[key] = value
        for topic, partition in itertools.product(sorted(self.sources), range(self.settings.partitions)):
            tp = TP(topic, partition)
            self.next_offset[tp] = self.acked_to[tp] = self.log.committed.get(tp, 0)
        self.log.wake()

    async def _read(self, topics: Sequence[str]) -> None:
        """Dispatch what there is of these topics, some of a partition at a time, as a fetch brings it."""
        while True:
            tp = self._some(topics)
            if tp is None:
                await self.log.more()
                continue
            start = self.next_offset[tp]
            fetched = self.log.records[tp][start : start + self._rng.randint(1, 3)]
            self.next_offset[tp] += len(fetched)
            self.parts.app.reader.dispatch(tp, fetched)
            await asyncio.sleep(0)

    def revoke(self) -> None:
        """A rebalance gives all partitions to others; this worker stays a member."""
        self.parts.app.consumer_generation_id = self.log.generation
        self.next_offset.clear()
        self.acked_to.clear()

    @property
    def tables(self) -> dict[str, dict[bytes, bytes]]:
        return {name: dict(table.data.items()) for name, table in self.parts.tables.by_name.items()}

    @property
    def generation(self) -> int:
        """The generation that this worker believes to be the group's."""
        return int(self.parts.app.consumer_generation_id)

    def fail(self, base: str, times: int = 1) -> None:
        """The next sends to this topic fail."""
        self._failures[base] += times

    def hold(self, base: str) -> "Gate":
        """Sends to this topic wait from now on, until the gate is opened."""
        gate = self._gates[base] = Gate(lambda: self._gates.pop(base, None))
        return gate

    def is_behind(self, base: str) -> bool:
        return any(len(self.log.records[tp]) > done for tp, done in self.acked_to.items() if tp.topic == PREFIX + base)

    async def until(self, has_come: Callable[[], bool], what: str = "it") -> None:
        give_up = time.monotonic() + SECONDS
        while not has_come():
            self._check()
            if time.monotonic() > give_up:
                raise TimeoutError(f"waited in vain for {what}; acknowledged: {self.acked_to}; {self.log.count()}")
            # Not always at once: reading the log's end takes a thread.
            await asyncio.sleep(0 if self._rng.random() < 0.98 else 0.001)

    async def settle(self, turns: int = 50) -> None:
        """Let everything come as far as it comes without the test."""
        for _ in range(turns):
            await asyncio.sleep(0)
        await asyncio.sleep(0.005)

    async def quiet(self) -> None:
        """Let the worker work until nothing is left to do, or it has died."""
        await self.until(lambda: self.is_dead or self.is_quiet, "an end")
        assert not self.wrong, self.wrong

    @property
    def is_quiet(self) -> bool:
        """Whether all records are acknowledged and nothing runs."""
        if any(len(self.log.records[tp]) != done for tp, done in self.acked_to.items()):
            return False
        return not self.running

    @property
    def running(self) -> set[asyncio.Task[Any]]:
        """Tasks that the worker has begun: handlers, sends, the shadow's."""
        tasks = asyncio.all_tasks() - self._others - self.log.agents
        return {task for task in tasks if task is not asyncio.current_task()}

    def _check(self) -> None:
        for task in self._agents:
            if task.done() and not task.cancelled():
                task.result()
                raise AssertionError(f"the agent {task.get_name()} has ended")

    async def kill(self) -> None:
        """The process is gone: nothing more reaches the log."""
        self.is_dead = True
        tasks = [*self._agents, *self.running]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def stop(self) -> None:
        """End in order: what is acknowledged is committed."""
        self.log.committed.update(self.acked_to)
        await self.kill()

    async def deliver(self, topic: str, partition: int, key: bytes | None, value: bytes | None) -> RecordPosition:
        """A send on its way: in line with its partition's others, slow, held, failing, or a dying process's last."""
        base = topic.removeprefix(PREFIX)
        gate = self._gates.get(base)
        async with self._in_line[TP(topic, partition)]:
            for _ in range(self._rng.randrange(self._slow) if self._slow else 0):
                await asyncio.sleep(0)
            if gate is not None:
                await gate.passed()
            if self._failures[base]:
                self._failures[base] -= 1
                raise KafkaConnectionError(f"{topic}: made to fail")
            await self.lives()
            record = self.log.append(topic, partition, key, value)
            self.effects += 1
            await self.lives()
        return RecordPosition(TP(topic, partition), record.offset)

    async def lives(self) -> None:
        """Go on, unless this process has had its last effect; then never."""
        if self.is_dead or (self._dies_after is not None and self.effects >= self._dies_after):
            self.is_dead = True
            await asyncio.Event().wait()

    def ack(self, event: Any) -> None:
        """An acknowledgement: of the next record of its partition and of this generation, or it is wrong."""
        message = event.message
        tp = message.tp
        if message.generation_id != self.generation:
            self.wrong.append(f"{tp}@{message.offset} of an old generation is acknowledged")
        gone = self.is_dead or (self._dies_after is not None and self.effects >= self._dies_after)
        if gone or self.generation != self.log.generation or tp not in self.acked_to:
            return  # Kafka refuses the commits of a worker that it has replaced.
        if message.offset != self.acked_to[tp]:
            self.wrong.append(f"{tp}@{message.offset} is acknowledged before {self.acked_to[tp]}")
        self.acked_to[tp] = message.offset + 1
        self.acknowledged.append((tp, message.offset))
        if self.commits:
            self.log.committed[tp] = message.offset + 1

    def _some(self, topics: Sequence[str]) -> TP | None:
        """A partition of these topics, of those that have something to be read."""
        ready = [
            tp
            for tp in (TP(topic, p) for topic in topics for p in range(self.settings.partitions))
            if tp in self.next_offset and tp not in self.full and self.next_offset[tp] < len(self.log.records[tp])
        ]
        return self._rng.choice(ready) if ready else None


async def _elements(channel: BatchTopic) -> AsyncIterator[RecordBatch]:
    """What a stream gives its agent."""
    while True:
        yield await channel.queue.get()


def on_ack(reader: BatchReader, note: Callable[[Any], None]) -> None:
    """Note each event that the reader counts as acknowledged."""
    acknowledge = reader.acknowledge

    def both(event: Any) -> None:
        acknowledge(event)
        note(event)

    reader.acknowledge = both  # type: ignore[method-assign]


def read_by(parts: Worker) -> set[str]:
    """Which topics the agents read, by the registry's names."""
    topics = {topic for agent in parts.app.agents.values() for topic in agent.channel.topics}
    return {by_name(topic, parts.deps.settings.prefix).base for topic in topics}


def position(record: Record) -> Position:
    return Position(
        topic=record.topic, partition=record.partition, offset=record.offset, timestamp_ms=record.timestamp_ms
    )


class _Producer:
    """What stands for the worker's producer."""

    def __init__(self, worker: FakeWorker) -> None:
        self._worker = worker

    def send(
        self, topic: str, partition: int, key: bytes | None, value: bytes | None
    ) -> "asyncio.Task[RecordPosition]":
        return asyncio.create_task(self._worker.deliver(topic, partition, key, value))


class _Consumer:
    """What stands for Faust's consumer."""

    def __init__(self, worker: FakeWorker) -> None:
        self._worker = worker

    @property
    def _committed_offset(self) -> dict[TP, int]:
        return self._worker.log.committed

    def assignment(self) -> set[TP]:
        return set(self._worker.acked_to)

    def on_buffer_full(self, tp: TP) -> None:
        self._worker.full.add(tp)

    def on_buffer_drop(self, tp: TP) -> None:
        self._worker.full.discard(tp)
        self._worker.log.wake()

    def highwater(self, tp: TP) -> int:
        return len(self._worker.log.records[tp])

    def topic_partitions(self, topic: str) -> int:
        return by_name(topic, PREFIX).partitions(self._worker.settings.partitions)


class FakeDeployment:
    """A fake log, and the workers that a test starts over it."""

    def __init__(self, settings: Settings, patch: pytest.MonkeyPatch) -> None:
        self.settings = settings
        self.log = FakeLog(settings)
        patch.setattr(writer, "Scanner", lambda _: FakeScanner(self.log))
        # Only saves time.
        patch.setattr("streams.worker.runtime.producer.FIRST_RETRY_SECONDS", 0.001, raising=False)
        self._workers: list[FakeWorker] = []

    def worker(self, seed: int = 0, **how: Any) -> FakeWorker:
        worker = FakeWorker(self.log, seed, **how)
        self._workers.append(worker)
        return worker

    async def successors(self, *, deaths: int, commits: bool = True) -> AsyncIterator[FakeWorker]:
        """Let a worker die after each of its effects in turn; yield its successor when that has nothing left to do.

        Args:
            deaths: at least so many times the worker has to die.
            commits: whether what the worker acknowledges is committed before it dies.
        """
        before = self.log
        for after in itertools.count():
            self.log = before.copy()
            first = self.worker(after, dies_after=after, commits=commits, slow=3)
            await first.quiet()
            has_died = first.is_dead
            await first.kill()
            second = self.worker(after + 1)
            await second.quiet()
            yield second
            await second.kill()
            if not has_died:
                break
        assert after > deaths, "it died after every effect that there is"

    async def close(self) -> None:
        for worker in self._workers:
            await worker.kill()
