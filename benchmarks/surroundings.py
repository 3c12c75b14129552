"""Brokers, an LLM endpoint, and readings of /proc and /metrics."""

import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr

from sager_client import Connection
from streams.local.broker import EmbeddedBroker
from streams.settings import Settings

ROOT = Path(__file__).resolve().parents[1]
TICKS = os.sysconf("SC_CLK_TCK")
# A process is idle after this many looks with little CPU and no output.
LOOKS, LOOK_SECONDS, IDLE_SHARE = 3, 2.0, 0.1


def reached_as(settings: Settings) -> Connection:
    """How an app reaches a deployment with these settings."""
    found: dict[str, Any] = {name: getattr(settings, name) for name in Connection.model_fields}
    secrets = {name: value.get_secret_value() for name, value in found.items() if isinstance(value, SecretStr)}
    return Connection(**{**found, **secrets})


@contextmanager
def deployment(folder: Path, bootstrap: str | None = None, *, kafka: bool = False, **more: Any) -> Iterator[Settings]:
    """Settings on a named broker, a started Kafka, or the embedded broker."""
    common: dict[str, Any] = {"data_dir": folder, "prefix": f"{folder.name}.", "app_id": folder.name}
    common |= {"session_seconds": 6, "rebalance_seconds": 8, **more}
    if bootstrap:
        yield Settings(bootstrap=bootstrap, **common)
    elif kafka:
        from infra.kafka.kafka import Kafka  # noqa: PLC0415 - no part of the distribution

        with Kafka(data=folder / "kafka", log=folder / "kafka.log") as running:
            yield Settings(bootstrap=running.bootstrap, **common)
    else:
        with EmbeddedBroker(folder / "broker.log") as broker:
            yield Settings(bootstrap=broker.bootstrap, embedded=True, **common)


@contextmanager
def endpoint(delay_seconds: float, spread: float) -> Iterator[str]:
    """Run a fake LLM endpoint with a mean delay and spread."""
    command = [sys.executable, "tests/openai_server.py", "--port", "0"]
    command += ["--delay", str(delay_seconds), "--spread", str(spread)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    try:
        yield (server.stdout or sys.stdin).readline().split()[-1]
    finally:
        server.terminate()
        server.wait(10)


def rss_mib(pid: int) -> float:
    """A process's resident memory; 0 once it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmRSS")), 0.0)


def scraped(port: int) -> dict[str, float]:
    """Metrics of a process, such as `sager_in_flight evolve`, summed."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:  # our own child's address  # nosec B310
        families = text_string_to_metric_families(answer.read().decode())
    found: dict[str, float] = {}
    for family in families:
        for sample in family.samples:
            name = " ".join(
                [sample.name, *(value for label, value in sample.labels.items() if label in ("stage", "topic"))]
            )
            found[name] = found.get(name, 0.0) + sample.value
    return found


def end_in_order() -> None:
    """Have SIGTERM and Ctrl-C raise SystemExit, so that `finally` runs."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda which, _: sys.exit(128 + which))


def cpu_seconds(pid: int) -> float:
    """A process's user and system time so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def children_of(pid: int) -> list[int]:
    """The children of a process."""
    # By each process's own parent: the kernel's list of children leaves some out while others end.
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except OSError:  # it has ended meanwhile
            continue
        if parent == pid:
            found.append(int(stat.parent.name))
    return sorted(found)


def settled(pid: int, is_news: Callable[[], bool]) -> float:
    """A process's CPU seconds when it became idle, without news."""
    spent, quiet = cpu_seconds(pid), 0
    since = spent
    while quiet < LOOKS:
        time.sleep(LOOK_SECONDS)
        now = cpu_seconds(pid)
        if is_news() or now - spent > IDLE_SHARE * LOOK_SECONDS:
            quiet, since = 0, now
        else:
            quiet += 1
        spent = now
    return since
