"""`/live`, `/ready` and `/metrics` of a worker and a materializer: before, during and after they do their work."""

import asyncio
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from streams.analytics.run import IDLE_SECONDS, STUCK_SECONDS, MaterializerHealth
from streams.http.process_health import EVERY, serve
from streams.kafka import topics
from streams.local.broker import EmbeddedBroker, free_port
from streams.settings import Settings
from streams.worker.runtime.watchdog import WorkerHealth
from tests.builders import slate
from tests.harness import Harness
from tests.waiting import ask, is_ready, metric, until, why_not


@pytest.fixture
def served(tmp_path: Path) -> tuple[MaterializerHealth, list[float], int]:
    now, port = [0.0], free_port()
    health = MaterializerHealth(lambda: now[0])
    serve(Settings(metrics_port=port, data_dir=tmp_path), health, EVERY)
    return health, now, port


# --- what is answered


def test_a_process_is_alive_before_it_is_ready_and_while_it_ends(served) -> None:
    health, _, port = served
    assert ask(port, "/live") == (200, {"live": True, "reasons": []})
    assert ask(port, "/ready") == (503, {"ready": False, "reasons": ["opening the DuckDB file"]})
    assert metric(port, "sager_ready") == 0

    health.turn()
    assert ask(port, "/ready") == (200, {"ready": True, "reasons": []})
    assert metric(port, "sager_ready") == 1

    health.is_ending = True
    assert ask(port, "/ready") == (503, {"ready": False, "reasons": ["shutting down"]})
    assert ask(port, "/live")[0] == 200


def test_readiness_lists_its_reasons(served) -> None:
    health, now, port = served
    health.turn()
    health.broker_answers = health.can_publish = False
    assert why_not(port) == ["no broker answers", "the snapshot cannot be published; see the log"]
    assert ask(port, "/live")[0] == 200

    health.broker_answers = health.can_publish = True
    now[0] = IDLE_SECONDS + 1
    assert why_not(port) == [f"no poll for {IDLE_SECONDS + 1:.0f} s"]
    assert ask(port, "/live")[0] == 200
    now[0] = STUCK_SECONDS + 1
    assert ask(port, "/live")[0] == 503
    health.turn()
    assert (ask(port, "/live")[0], ask(port, "/ready")[0]) == (200, 200)


def test_a_silent_client_does_not_block_others(served) -> None:
    *_, port = served
    silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(12)]
    assert ask(port, "/live")[0] == 200
    for each in silent:
        each.close()


# --- what makes a worker dead


@contextmanager
def event_loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    yield loop
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)
    loop.close()


def test_a_blocked_event_loop_is_not_live() -> None:
    health, released = WorkerHealth(loop_seconds=3), threading.Event()
    with event_loop() as loop:
        loop.call_soon_threadsafe(health.start_heartbeat, loop)
        assert health.why_not_live() == []

        loop.call_soon_threadsafe(released.wait)
        until(health.why_not_live, "the loop to be found stuck")
        assert "event loop has not turned" in health.why_not_live()[0]
        assert set(health.why_not_live()) <= set(health.why_not_ready())

        released.set()
        until(lambda: not health.why_not_live(), "the loop to turn again")


# --- real processes


def deployment(settings: Settings, broker: EmbeddedBroker) -> Settings:
    own = Settings(
        **settings.model_dump(exclude_unset=True, exclude={"bootstrap", "embedded", "session_seconds"}),
        bootstrap=broker.bootstrap,
        embedded=True,
        session_seconds=4,
    )
    topics.ensure(own)
    return own


@pytest.mark.broker
@pytest.mark.on("embedded")
@pytest.mark.thorough
def test_ready_follows_the_broker_and_live_does_not(settings: Settings, tmp_path: Path) -> None:
    worker_port, materializer_port = ports = free_port(), free_port()
    with EmbeddedBroker(tmp_path / "broker.log") as broker, Harness(deployment(settings, broker)) as harness:
        worker = harness.worker(metrics_port=worker_port)
        materializer = harness.start("materialize", metrics_port=materializer_port)
        seen: set[str] = set()

        def comes_up() -> bool:
            seen.update(why_not(worker_port))
            return is_ready(worker_port) and is_ready(materializer_port)

        harness.until(lambda _: comes_up(), "both to be ready")
        assert "waiting to join the group" in seen
        shown = slate(1)
        harness.events.selection(harness.events.ranking("ann-with-a-name", "films", shown), shown[0]["item_id"])
        harness.events.flush()
        harness.until(lambda out: bool(out.diffs), "a diff")

        assert broker._process is not None
        broker._process.send_signal(signal.SIGSTOP)
        try:
            until(lambda: not any(map(is_ready, ports)), "both to notice that no broker answers")
            assert "does a broker answer?" in why_not(worker_port)[-1]
            assert why_not(materializer_port) == ["no broker answers"]
            assert [ask(port, "/live")[0] for port in ports] == [200, 200]
        finally:
            broker._process.send_signal(signal.SIGCONT)
        until(lambda: all(map(is_ready, ports)), "both to be ready again")

        told = [str(ask(port, path)) for port in ports for path in ("/live", "/ready", "/metrics")]
        assert not [text for text in told if "ann-with-a-name" in text]
        assert (harness.stop(worker), harness.stop(materializer)) == (0, 0)
