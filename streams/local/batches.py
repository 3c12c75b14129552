"""Kafka's record batches: split, stripped of producer ids, built at given offsets."""

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.record.util import calc_crc32c

MAGIC = 2
MAX_RECORDS, MAX_BYTES = 500, 512 * 1024  # per batch
_HEADER_SIZE = 61
_LENGTH_AT, _EPOCH_AT, _MAGIC_AT, _CRC_AT, _ATTRIBUTES_AT, _LAST_DELTA_AT, _PRODUCER_AT = 8, 12, 16, 17, 21, 23, 43
_CONTROL_BIT = 0x20
_COMMIT_MARKER = struct.pack(">hh", 0, 1), b"\0" * 6


class BatchRecord(NamedTuple):
    """One record and its offset in the partition."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]] = ()


def split(data: bytes) -> Iterator[bytes]:
    """Yield the complete batches of a Fetch answer, without a cut-off rest."""
    at = 0
    while at + _HEADER_SIZE <= len(data):
        (length,) = struct.unpack_from(">i", data, at + _LENGTH_AT)
        end = at + _EPOCH_AT + length
        if not at + _HEADER_SIZE <= end <= len(data):
            return
        yield data[at:end]
        at = end


def bounds(batch: bytes) -> tuple[int, int]:
    """Return a batch's first offset and the offset after its last."""
    (base,) = struct.unpack_from(">q", batch)
    (delta,) = struct.unpack_from(">i", batch, _LAST_DELTA_AT)
    return base, base + delta + 1


def without_producer(data: bytes) -> bytes:
    """Return batches without their producer's id and sequence numbers.

    Raises ValueError if a batch is cut off, has another format, or fails its checksum.
    """
    result = bytearray()
    for batch in split(data):
        (checksum,) = struct.unpack_from(">I", batch, _CRC_AT)
        if batch[_MAGIC_AT] != MAGIC or checksum != calc_crc32c(batch[_ATTRIBUTES_AT:]):
            raise ValueError("a record batch is damaged, or not of format 2")
        anonymous = bytearray(batch)
        struct.pack_into(">qhi", anonymous, _PRODUCER_AT, -1, -1, -1)
        result += _sealed(anonymous)
    if len(result) < len(data):
        raise ValueError("a record batch is cut off")
    return bytes(result)


def rebased(data: bytes, base: int) -> Iterator[bytes]:
    """Yield the batches with consecutive offsets from `base`."""
    for batch in split(data):
        first, end = bounds(batch)
        yield struct.pack(">q", base) + batch[8:]
        base += end - first


def records(batch: bytes) -> Iterator[BatchRecord]:
    """Yield a batch's records; a control batch has none."""
    for part in iter(MemoryRecords(batch).next_batch, None):
        if not part.is_control_batch:
            for record in part:
                yield BatchRecord(record.offset, record.timestamp, record.key, record.value, tuple(record.headers))


def build_batches(rows: Sequence[BatchRecord], end: int = 0) -> Iterator[bytes]:
    """Yield batches of these records that span all offsets from 0.

    `end` is the end offset of the partition, if its last record is not among these.
    """
    last = max(end, rows[-1].offset + 1 if rows else 0) - 1
    base, pending, size = 0, list[BatchRecord](), 0
    for record in rows:
        record_size = len(record.key or b"") + len(record.value or b"")
        is_full = len(pending) == MAX_RECORDS or (pending and size + record_size > MAX_BYTES)
        # The embedded broker never finishes an answer whose last batch has fewer records than offsets. So the last
        # offset gets a batch of its own.
        if is_full or base < record.offset == last:
            yield _batch(base, record.offset, pending)
            base, pending, size = record.offset, [], 0
        pending.append(record)
        size += record_size
    if base < last:
        yield _batch(base, last, pending)
        base, pending = last, []
    if last >= 0:
        yield _batch(last, last + 1, pending)


def _batch(base: int, end: int, rows: Sequence[BatchRecord]) -> bytes:
    """Build a batch that spans these offsets.

    Without records it is a control batch, which clients skip.
    """
    codec = DefaultRecordBatch.CODEC_GZIP if rows else DefaultRecordBatch.CODEC_NONE
    builder = DefaultRecordBatchBuilder(MAGIC, codec, 0, -1, -1, -1, 1 << 30)
    for each in rows or [BatchRecord(base, 0, *_COMMIT_MARKER)]:
        builder.append(each.offset - base, each.timestamp_ms, each.key, each.value, list(each.headers))
    batch = bytearray(builder.build())
    if not rows:
        batch[_ATTRIBUTES_AT + 1] |= _CONTROL_BIT
    struct.pack_into(">q", batch, 0, base)
    struct.pack_into(">i", batch, _LAST_DELTA_AT, end - base - 1)
    return _sealed(batch)


def _sealed(batch: bytearray) -> bytes:
    struct.pack_into(">I", batch, _CRC_AT, calc_crc32c(bytes(batch[_ATTRIBUTES_AT:])))
    return bytes(batch)
