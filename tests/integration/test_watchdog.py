"""The watchdog ends a worker that has work and does none, and leaves all others alone."""

import threading
import time

import pytest
from confluent_kafka import Consumer, TopicPartition
from prometheus_client import REGISTRY

from streams.kafka.clients import client_config
from streams.settings import Settings
from streams.shutdown import EXIT_CODE
from streams.worker.runtime.watchdog import Watchdog, lag
from tests.harness import Harness
from tests.patience import PATIENCE_SECONDS
from tests.worlds import slate

pytestmark = [pytest.mark.on("kafka"), pytest.mark.broker]

PATIENCE = 0.4


def watchdog(settings: Settings, progressed: float, ended: list[int]) -> Watchdog:
    impatient = settings.model_copy(update={"watchdog_seconds": PATIENCE})
    ours = {(settings.topic(base), p) for base in ("rankings", "selections") for p in range(settings.partitions)}
    return Watchdog(impatient, lambda: progressed, lambda: ours, ended.append)


def test_lag_without_progress_ends_the_process(harness: Harness) -> None:
    for number in range(20):
        harness.events.ranking(f"user-{number}", "films", slate(number))
    harness.events.flush()
    ended: list[int] = []

    dog = watchdog(harness.settings, time.monotonic() - 10, ended)
    dog.start()
    dog.join(PATIENCE_SECONDS)

    assert ended == [EXIT_CODE]


def test_a_broker_that_is_away_is_no_reason_to_end(settings: Settings) -> None:
    nobody = settings.model_copy(update={"bootstrap": "127.0.0.1:1"})
    dog = watchdog(nobody, time.monotonic() - 10, [])
    verdict: list[bool] = []
    asking = threading.Thread(target=lambda: verdict.append(dog.is_stuck()), daemon=True)
    asking.start()
    asking.join(PATIENCE_SECONDS)

    assert verdict == [False]


def test_lag_counts_what_is_not_committed(harness: Harness) -> None:
    from streams.kafka.topics import admin  # noqa: PLC0415

    for _ in range(4):
        harness.raw.produce(harness.settings.topic("selections"), b"x", partition=1)
        harness.raw.flush(10)
    consumer = Consumer(client_config(harness.settings, **{"group.id": harness.settings.app_id}))
    where = TopicPartition(harness.settings.topic("selections"), 1, 3)
    consumer.commit(offsets=[where], asynchronous=False)
    consumer.close()

    behind = lag(harness.settings, admin(harness.settings), ["selections"])

    assert {tp.partition: count for tp, count in behind.items()} == {0: 0, 1: 1, 2: 0, 3: 0}


def test_the_oldest_record_that_waits_is_told_with_its_age(harness: Harness) -> None:
    hour = 3_600
    long_ago = int((time.time() - hour) * 1_000)
    for partition, stamp in ((0, long_ago + 60_000), (1, long_ago), (1, long_ago - 60_000)):
        harness.raw.produce(harness.settings.topic("selections"), b"x", partition=partition, timestamp=stamp)
        harness.raw.flush(10)

    dog = watchdog(harness.settings, time.monotonic(), [])
    before = age("selections")
    dog.is_stuck()

    assert before < 1
    assert age("selections") == pytest.approx(hour, abs=30)
    assert age("rankings") < 1


def age(topic: str) -> float:
    """In seconds, as the alert has it."""
    told = REGISTRY.get_sample_value("sager_oldest_unprocessed_timestamp_seconds", {"topic": topic})
    assert told is not None
    return time.time() - told
