"""The watchdog ends a worker that has work and does none, and leaves all others alone."""

import threading
import time

import pytest

from streams.settings import Settings
from streams.shutdown import EXIT_CODE
from streams.worker.runtime.watchdog import Watchdog
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
