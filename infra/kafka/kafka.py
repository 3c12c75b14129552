#!/usr/bin/env python3
"""A real Apache Kafka from its Maven artifacts, without Docker.

From a shell::

    python infra/kafka/kafka.py --port 9092

From a test::

    with Kafka() as kafka:
        producer = Producer({"bootstrap.servers": kafka.bootstrap})

Every broker is also a KRaft controller and listens on 127.0.0.1 only. Needs only the standard library.
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
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from infra.kafka.secured import Secured

HERE = Path(__file__).resolve().parent
POM = HERE / "pom.xml"
LOGGING = HERE / "log4j2.properties"
CACHE = HERE.parents[1] / ".kafka"

HOST = "127.0.0.1"
JAVA_MIN = 17
READY = b"Kafka Server started"  # logged when the controller unfences the broker, after its port opens
START_LIMIT_S = 90.0
STOP_LIMIT_S = 15.0
SHOWN_LINES = 20
LISTENERS = "CLIENTS://{host}:{},CONTROLLER://{host}:{}"
SECURED_LISTENERS = ",SECURED://{host}:{},MUTUAL://{host}:{}"

Settings = Mapping[str, str | int | float]


class KafkaUnavailable(RuntimeError):
    """Java, Maven or the download is missing. A test may skip."""


class KafkaFailed(RuntimeError):
    """A broker ended or hung. A test must not skip."""


def fetch() -> Path:
    """Return the folder with Kafka's jars, which Maven fills once (44 MB)."""
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
        result = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        if result.returncode:
            raise KafkaUnavailable(f"Maven could not fetch Kafka:\n{_end(result.stdout + result.stderr)}")
        try:
            fresh.rename(lib)
        except OSError:
            if not lib.is_dir():  # otherwise another process was faster, with the same jars
                raise
    return lib


def java() -> str:
    """Return the ``java`` of ``JAVA_HOME``, or of the ``PATH``."""
    home = os.environ.get("JAVA_HOME")
    where = str(Path(home, "bin", "java")) if home else "java"
    found = shutil.which(where)
    reported = "not found"
    if found:
        reported = subprocess.run([found, "-version"], capture_output=True, text=True, check=False).stderr.strip()
    version = re.search(r'version "(\d+)', reported)
    if not found or not version or int(version[1]) < JAVA_MIN:
        advice = f"install Java {JAVA_MIN} or newer (Debian: apt install openjdk-{JAVA_MIN}-jre-headless)"
        raise KafkaUnavailable(f"Kafka cannot run with {where} ({reported}): {advice}")
    return found


def free_ports(count: int, avoid: Collection[int] = ()) -> list[int]:
    """Return free ports below the range of outgoing connections.

    Within that range a client could be given a broker's port while the broker starts or is briefly down.
    """
    free: list[int] = []
    for port in random.sample(range(20_000, 30_000), 10_000):
        if len(free) == count:
            break
        if port in avoid:
            continue
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as Java does
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
        free.append(port)
    return free


class Kafka:
    """A Kafka cluster, as a context manager or by ``start``.

    ``bootstrap`` is known before the start and stays the same when brokers are stopped or killed and restarted.

    Args:
        port: the first broker's port, the others follow; 0: free ports.
        data: folder to keep, for a later cluster with as many brokers; None: a temporary one that ``close`` removes.
        log: file for the log (``x-1.log``, ``x-2.log``, ... for several brokers); None: in the data folder.
        secured: adds two listeners with TLS: ``secured`` for users with passwords, ``mutual`` for client certificates.
    """

    def __init__(
        self,
        brokers: int = 1,
        properties: Settings | None = None,
        *,
        port: int = 0,
        data: Path | None = None,
        log: Path | None = None,
        heap_mb: int = 512,
        secured: Secured | None = None,
    ) -> None:
        options = [f"-Xmx{heap_mb}m", "-XX:+ExitOnOutOfMemoryError", f"-Dlog4j2.configurationFile={LOGGING}"]
        command = [java(), *options, *os.environ.get("KAFKA_OPTS", "").split(), "-cp", f"{fetch()}/*"]
        ports = list(range(port, port + brokers)) if port else free_ports(brokers)
        others = free_ports(3 * brokers, avoid=ports)
        controllers, passwords, certificates = (others[n : n + brokers] for n in range(0, len(others), brokers))
        self.bootstrap, self.secured, self.mutual = (
            ",".join(f"{HOST}:{port}" for port in each) for each in (ports, passwords, certificates)
        )

        self._temporary = Path(tempfile.mkdtemp(prefix="kafka-")) if data is None else None
        folder = (self._temporary or data or Path()).resolve()
        shared: Settings = {
            **_shared_settings(controllers),
            **(secured.properties() if secured else {}),
            **(properties or {}),
        }
        listeners = LISTENERS + SECURED_LISTENERS * (secured is not None)
        self._brokers = [
            _Broker(
                command,
                folder / f"broker-{node}",
                (log.with_stem(f"{log.stem}-{node}") if brokers > 1 else log).resolve()
                if log
                else folder / f"broker-{node}.log",
                {"node.id": node, "listeners": listeners.format(*of_node, host=HOST), **shared},
                secured.format_arguments() if secured else (),
            )
            for node, of_node in enumerate(zip(ports, controllers, passwords, certificates, strict=True), 1)
        ]
        atexit.register(self.close)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def wait(self) -> None:
        """Wait until a broker ends by itself; then raise KafkaFailed."""
        while all(broker.alive for broker in self._brokers):
            time.sleep(0.5)
        raise KafkaFailed("\n".join(broker.trouble() for broker in self._brokers if not broker.alive))

    def start(self) -> None:
        """Start the stopped brokers with their data, until they serve.

        If one fails, all are stopped, and KafkaFailed is raised.
        """
        down = [broker for broker in self._brokers if not broker.alive]
        try:
            # Must not begin with a dash, which the storage tool would take for an option.
            cluster = base64.urlsafe_b64encode(b"\0" + os.urandom(15)).decode().rstrip("=")
            for broker in down:
                broker.format(cluster)
            for broker in down:
                broker.launch()
            give_up = time.monotonic() + START_LIMIT_S
            for broker in down:
                broker.wait_ready(give_up)
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        """Stop all brokers gracefully; ``start`` brings them back with their data."""
        for one in self._brokers:
            one.signal(signal.SIGTERM)
        give_up = time.monotonic() + STOP_LIMIT_S
        for one in self._brokers:
            one.wait_ended(give_up)

    def kill(self, broker: int | None = None) -> None:
        """Kill one broker (1, 2, ...) or all, like a power cut."""
        for one in self._brokers if broker is None else [self._brokers[broker - 1]]:
            one.signal(signal.SIGKILL)
            one.wait_ended()

    def close(self) -> None:
        """Stops everything and removes temporary files. Also runs when Python exits."""
        if self._temporary is None:
            self.stop()
        else:
            self.kill()
            shutil.rmtree(self._temporary, ignore_errors=True)
        atexit.unregister(self.close)


class _Broker:
    """One Java process in its own session, out of Ctrl-C's reach."""

    def __init__(
        self, command: list[str], folder: Path, log: Path, settings: Settings, format_arguments: Sequence[str]
    ) -> None:
        self.log = log
        self._command, self._folder, self._format_arguments = command, folder, format_arguments
        self._settings_file = folder.with_suffix(".properties")
        self._settings = {"log.dirs": folder, **settings}
        self._process: subprocess.Popen[bytes] | None = None
        self._log_start = 0

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def format(self, cluster: str) -> None:
        """Formats an empty data folder; one in use is left unchanged."""
        self._folder.mkdir(parents=True, exist_ok=True)
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self._settings_file.touch(mode=0o600)  # it may hold passwords
        self._settings_file.write_text("".join(f"{name}={value}\n" for name, value in self._settings.items()))
        if not (self._folder / "meta.properties").exists():
            command = ["format", "-t", cluster, "-c", str(self._settings_file), *self._format_arguments]
            self._java("kafka.tools.StorageTool", *command).wait()

    def launch(self) -> None:
        self._log_start = self.log.stat().st_size if self.log.exists() else 0
        self._process = self._java("kafka.Kafka", str(self._settings_file))

    def wait_ready(self, give_up: float) -> None:
        while READY not in self.log.read_bytes()[self._log_start :]:
            if not self.alive or time.monotonic() > give_up:
                what = "was not ready in time" if self.alive else "ended"
                raise KafkaFailed(f"Kafka's {self._folder.name} {what}:\n{self.trouble()}")
            time.sleep(0.05)

    def trouble(self) -> str:
        """The log's part from the first error, or its end."""
        text = self.log.read_bytes()[self._log_start :].decode(errors="replace")
        error = re.search(r"^.* (ERROR|FATAL) ", text, re.MULTILINE)
        return "\n".join(text[error.start() :].splitlines()[:SHOWN_LINES]) if error else _end(text)

    def signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)

    def wait_ended(self, give_up: float = float("inf")) -> None:
        if self._process is None:
            return
        try:
            self._process.wait(None if give_up == float("inf") else max(0, give_up - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def _java(self, *arguments: str) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as out:
            return subprocess.Popen(
                [*self._command, *arguments],
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )


def _shared_settings(controllers: list[int]) -> dict[str, str | int | float]:
    """The settings of all brokers: Kafka's defaults except for sizes and timeouts."""
    replicas = min(3, len(controllers))
    internal: dict[str, int] = {}
    for prefix in ("transaction.state.log", "share.coordinator.state.topic"):
        internal[f"{prefix}.replication.factor"] = replicas
        internal[f"{prefix}.min.isr"] = max(1, replicas - 1)
        internal[f"{prefix}.num.partitions"] = 8
    return {
        "process.roles": "broker,controller",
        "controller.quorum.voters": ",".join(f"{node}@{HOST}:{port}" for node, port in enumerate(controllers, 1)),
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "CLIENTS",
        "listener.security.protocol.map": "CLIENTS:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "default.replication.factor": replicas,
        "offsets.topic.replication.factor": replicas,
        "offsets.topic.num.partitions": 8,
        **internal,
        "broker.heartbeat.interval.ms": 500,
        "broker.session.timeout.ms": 3_000,  # 9 s by default; a killed broker cannot return earlier
        "group.initial.rebalance.delay.ms": 0,
        "log.cleaner.dedupe.buffer.size": 16 * 1024 * 1024,  # 128 MB by default, a quarter of the heap
    }


def _end(text: str) -> str:
    return "\n".join(text.rstrip().splitlines()[-SHOWN_LINES:])


def main() -> None:
    """Run a cluster until Ctrl-C or SIGTERM."""
    parser = argparse.ArgumentParser(description="A real Apache Kafka on this machine, without Docker.")
    parser.add_argument("--port", type=int, default=9092, help="the first broker's port, 0 for a free one")
    parser.add_argument("--brokers", type=int, default=1, help="the number of brokers")
    parser.add_argument("--data", type=Path, help="folder to keep the data in (default: temporary)")
    args = parser.parse_args()
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, lambda *_: sys.exit(0))
    try:
        with Kafka(args.brokers, port=args.port, data=args.data) as kafka:
            print(f"Kafka serves at {kafka.bootstrap}; Ctrl-C stops it", flush=True)
            kafka.wait()
    except (KafkaUnavailable, KafkaFailed) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
