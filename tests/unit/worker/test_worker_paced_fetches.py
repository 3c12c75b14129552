"""How often the embedded broker is asked, and how long it may look for records."""

import asyncio
import threading
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiokafka import TopicPartition

from streams.worker.runtime.repairs import LONGEST_PAUSE_SECONDS, SHORTEST_PAUSE_SECONDS, SHORTEST_WAIT_MS, PacedFetches


@dataclass
class Partition:
    """A partition's state in aiokafka."""

    highwater: int | None = None


@dataclass
class Broker:
    """A fetcher and its broker, which finds records only where a fetch waits long enough."""

    end: int = 0
    needs_ms: int = SHORTEST_WAIT_MS
    position: int = 0
    waits: list[int] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)
    partition: Partition = field(default_factory=Partition)
    _fetch_max_wait_ms: int = 500

    def state_value(self, partition: TopicPartition) -> Partition:
        assert partition == TopicPartition("t", 0)
        return self.partition

    async def _proc_fetch_request(self, assignment: Any, node_id: int, request: Any) -> bool:
        self.waits.append(self._fetch_max_wait_ms)
        self.partition.highwater = self.end
        came = self.position < self.end and self._fetch_max_wait_ms >= self.needs_ms
        self.position += came
        return came

    @property
    def topics(self) -> list[Any]:
        """The topics of a request from this position."""
        return [("t", [(0, self.position, 1_000)])]

    async def fetches(self, times: int) -> list[bool]:
        return [await self._proc_fetch_request(self, 1, self) for _ in range(times)]


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Broker:
    made = Broker()

    real_sleep = asyncio.sleep

    async def sleep(seconds: float) -> None:
        if threading.current_thread() is threading.main_thread():
            made.pauses.append(seconds)
        else:  # a server that an earlier test of this process started
            await real_sleep(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    made._proc_fetch_request = PacedFetches(made)  # type: ignore[method-assign]
    return made


def test_pauses_grow_while_no_record_comes_and_are_short_again_once_one_does(broker: Broker) -> None:
    asyncio.run(broker.fetches(20))
    broker.end = 1
    came = asyncio.run(broker.fetches(3))

    assert came == [True, False, False]
    assert (broker.pauses[0], broker.pauses[19]) == (SHORTEST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS)
    assert broker.pauses[:20] == sorted(broker.pauses[:20])
    assert (len(broker.pauses), broker.pauses[20]) == (22, SHORTEST_PAUSE_SECONDS), "no pause after records"
    assert set(broker.waits) == {SHORTEST_WAIT_MS}, "an idle broker looks for a millisecond"


def test_a_busy_broker_gets_the_time_to_find_the_records_that_it_reports(broker: Broker) -> None:
    """With 1 ms each, a worker beside other work stood still in front of thousands of records."""
    broker.end, broker.needs_ms = 3, 30

    came = asyncio.run(broker.fetches(9))

    assert came == [False] * 5 + [True] * 3 + [False], (
        "each fetch waits twice as long, and then all of them bring records"
    )
    assert broker.pauses == [SHORTEST_PAUSE_SECONDS], "no pause in front of records"
    assert broker.waits == [1, 2, 4, 8, 16, 32, 32, 32, 32]
    assert broker._fetch_max_wait_ms == SHORTEST_WAIT_MS, "once all is read, the broker is idle again"


async def test_a_fetch_that_is_cancelled_in_its_pause_answers_as_aiokafkas_own_does() -> None:
    """When a consumer stops, aiokafka cancels its fetches and awaits them. An error there stalls its end."""
    broker = Broker()
    broker._proc_fetch_request = PacedFetches(broker)  # type: ignore[method-assign]
    asked = asyncio.create_task(broker._proc_fetch_request(broker, 1, broker))
    await asyncio.sleep(0)
    asked.cancel()

    assert await asked is False
