"""Shared fixtures: one real broker per session, and a pipeline on a prefix of its own."""

import gc
import os
import signal
import uuid
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from infra.kafka.kafka import Kafka, KafkaUnavailable
from infra.kafka.secured import OpensslUnavailable, Secured
from streams.local.broker import EmbeddedBroker
from streams.settings import Settings
from tests.harness import Harness

# A shell starts background jobs with SIGINT ignored, and the commands under test would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline: a busy machine is not a failure, and benchmarks measure time. Derandomized: a failure must be repeatable.
hypothesis.settings.register_profile(
    "sager", deadline=None, max_examples=40, derandomize=not os.environ.get("SAGER_TEST_EXPLORE")
)
hypothesis.settings.load_profile("sager")

APACHE = os.environ.get("SAGER_TEST_BROKER", "embedded") == "kafka"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without the garbage collector: it takes a quarter of the time and frees nothing."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_unconfigure() -> None:
    """Unfreeze: DuckDB's binding reports frozen objects as leaks, after pytest's last line."""
    gc.unfreeze()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests that are `on` the other broker (SAGER_TEST_SPLIT=1)."""
    if os.environ.get("SAGER_TEST_SPLIT"):
        here = "kafka" if APACHE else "embedded"
        others = [item for item in items if (only := item.get_closest_marker("on")) and only.args[0] != here]
        if others:
            config.hook.pytest_deselected(items=others)
            items[:] = [item for item in items if item not in set(others)]
    if processes := getattr(config, "workerinput", {}).get("workercount"):
        items[:] = dealt(items, processes)


# Folders with slow tests, which wait half of the time for their processes.
WAITING = ("e2e", "faults", "integration")


def dealt(items: list[pytest.Item], processes: int) -> list[pytest.Item]:
    """Order tests for `--dist worksteal`: each process gets its share of the slow modules first, then short tests."""
    waiting: dict[Path, list[pytest.Item]] = {}
    short: list[pytest.Item] = []
    for item in items:
        (waiting.setdefault(item.path, []) if item.path.parent.name in WAITING else short).append(item)
    order: list[pytest.Item] = []
    for number in range(processes):
        size = (len(items) - len(order)) // (processes - number)
        share = [item for module in list(waiting.values())[number::processes] for item in module]
        room = max(0, size - len(share))
        order += share + short[:room]
        del short[:room]
    return order + short


@pytest.fixture(autouse=True, scope="session")
def _clean_environment() -> Iterator[None]:
    """Remove the settings of the developer's own deployment."""
    patch = pytest.MonkeyPatch()
    for name in list(os.environ):
        if name.startswith(("SAGER_", "OPENAI_")) and not name.startswith("SAGER_TEST_"):
            patch.delenv(name)
    yield
    patch.undo()


@pytest.fixture(scope="session")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Bootstrap servers of the session's broker: the embedded one, or Apache Kafka with SAGER_TEST_BROKER=kafka."""
    folder = tmp_path_factory.mktemp("broker")
    if not APACHE:
        with EmbeddedBroker(folder / "broker.log") as broker:
            yield broker.bootstrap
        return
    with where_kafka_starts():
        kafka = Kafka(log=folder / "kafka.log")
    with kafka:
        yield kafka.bootstrap


@contextmanager
def where_kafka_starts() -> Iterator[None]:
    """Skip the test where Apache Kafka cannot be started, or fail it where it is required."""
    try:
        yield
    except (KafkaUnavailable, OpensslUnavailable) as why:
        if os.environ.get("SAGER_TEST_REQUIRE_KAFKA"):
            pytest.fail(f"Apache Kafka is required here: {why}")
        pytest.skip(f"Apache Kafka cannot be started: {why}")


def a_deployment(folder: Path, **own: Any) -> Settings:
    """A deployment with topics of its own and short times."""
    name = f"t{uuid.uuid4().hex[:8]}"
    quick: dict[str, Any] = {
        "prefix": f"{name}.",
        "app_id": name,
        "embedded": not APACHE,
        "data_dir": folder / "data",
        "session_seconds": 6,
        "rebalance_seconds": 8,
        "publish_seconds": 0.5,
        "batch_seconds": 0.2,
        # The graph's messages are half of a worker's load, and few tests are about them.
        "fan_out": 2,
        "graph_flush_seconds": 0.2,
        "weights_flush_seconds": 0.2,
        "support_floor": 3,
    }
    return Settings(**{**quick, **own})


def sasl_user(bootstrap: str, files: Secured, name: str) -> dict[str, Any]:
    """Settings of a user who connects over TLS with a password."""
    return {
        "bootstrap": bootstrap,
        "kafka_security_protocol": "SASL_SSL",
        "kafka_sasl_username": name,
        "kafka_sasl_password": files.users[name],
        "kafka_ssl_ca": files.ca,
    }


@pytest.fixture
def settings(bootstrap: str, tmp_path: Path) -> Settings:
    """A deployment of its own on the session's broker."""
    return a_deployment(tmp_path, bootstrap=bootstrap)


@pytest.fixture
def harness(settings: Settings) -> Iterator[Harness]:
    """A pipeline whose worker and materializer the test starts and ends."""
    with Harness(settings) as running:
        yield running
