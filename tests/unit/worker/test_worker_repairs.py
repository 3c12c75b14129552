"""The repairs of Faust that need no broker to be seen; each with what Faust does without it."""

import asyncio
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import faust
import pytest
from aiokafka import TopicPartition
from faust.transport.drivers import aiokafka as driver
from faust.types import TP

from streams.worker import app as worker_app
from streams.worker.runtime.recovery import QuietTableManager
from streams.worker.runtime.repairs import (
    FencedProducer,
    IdempotentProducer,
    RoomyQueue,
    SeekingConsumerThread,
    TrueEndConsumerThread,
)
from tests.fake_log import settings_in


def app_of(folder: Path, *, embedded: bool = False) -> faust.App:
    return worker_app.create(settings_in(folder, embedded=embedded)).app


async def test_the_repaired_recovery_is_the_one_in_use(tmp_path: Path) -> None:
    """Repair 1."""
    assert isinstance(app_of(tmp_path).tables, QuietTableManager)


async def test_a_table_does_not_hold_what_its_changelog_does_not(tmp_path: Path) -> None:
    """Repair 4: Faust's own tables do, until the changelog has caught up or the worker has died."""
    table = worker_app.create(settings_in(tmp_path)).skills
    sent: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    table.send_changelog = lambda *_: sent
    table.partition_for_key = lambda _: 0
    logging_it = asyncio.create_task(table.send_change(b"key", b"value"))
    await asyncio.sleep(0)
    assert not logging_it.done()
    assert table.get(b"key") is None

    sent.set_result(SimpleNamespace(topic_partition=("skills", 0), offset=7))
    table.hold(b"key", b"value", await logging_it)

    assert table.get(b"key") == b"value"


async def test_the_producer_is_idempotent_and_not_transactional(tmp_path: Path) -> None:
    """Repair 5: Faust makes it idempotent in its exactly-once mode alone."""
    app = app_of(tmp_path)
    fausts = driver.Producer(app.transport, loop=asyncio.get_running_loop())

    assert isinstance(app.producer, IdempotentProducer)
    made = app.producer._settings_extra()
    assert (made["acks"], made["enable_idempotence"]) == ("all", True)
    assert not app.in_transaction
    assert "enable_idempotence" not in fausts._settings_extra()


async def test_the_embedded_broker_is_asked_for_no_producer_id(tmp_path: Path) -> None:
    """Repair 5: it gives none."""
    producer = app_of(tmp_path, embedded=True).producer

    assert isinstance(producer, FencedProducer)
    assert "enable_idempotence" not in producer._settings_extra()


async def test_a_buffer_that_is_full_makes_nobody_wait_and_is_fetched_for_no_more(tmp_path: Path) -> None:
    """Repair 6: Faust's own is called full, and whoever delivers to all streams waits for this one."""
    app = app_of(tmp_path)
    queue, told = app.FlowControlQueue(maxsize=10), []
    fausts = faust.App("other", broker="kafka://127.0.0.1:1").FlowControlQueue(maxsize=10)

    for number in range(25):
        for each in (queue, fausts):
            each.put_nowait_enhanced(
                number, on_pressure_high=lambda: told.append("stop"), on_pressure_drop=resume_of(told)
            )

    assert isinstance(queue, RoomyQueue)
    assert (queue.full(), fausts.full()) == (False, True)
    assert "stop" in told
    app.flow_control.resume()
    assert [queue.get_nowait() for _ in range(25)] == list(range(25)), "nothing is lost, and all in order"
    assert "go on" in told


def resume_of(told: list[str]) -> Any:
    return lambda: told.append("go on")


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


@pytest.mark.parametrize("repaired", [SeekingConsumerThread, TrueEndConsumerThread])
async def test_an_idle_worker_logs_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, repaired: type[Any]
) -> None:
    """Repair 7: Faust logs an error about each partition every few seconds, for ever."""
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


@pytest.mark.parametrize("repaired", [SeekingConsumerThread, TrueEndConsumerThread])
async def test_a_partition_between_two_positions_does_not_end_the_worker(tmp_path: Path, repaired: type[Any]) -> None:
    """Repair 7: while a seek is under way, aiokafka asserts that there is a position, and there is none."""

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
