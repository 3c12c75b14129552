"""A worker ends when it is told to, whatever else has ended before it."""

import time
from pathlib import Path

import pytest

from schemas import SkillDiff
from streams import topics
from streams.embedded import EmbeddedBroker
from streams.settings import Settings
from streams.worker.watchdog import EXIT_CODE
from tests.harness import Harness
from tests.worlds import slate

pytestmark = pytest.mark.broker


def test_sigterm_finishes_what_is_in_flight(harness: Harness) -> None:
    worker = harness.worker()
    for number in range(30):
        shown = slate(number)
        harness.events.selection(harness.events.ranking(f"user-{number}", "films", shown), shown[0]["item_id"])
    harness.events.flush()
    harness.count(SkillDiff, 30)

    assert harness.stop(worker) == 0


def test_a_worker_without_a_broker_ends_in_time(settings: Settings, tmp_path: Path) -> None:
    with EmbeddedBroker(tmp_path / "broker.log") as broker:
        own = settings.model_copy(
            update={"bootstrap": broker.bootstrap, "embedded": True, "shutdown_seconds": 3.0, "data_dir": tmp_path}
        )
        own = Settings(**own.model_dump(exclude_unset=True))
        topics.ensure(own)
        harness = Harness(own)
        worker = harness.worker()
        shown = slate(1)
        harness.events.selection(harness.events.ranking("ann", "films", shown), shown[0]["item_id"])
        harness.events.flush()
        harness.count(SkillDiff, 1)
    began = time.monotonic()

    worker.terminate()
    code = worker.wait(30)

    assert code in (0, EXIT_CODE)
    assert time.monotonic() - began < 15


def test_the_watchdog_is_on_guard(harness: Harness) -> None:
    harness.worker(watchdog_seconds=77)
    shown = slate(1)
    harness.events.selection(harness.events.ranking("ann", "films", shown), shown[0]["item_id"])
    harness.events.flush()
    harness.count(SkillDiff, 1)

    assert "without progress for 77 s" in (harness.settings.data_dir / "worker.log").read_text()
