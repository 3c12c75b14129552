"""The parts of Kafka's protocol that the proxy reads: which record batches a request appends, which offsets it commits.

Requests and answers are whole frames without their length. Versions with compact strings and tagged fields
("flexible") differ from the older ones in how lengths are written, which `Cursor` hides.
"""

import secrets
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from streams.exceptions import StreamsError
from streams.local.wire import Partition

PRODUCE, FETCH, OFFSET_COMMIT, INIT_PRODUCER_ID = 0, 1, 8, 22
_FLEXIBLE = {PRODUCE: 9, OFFSET_COMMIT: 8, INIT_PRODUCER_ID: 2}
_PRODUCER_ID_BITS = 62


class BadRequest(StreamsError, ValueError):
    """A request is not well-formed."""


class Header(NamedTuple):
    """The start of a request."""

    api: int
    version: int


class Cursor:
    """Reads fields of a frame in their order.

    Args:
        frame: a request or an answer.
        api: its kind.
        version: the kind's version, which decides how lengths are written.
    """

    def __init__(self, frame: bytes | bytearray, api: int, version: int) -> None:
        self._frame, self.at = frame, 0
        self.version, self._flexible = version, version >= _FLEXIBLE[api]

    def number(self, kind: str) -> int:
        """An integer, by its `struct` letter."""
        (found,) = struct.unpack_from(f">{kind}", self._frame, self.at)
        self.at += struct.calcsize(kind)
        return int(found)

    def length(self, kind: str = "i") -> int:
        """The length of an array, or of bytes; -1: null."""
        return self._varint() - 1 if self._flexible else self.number(kind)

    def block(self, kind: str = "i") -> tuple[int, int]:
        """Where the bytes of a field begin and end."""
        size = max(0, self.length(kind))
        if self.at + size > len(self._frame):
            raise BadRequest("a field is longer than its frame")
        self.at += size
        return self.at - size, self.at

    def string(self) -> str:
        """A string; empty where it is null."""
        start, end = self.block("h")
        return bytes(self._frame[start:end]).decode()

    def tags(self) -> None:
        """Skip tagged fields."""
        for _ in range(self._varint() if self._flexible else 0):
            self._varint()
            size = self._varint()
            self.at += size

    def partitions(self) -> Iterator[Partition]:
        """Each partition of an array of topics; the caller reads the partition's other fields before the next."""
        for _ in range(self.length()):
            name = self.string()
            for _ in range(self.length()):
                yield name, self.number("i")
                self.tags()
            self.tags()

    def _varint(self) -> int:
        found = shift = 0
        while True:
            byte = self._frame[self.at]
            self.at += 1
            found |= (byte & 0x7F) << shift
            if byte < 0x80:  # the highest bit announces another byte
                return found
            shift += 7


def header(frame: bytes | bytearray) -> Header:
    """The kind and version of a request."""
    return Header(*struct.unpack_from(">hh", frame))


def _request(frame: bytes | bytearray, version: int, api: int) -> Cursor:
    """A cursor behind the header of a request. The client's name in it is never compact."""
    cursor = Cursor(frame, api, version)
    cursor.at = 8
    name = cursor.number("h")
    cursor.at += max(0, name)
    cursor.tags()
    return cursor


def _answer(frame: bytes | bytearray, version: int, api: int) -> Cursor:
    cursor = Cursor(frame, api, version)
    cursor.at = 4
    cursor.tags()
    return cursor


@dataclass(frozen=True)
class Produced:
    """What a Produce request appends.

    Attributes:
        batches: where in the frame each partition's record batches begin and end.
        acks_at: where in the frame the request names the acknowledgement that it waits for.
        acks: that acknowledgement; with 0 the client expects no answer.
    """

    batches: dict[Partition, tuple[int, int]]
    acks_at: int
    acks: int


def produced(frame: bytes | bytearray, version: int) -> Produced:
    """Read a Produce request."""
    cursor = _request(frame, version, PRODUCE)
    if version >= 3:  # transactional id
        cursor.string()
    acks_at = cursor.at
    acks = cursor.number("h")
    cursor.number("i")
    batches = {partition: cursor.block() for partition in cursor.partitions()}
    return Produced(batches, acks_at, acks)


def appended(frame: bytes | bytearray, version: int) -> dict[Partition, int]:
    """The offset of the first appended record, of those partitions where an answer to Produce reports no error."""
    cursor, found = _answer(frame, version, PRODUCE), {}
    for partition in cursor.partitions():
        error, base = cursor.number("h"), cursor.number("q")
        if version >= 2:  # log append time
            cursor.number("q")
        if version >= 5:  # log start offset
            cursor.number("q")
        if version >= 8:  # refused records and a message
            for _ in range(cursor.length()):
                cursor.number("i")
                cursor.string()
                cursor.tags()
            cursor.string()
        if not error:
            found[partition] = base
    return found


def committed(frame: bytes | bytearray, version: int) -> tuple[str, dict[Partition, int]]:
    """The group and the offsets of an OffsetCommit request."""
    cursor = _request(frame, version, OFFSET_COMMIT)
    group = cursor.string()
    if version >= 1:
        cursor.number("i")
        cursor.string()
    if version >= 7:  # group instance id
        cursor.string()
    if 2 <= version <= 4:  # retention time
        cursor.number("q")
    offsets = {}
    for partition in cursor.partitions():
        offsets[partition] = cursor.number("q")
        if version >= 6:  # leader epoch
            cursor.number("i")
        if version == 1:
            cursor.number("q")
        cursor.string()
    return group, offsets


def accepted(frame: bytes | bytearray, version: int) -> set[Partition]:
    """The partitions where an answer to OffsetCommit reports no error."""
    cursor = _answer(frame, version, OFFSET_COMMIT)
    if version >= 3:  # throttle time
        cursor.number("i")
    return {partition for partition in cursor.partitions() if not cursor.number("h")}


def without_producer_id(frame: bytes, version: int) -> bytes:
    """The InitProducerId request for an id of its own: the broker does not know the id that the producer had."""
    if version < 3:
        return frame
    cursor, patched = _request(frame, version, INIT_PRODUCER_ID), bytearray(frame)
    if not cursor.string():  # no transactional id
        cursor.number("i")
        struct.pack_into(">qh", patched, cursor.at, -1, -1)
    return bytes(patched)


def with_unused_producer_id(frame: bytes, version: int) -> bytes:
    """The answer to InitProducerId with an id that no broker has given before.

    A restarted broker counts from 1 again, and a producer that outlives a broker keeps its id.
    """
    cursor, patched = _answer(frame, version, INIT_PRODUCER_ID), bytearray(frame)
    cursor.number("i")
    if not cursor.number("h"):
        struct.pack_into(">q", patched, cursor.at, secrets.randbits(_PRODUCER_ID_BITS))
    return bytes(patched)
