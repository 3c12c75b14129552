"""Faults of the whole deployment under load that goes on: nothing is lost, doubled or dropped in silence.

`python -m benchmarks.reliability` repeats them; the other modules of this folder strike one process at a time.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.kafka.kafka import Kafka
from schemas import Ranking, Selection
from streams.settings import Settings
from tests.builders import slate
from tests.conftest import APACHE
from tests.faults.load import Load
from tests.faults.oracle import Run, assert_undisturbed, times
from tests.faults.test_kills import BROKER, wait_for_a_new_diff
from tests.harness import Harness, by_bytes
from tests.openai_server import Act, OpenAiServer, threaded

pytestmark = [pytest.mark.broker, pytest.mark.thorough, pytest.mark.seldom, pytest.mark.timeout(7_200)]

WAITING = int(os.environ.get("SAGER_TEST_WAITING", "2000"))
"""Events before the first worker starts: 100,000 take minutes."""


@pytest.fixture
def kafka(tmp_path: Path) -> Iterator[Kafka]:
    if not APACHE:
        pytest.skip("the embedded broker keeps nothing: benchmarks/strikes.py kills `sager up` as a whole")
    with Kafka(log=tmp_path / "kafka.log", heap_mb=320) as running:
        yield running


@pytest.fixture
def deployment(kafka: Kafka, tmp_path: Path) -> Iterator[Harness]:
    seconds = {"session_seconds": 6, "rebalance_seconds": 8, "publish_seconds": 0.5, "batch_seconds": 0.2}
    with Harness(Settings(bootstrap=kafka.bootstrap, data_dir=tmp_path / "data", **seconds)) as running:
        yield running


def test_kill_9_of_everything_at_once(kafka: Kafka, deployment: Harness) -> None:
    strikes = times(short=1, full=1)
    run = Run("kill -9 of broker, worker and materializer at once", BROKER, strikes)
    with Load(deployment.settings, per_second=8) as load:
        running = [deployment.worker(), deployment.materializer()]
        wait_for_a_new_diff(deployment)
        for _ in range(strikes):
            kafka.kill()
            for process in running:
                deployment.kill(process)
            kafka.start()
            running = [deployment.worker(), deployment.materializer()]
            run.recovery_seconds.append(wait_for_a_new_diff(deployment))

    assert_undisturbed(deployment, run, load.rankings, load.selections, may_be_resent=True)


@pytest.mark.parametrize("model_seconds", [0.0, 0.2])
def test_events_that_wait_for_the_first_worker(harness: Harness, model_seconds: float) -> None:
    """They are worked off in order, by counts or by a slow model, while more of them come."""
    slow = model_seconds > 0
    waiting = WAITING // 100 if slow else WAITING
    run = Run(f"{waiting:,} waiting events" + (f" before a model of {model_seconds} s" if slow else ""), BROKER)
    rankings, selections = [], []
    for number in range(waiting // 2):
        shown = slate(number)
        ranking = harness.events.ranking(f"early-{number % 200}", "films", shown, ranking_id=f"e{number}")
        selection = harness.events.selection(ranking, shown[number % 10]["item_id"], event_id=f"es{number}")
        rankings.append(by_bytes(Ranking, ranking))
        selections.append(by_bytes(Selection, selection))
    harness.events.flush()
    with threaded(OpenAiServer(always=Act(delay=model_seconds), keep=False)) as server:
        llm = {"reasoner": "llm", "llm_base_url": server.base_url} if slow else {}
        harness.materializer()
        with Load(harness.settings, per_second=8) as load:
            harness.worker(**llm)
            run.recovery_seconds.append(wait_for_a_new_diff(harness))
            wanted = len(selections)
            harness.until(lambda out: len(out.diffs) >= wanted, f"{wanted} diffs", seconds=3_600)
        every = (rankings + load.rankings, selections + load.selections)
        assert_undisturbed(harness, run, *every, by_rules=not slow)
