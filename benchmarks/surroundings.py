"""The surroundings of process benchmarks: a broker, an LLM endpoint, and readings of /proc and /metrics."""

import argparse
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families
from pydantic import SecretStr

from sager_client import Connection
from streams.local.broker import EmbeddedBroker
from streams.settings import Settings

ROOT = Path(__file__).resolve().parents[1]


def reached_as(settings: Settings) -> Connection:
    """How an app reaches a deployment with these settings."""
    found: dict[str, Any] = {each.name: getattr(settings, each.name) for each in fields(Connection)}
    secrets = {name: value.get_secret_value() for name, value in found.items() if isinstance(value, SecretStr)}
    return Connection(**{**found, **secrets})


def add_broker_arguments(parser: argparse.ArgumentParser) -> None:
    """The command-line options that choose a broker."""
    parser.add_argument("--bootstrap", help="a running Kafka")
    parser.add_argument("--kafka", action="store_true", help="start an Apache Kafka (Java 17, Maven)")


@contextmanager
def deployment(args: argparse.Namespace, folder: Path, **more: Any) -> Iterator[Settings]:
    """Settings of a separate deployment on the chosen broker; the embedded one by default."""
    common = {"data_dir": folder, "prefix": f"{folder.name}.", "app_id": folder.name, "session_seconds": 6, **more}
    common.setdefault("rebalance_seconds", 8)
    if args.bootstrap:
        yield Settings(bootstrap=args.bootstrap, **common)
    elif args.kafka:
        from infra.kafka.kafka import Kafka  # noqa: PLC0415 - no part of the distribution

        with Kafka(data=folder / "kafka", log=folder / "kafka.log") as kafka:
            yield Settings(bootstrap=kafka.bootstrap, **common)
    else:
        with EmbeddedBroker(folder / "broker.log") as broker:
            yield Settings(bootstrap=broker.bootstrap, embedded=True, **common)


@contextmanager
def endpoint(delay_seconds: float, spread: float = 0.0) -> Iterator[str]:
    """The base URL of a fake LLM endpoint, in a process of its own, that takes this long for each answer on average.

    Args:
        delay_seconds: the average.
        spread: share of it by which an answer may take longer or shorter.
    """
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
    """A process's /metrics, by name and stage or topic, such as `sager_in_flight evolve`; other labels are summed."""
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
