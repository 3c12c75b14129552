"""The repairs of Faust that need no broker to be seen; each with what Faust does without it."""

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
from streams.worker.runtime.repairs import SeekingConsumerThread, TrueEndConsumerThread
from tests.fake_log import settings_in


def app_of(folder: Path, *, embedded: bool = False) -> faust.App:
    return worker_app.create(settings_in(folder, embedded=embedded)).app


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


@pytest.mark.parametrize("repaired", [SeekingConsumerThread, TrueEndConsumerThread])
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
