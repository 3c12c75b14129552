#!/usr/bin/env python3
"""A real Apache Kafka for tests and demos, from its Maven artifacts: no Docker, nothing to install but Java and Maven.

From a shell::

    python infra/kafka/kafka.py run --port 9092

From a test::

    with Kafka(properties={"log.retention.ms": 1000}) as kafka:
        producer = Producer({"bootstrap.servers": kafka.bootstrap})

Every broker is a KRaft controller too and listens on 127.0.0.1 only. Needs nothing outside the standard library.
"""

from __future__ import annotations

import argparse
import atexit
import base64
import hashlib
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

HERE = Path(__file__).resolve().parent
POM = HERE / "pom.xml"
LOGGING = HERE / "log4j2.properties"
CACHE = HERE.parents[1] / ".kafka"

HOST = "127.0.0.1"
JAVA_MIN = 17
READY = b"Kafka Server started"  # logged once the controller lets the broker serve, later than its port opens
START_LIMIT_S = 90.0
STOP_LIMIT_S = 15.0

Properties = Mapping[str, str | int | float]


class KafkaUnavailable(RuntimeError):
    """This machine cannot run Kafka: Java or Maven is missing, or nothing could be downloaded. A test may skip."""


class KafkaFailed(RuntimeError):
    """A broker ended or hung instead of serving; the message carries the end of its log. A test must not skip."""


def fetch() -> Path:
    """The folder with Kafka's jars (44 MB), which Maven fills on the first call.

    Its name is a hash of ``pom.xml``, so a changed pom is fetched anew.

    Raises:
        KafkaUnavailable: Maven is missing or failed.
    """
    lib = CACHE / hashlib.sha256(POM.read_bytes()).hexdigest()[:12]
    if lib.is_dir():
        return lib
    maven = shutil.which("mvn")
    if maven is None:
        raise KafkaUnavailable("Kafka is fetched with Maven, which is missing: install it (Debian: apt install maven)")
    CACHE.mkdir(exist_ok=True)
    (CACHE / ".gitignore").write_text("*\n")
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="fetch-") as scratch:
        fresh = Path(scratch, "lib")
        command = [maven, "-q", "-B", "-f", str(POM), "dependency:copy-dependencies", f"-DoutputDirectory={fresh}"]
        result = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if result.returncode:
            raise KafkaUnavailable(f"Maven could not fetch Kafka:\n{_end(result.stdout + result.stderr)}")
        try:
            fresh.rename(lib)
        except OSError:
            if not lib.is_dir():  # else another process was faster, with the same jars
                raise
    return lib


def java() -> str:
    """The ``java`` to run Kafka with: from ``JAVA_HOME`` if set, else from the ``PATH``.

    Raises:
        KafkaUnavailable: there is none, or it is older than Java 17.
    """
    home = os.environ.get("JAVA_HOME")
    found = shutil.which(Path(home, "bin", "java") if home else "java")
    told = subprocess.run([found, "-version"], capture_output=True, text=True).stderr.strip() if found else "not found"
    version = re.search(r'version "(\d+)', told)
    if found is None or version is None or int(version[1]) < JAVA_MIN:
        raise KafkaUnavailable(
            f"Kafka needs Java {JAVA_MIN} or newer: install it (Debian: apt install openjdk-17-jre-headless). "
            f"{f'JAVA_HOME={home}' if home else 'java on the PATH'}: {told}"
        )
    return found


def free_ports(count: int) -> list[int]:
    """Ports nobody listens on, below the range from which the system takes the ports of outgoing connections.

    From inside that range a client could be given the port while the broker is still starting, or is down.
    """
    free: list[int] = []
    for port in random.sample(range(20_000, 30_000), 1_000):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as Java does
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
        free.append(port)
        if len(free) == count:
            return free
    raise KafkaFailed(f"no {count} free ports between 20000 and 30000")


class Kafka:
    """A Kafka cluster that lives as long as the ``with`` block (or from ``start`` to ``close``).

    ``bootstrap`` is known before the start and stays the same when brokers are stopped or killed and started again.

    Args:
        brokers: how many, each a controller too. Internal topics have up to three replicas.
        properties: broker settings that go on top of ours.
        port: the first broker's port, the next ones follow; 0 takes free ones.
        data: folder that is kept, for a cluster to be started again later with as many brokers; None takes a temporary
            folder and ``close`` removes it.
        log: file for the brokers' logs (``x-1.log``, ``x-2.log``, ... for several); None puts them into the data folder.
        heap_mb: largest heap per broker. Further JVM options are taken from ``KAFKA_OPTS``.

    Raises:
        KafkaUnavailable: from ``java`` and ``fetch``.
    """

    def __init__(
        self,
        brokers: int = 1,
        properties: Properties | None = None,
        *,
        port: int = 0,
        data: Path | None = None,
        log: Path | None = None,
        heap_mb: int = 512,
    ) -> None:
        options = [f"-Xmx{heap_mb}m", "-XX:+ExitOnOutOfMemoryError", f"-Dlog4j2.configurationFile={LOGGING}"]
        command = [java(), *options, *os.environ.get("KAFKA_OPTS", "").split(), "-cp", f"{fetch()}/*"]
        self._temporary = None if data else tempfile.TemporaryDirectory(prefix="kafka-", ignore_cleanup_errors=True)
        folder = data.resolve() if data else Path(self._temporary.name if self._temporary else "")

        controllers = free_ports(brokers)
        ports = [port + i for i in range(brokers)] if port else free_ports(2 * brokers)
        ports = [port for port in ports if port not in controllers][:brokers]
        self.bootstrap = ",".join(f"{HOST}:{port}" for port in ports)
        quorum = ",".join(f"{node}@{HOST}:{port}" for node, port in enumerate(controllers, 1))
        self._brokers = []
