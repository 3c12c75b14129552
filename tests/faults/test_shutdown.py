"""A process ends when it is told to: it finishes what it has begun, in time, and leaves nothing to repeat."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from schemas import SkillDiff
from streams.kafka import topics
from streams.local.broker import EmbeddedBroker, free_port
from streams.settings import Settings
from streams.shutdown import EXIT_CODE
from tests.builders import slate
from tests.faults.load import Load
from tests.faults.oracle import Run, times
from tests.faults.test_kills import BROKER, wait_for_a_new_diff
from tests.harness import Harness
from tests.openai_server import Act, OpenAiServer, threaded
from tests.waiting import WAIT_SECONDS, ask, metric, until, why_not

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker, pytest.mark.timeout(1_800)]


def with_calls(server: OpenAiServer, **more: Any) -> dict[str, Any]:
    """Settings of a worker that asks the endpoint once about every choice, and waits for its answer."""
    return {
        "reasoner": "llm",
        "llm_base_url": server.base_url,
        "llm_attempts": 1,
        "metrics_port": free_port(),
        **more,
    }


def asked_to_end(process: subprocess.Popen[bytes], port: int) -> None:
    process.send_signal(signal.SIGTERM)
    until(lambda: "shutting down" in why_not(port) or process.poll() is not None, "it to say that it shuts down")
    assert process.poll() is None, f"it ended with {process.returncode} before it said so"


# --- a worker


@pytest.mark.thorough
def test_events_in_flight_are_finished_and_not_repeated(harness: Harness) -> None:
    """Also the calls to the LLM; the successor begins behind what was finished, and asks about nothing twice."""
    rounds = times(short=1, full=4)
    run = Run("SIGTERM to the only worker, LLM calls in flight", BROKER, rounds)
    ports: list[int] = []
    with threaded(OpenAiServer(always=Act(delay=1.5), keep=False)) as server:
        harness.materializer()
        with Load(harness.settings, per_second=8) as load:
            for number in range(rounds + 1):
                own = with_calls(server)
                ports.append(own["metrics_port"])
                worker = harness.worker(f"w{number}", **own)
                run.recovery_seconds.append(wait_for_a_new_diff(harness))
                if number == rounds:
                    break
                harness.until(lambda _: server.in_flight >= 4, "calls in flight")

                asked_to_end(worker, own["metrics_port"])
                assert server.in_flight > 0, "it ends while calls are in flight"
                assert ask(own["metrics_port"], "/live")[0] == 200

                assert worker.wait(WAIT_SECONDS) == 0
                harness.processes.remove(worker)
                assert server.in_flight == 0, "it hung up on a call"

        load.assert_undisturbed(harness, run, by_rules=False)
        # Of each choice the endpoint was asked once, by whoever had it in flight.
        assert len(server.times) == len(load.selections)
    assert metric(ports[-1], "sager_events_total", outcome="evolved") > 0
    assert metric(ports[-1], "sager_events_total", outcome="repeated") == 0


@pytest.mark.thorough
def test_a_worker_can_be_ended_at_any_moment_of_its_start(harness: Harness) -> None:
    """While it looks at the topics, joins its group, recovers its tables."""
    for number in range(30):
        shown = slate(number)
        harness.events.selection(harness.events.ranking(f"user-{number}", "films", shown), shown[0]["item_id"])
    harness.events.flush()
    seen, port = set[str](), free_port()

    for number in range(times(short=3, full=6)):
        worker = harness.worker(f"w{number}", metrics_port=port)
        reasons: list[str] = []
        while not (set(reasons) - seen) and ask(port, "/ready")[0] != 200 and worker.poll() is None:
            reasons = why_not(port)
        seen.update(reasons)
        assert harness.stop(worker) == 0, harness.logs()

    harness.worker("last")
    harness.count(SkillDiff, 30)
    assert len(harness.quiet().diffs) == 30
    assert "starting" in seen
    assert len(seen) > 1, seen


@pytest.mark.thorough
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

    worker.terminate()
    code = worker.wait(WAIT_SECONDS)

    assert code in (0, EXIT_CODE)


# --- the materializer


def test_the_materializer_gives_up_after_its_deadline(harness: Harness) -> None:
    port = free_port()
    materializer = harness.start("materialize", metrics_port=port, shutdown_seconds=0.001)
    harness.until(lambda _: ask(port, "/ready")[0] == 200, "the materializer to be ready")

    assert harness.stop(materializer) == EXIT_CODE
    assert "not shut down after" in (harness.settings.data_dir / "materialize.log").read_text()


def test_a_second_signal_ends_the_materializer_at_once(settings: Settings) -> None:
    """Here one that waits for a broker, and would do so for seconds."""
    nobody = Settings(**{**settings.model_dump(exclude_unset=True), "bootstrap": "127.0.0.1:1"})
    environment = {f"SAGER_{name.upper()}": str(value) for name, value in nobody.model_dump(exclude_unset=True).items()}
    port = free_port()
    with subprocess.Popen(
        [sys.executable, "-m", "streams.cli", "materialize"],
        env=environment | {"SAGER_METRICS_PORT": str(port)},
        stderr=subprocess.DEVNULL,
    ) as materializer:
        while not why_not(port):
            assert materializer.poll() is None
        asked_to_end(materializer, port)
        materializer.send_signal(signal.SIGINT)

        assert materializer.wait(WAIT_SECONDS) == -signal.SIGINT
