"""The repairs of Faust that need no broker to be seen; each with what Faust does without it."""

import asyncio
import logging
import threading
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import faust
import pytest
from aiokafka import TopicPartition
from faust.transport.drivers import aiokafka as driver
from faust.types import TP

from streams.worker.create import create
from streams.worker.metrics import MAX_LABELS, OTHER, BoundedLabels
from streams.worker.run import RateLimitFilter
from streams.worker.runtime.recovery import (
    LONGEST_PAUSE_SECONDS,
    SHORTEST_PAUSE_SECONDS,
    SHORTEST_WAIT_MS,
    EmbeddedConsumerThread,
    PacedFetches,
    SeekingConsumerThread,
)
from tests.fake_log import settings_in


def app_of(folder: Path, *, embedded: bool = False) -> faust.App:
    return create(settings_in(folder, embedded=embedded)).app


TP_OF_NOBODY = TP("t.contrasts", 0)


def idle_for_minutes(thread_class: Any, app: faust.App) -> Any:
    """A consumer thread whose partition has a record that its stream was never given, ten minutes after the start."""
    state = SimpleNamespace(highwater=7, position=3, timestamp=600_000.0, has_valid_position=True)
    assignment = SimpleNamespace(active=True, state_value=lambda _: state)
    subscriptions = SimpleNamespace(subscription=SimpleNamespace(assignment=assignment))
    thread: Any = object.__new__(thread_class)
    thread.consumer = SimpleNamespace(app=app)
    thread.log = SimpleNamespace(error=logging.getLogger("a thread").error)
    thread.time_started = 0.0
    thread.tp_fetch_request_timeout_secs = thread.tp_stream_timeout_secs = thread.tp_commit_timeout_secs = 60.0
    thread._ensure_consumer = lambda: SimpleNamespace(_fetcher=SimpleNamespace(_subscriptions=subscriptions))
    return thread


@pytest.mark.parametrize("repaired", [SeekingConsumerThread, EmbeddedConsumerThread])
async def test_an_idle_worker_logs_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, repaired: type[Any]
) -> None:
    """Repair 6: Faust logs an error about each partition every few seconds, for ever."""
    app = app_of(tmp_path)
    app.topics.acks_enabled_for = lambda _: True
    driver.AIOKafkaConsumerThread.verify_event_path(
        idle_for_minutes(driver.AIOKafkaConsumerThread, app), 600.0, TP_OF_NOBODY
    )
    assert "has not started processing" in caplog.text
    caplog.clear()

    thread = idle_for_minutes(repaired, app)
    thread.verify_event_path(600.0, TP_OF_NOBODY)
    thread.verify_recovery_event_path(600.0, TP_OF_NOBODY)

    assert caplog.text == ""


@pytest.mark.parametrize("repaired", [SeekingConsumerThread, EmbeddedConsumerThread])
async def test_a_partition_between_two_positions_does_not_end_the_worker(tmp_path: Path, repaired: type[Any]) -> None:
    """Repair 6: while a seek is under way, aiokafka asserts that there is a position, and there is none."""

    class Seeking:
        timestamp, highwater = 600_000.0, 7

        @property
        def position(self) -> int:
            raise AssertionError("no position")

    app = app_of(tmp_path)
    for kind in (driver.AIOKafkaConsumerThread, repaired):
        thread = idle_for_minutes(kind, app)
        where = thread._ensure_consumer()._fetcher._subscriptions.subscription.assignment
        where.state_value = lambda tp: Seeking() if tp == TopicPartition(*TP_OF_NOBODY) else None
        if kind is repaired:
            thread.verify_event_path(600.0, TP_OF_NOBODY)
        else:
            with pytest.raises(AssertionError):
                thread.verify_event_path(600.0, TP_OF_NOBODY)


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


def record(name: str, text: str, *args: object, exc_info: object = None) -> logging.LogRecord:
    return logging.LogRecord(name, logging.ERROR, __file__, 1, text, args, exc_info)


def test_a_message_that_repeats_is_told_now_and_then_and_counted() -> None:
    seconds = count()
    seldom = RateLimitFilter(("aiokafka",), 10, lambda: float(next(seconds)))
    attempts = [record("aiokafka.conn", "no connection to %s (attempt %s)", "node 1", n) for n in range(21)]

    told = [attempt.getMessage() for attempt in attempts if seldom.filter(attempt)]

    assert told == [
        "no connection to node 1 (attempt 0)",
        "no connection to node 1 (attempt 10) (and 9 more like it)",
        "no connection to node 1 (attempt 20) (and 9 more like it)",
    ]


def test_the_first_names_keep_theirs_and_the_rest_share_one() -> None:
    names = BoundedLabels(["prior"])
    told = [names[f"domain-{number}"] for number in range(1_000)]

    assert len(set(told)) == MAX_LABELS
    assert told[0] == "domain-0"
    assert told[-1] == OTHER
    assert names["domain-3"] == "domain-3"
    assert names["prior"] == "prior"
