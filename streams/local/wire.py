"""The few requests of Kafka's protocol with which the journal copies whole batches out of the embedded broker and back.

A batch comes as the bytes that its producer sent: compressed, with its time stamps, keys and headers, and goes back as
the same bytes. One request asks for all partitions at once, and its answer tells their true ends, which the embedded
broker's ListOffsets does not.
"""

import socket
import struct
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Self

from aiokafka.protocol.admin import CreateTopicsRequest_v0
from aiokafka.protocol.api import RequestStruct
from aiokafka.protocol.commit import OffsetCommitRequest, OffsetCommitRequest_v2, OffsetFetchRequest_v2
from aiokafka.protocol.fetch import FetchRequest, FetchRequest_v4
from aiokafka.protocol.produce import ProduceRequest, ProduceRequest_v3

from schemas import TOPICS
from streams.exceptions import BrokerUnreachable
from streams.settings import Settings

REQUEST_SECONDS = 30.0
FETCH_BYTES = 16 * 1024 * 1024
PARTITION_BYTES = 8 * 1024 * 1024
CLIENT = "sager-journal"
_EXISTS = 36

Partition = tuple[str, int]
"""A topic's whole name, and the number of one of its partitions."""


class Fetched(NamedTuple):
    """What one answer held of a partition: whole batches, and the offset behind its last record."""

    batches: bytes
    end: int


class _Quiet(NamedTuple):
    """A request that brought no records, and its answer: as long as nothing comes, both stay the same bytes."""

    positions: Mapping[Partition, int]
    wait_ms: int
    request: RequestStruct
    body: bytes
    answer: bytes
    found: dict[Partition, Fetched]


class Wire:
    """One connection to the embedded broker. It has no security, and is on this machine.

    Raises:
        BrokerUnreachable: from every request that is not answered, or refused.
    """

    def __init__(self, bootstrap: str, seconds: float = REQUEST_SECONDS) -> None:
        host, _, port = bootstrap.rpartition(":")
        self._bootstrap = bootstrap
        try:
            self._socket = socket.create_connection((host, int(port)), seconds)
        except OSError as error:
            raise BrokerUnreachable(f"the embedded broker does not answer at {bootstrap}: {error}") from error
        self._number = 0
        self._quiet: _Quiet | None = None

    def fetch(self, positions: Mapping[Partition, int], wait_ms: int = 0) -> dict[Partition, Fetched]:
        """What follows these offsets, as much as fits into one answer, and where each partition ends."""
        quiet = self._quiet
        if quiet is not None and (quiet.positions, quiet.wait_ms) == (positions, wait_ms):
            answer = self._exchange(quiet.request, quiet.body)
            return dict(quiet.found) if answer == quiet.answer else self._fetched(answer)
        asked = [(name, [(number, at, PARTITION_BYTES) for number, at in rows]) for name, rows in _by_topic(positions)]
        request = FetchRequest(wait_ms, int(wait_ms > 0), FETCH_BYTES, 0, asked).build(FetchRequest_v4)
        body = request.encode()
        answer = self._exchange(request, body)
        found = self._fetched(answer)
        self._quiet = None
        if not any(each.batches for each in found.values()):
            self._quiet = _Quiet(dict(positions), wait_ms, request, body, answer, found)
        return dict(found)

    def _fetched(self, answer: bytes) -> dict[Partition, Fetched]:
        found = {}
        for name, partitions in FetchRequest_v4.RESPONSE_TYPE.decode(answer).topics:
            for number, code, end, _, _, batches in partitions:
                self._check(code, f"reading {name}[{number}]")
                found[name, number] = Fetched(bytes(batches or b""), end)
        return found

    def produce(self, partition: Partition, batch: bytes) -> int:
        """Append one batch; the offset of its first record."""
        name, number = partition
        topics = [(name, [(number, batch)])]
        request = ProduceRequest(None, -1, int(REQUEST_SECONDS * 1_000), topics).build(ProduceRequest_v3)
        [(_, [(_, code, offset, *_)])] = self._ask(request).topics
        self._check(code, f"writing to {name}[{number}]")
        return int(offset)

    def committed(self, group: str, partitions: Mapping[Partition, Any]) -> dict[Partition, int]:
        """The next offset that the group has to do, of those partitions where it has committed one."""
        asked = [(name, [number for number, _ in rows]) for name, rows in _by_topic(partitions)]
        answer = self._ask(OffsetFetchRequest_v2(group, asked))
        found = {}
        for name, rows in answer.topics:
            for number, offset, _, code in rows:
                self._check(code, f"asking for what {group} has done of {name}[{number}]")
                if offset >= 0:
                    found[name, number] = int(offset)
        return found

    def commit(self, group: str, offsets: Mapping[Partition, int]) -> None:
        """Commit these offsets for a group that has no members."""
        topics = [(name, [(number, at, "") for number, at in rows]) for name, rows in _by_topic(offsets)]
        answer = self._ask(OffsetCommitRequest(group, -1, "", -1, topics).build(OffsetCommitRequest_v2))
        for name, rows in answer.topics:
            for number, code in rows:
                self._check(code, f"committing {name}[{number}]")

    def create_topics(self, settings: Settings) -> None:
        """Create the deployment's topics, as `streams.kafka.topics.ensure` does through a broker's public address."""
        wanted: list[tuple[str, int, int, list[Any], list[tuple[str, str]]]] = [
            (topic.name(settings.prefix), topic.partitions(settings.partitions), 1, [], list(topic.config().items()))
            for topic in TOPICS.values()
        ]
        for name, code in self._ask(CreateTopicsRequest_v0(wanted, int(REQUEST_SECONDS * 1_000))).topic_errors:
            if code != _EXISTS:
                self._check(code, f"creating {name}")

    def close(self) -> None:
        """End the connection."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _check(self, code: int, doing: str) -> None:
        if code:
            raise BrokerUnreachable(f"the embedded broker at {self._bootstrap} refuses {doing}: error {code}")

    def _ask(self, request: RequestStruct) -> Any:
        return request.RESPONSE_TYPE.decode(self._exchange(request, request.encode()))

    def _exchange(self, request: RequestStruct, body: bytes) -> bytes:
        """Send a request, encoded before; the answer's bytes."""
        self._number += 1
        payload = request.build_request_header(self._number, CLIENT).encode() + body
        try:
            self._socket.sendall(struct.pack(">i", len(payload)) + payload)
            (size,) = struct.unpack(">i", self._read(4))
            return self._read(size)[4:]
        except OSError as error:
            raise BrokerUnreachable(f"the embedded broker at {self._bootstrap} has gone: {error}") from error

    def _read(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            part = self._socket.recv(min(1 << 20, size - len(parts)))
            if not part:
                raise ConnectionError("it closed the connection")
            parts += part
        return bytes(parts)


def _by_topic(values: Mapping[Partition, Any]) -> Iterator[tuple[str, list[tuple[int, Any]]]]:
    grouped: dict[str, list[tuple[int, Any]]] = {}
    for (name, number), value in values.items():
        grouped.setdefault(name, []).append((number, value))
    yield from grouped.items()
