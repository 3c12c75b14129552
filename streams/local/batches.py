"""Kafka's record batches as bytes: split, anonymized, and built at given offsets."""

import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple

import aiokafka.record.default_records
from aiokafka.codec import gzip_encode
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.record.util import calc_crc32c

MAGIC = 2
MAX_RECORDS, MAX_BYTES = 500, 512 * 1024  # per batch
_HEADER = 61
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


# aiokafka compresses with level 9, which takes several times as long as level 1.
_fast_gzip = partial(gzip_encode, compresslevel=1)
aiokafka.record.default_records.gzip_encode = _fast_gzip
with suppress(ImportError):  # aiokafka may be installed without its C extension
    from aiokafka.record._crecords import default_records

    default_records.gzip_encode = _fast_gzip


def split(data: bytes) -> Iterator[bytes]:
    """Yield the complete batches of a Fetch answer, without a cut-off rest."""
    at = 0
    while at + _HEADER <= len(data):
        (length,) = struct.unpack_from(">i", data, at + _LENGTH_AT)
        end = at + _EPOCH_AT + length
        if end > len(data):
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
    made, at = bytearray(data), 0
    while at < len(made):
        if at + _HEADER > len(made):
            raise ValueError("a record batch is cut off")
        (length,) = struct.unpack_from(">i", made, at + _LENGTH_AT)
        end = at + _EPOCH_AT + length
        if length < _HEADER - _EPOCH_AT or end > len(made) or made[at + _MAGIC_AT] != MAGIC:
            raise ValueError("a record batch is not of format 2")
        (checksum,) = struct.unpack_from(">I", made, at + _CRC_AT)
        if checksum != calc_crc32c(bytes(made[at + _ATTRIBUTES_AT : end])):
            raise ValueError("the checksum of a record batch is wrong")
        struct.pack_into(">qhi", made, at + _PRODUCER_AT, -1, -1, -1)
        struct.pack_into(">I", made, at + _CRC_AT, calc_crc32c(bytes(made[at + _ATTRIBUTES_AT : end])))
        at = end
    return bytes(made)


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
    # The embedded broker never finishes an answer whose last batch has fewer records than offsets. So the last offset
    # gets a batch of its own: without a record, a control batch, which every client skips.
    last = max(end, rows[-1].offset + 1 if rows else 0) - 1
    base, pending, size = 0, list[BatchRecord](), 0
    for record in rows:
        weight = len(record.key or b"") + len(record.value or b"")
        if pending and (len(pending) == MAX_RECORDS or size + weight > MAX_BYTES or record.offset == last):
            yield _batch(base, record.offset, pending)
            base, pending, size = record.offset, [], 0
        elif record.offset == last and base < last:
            yield _control_batch(base, last)
            base = last
        pending.append(record)
        size += weight
    if pending and pending[-1].offset < last:
        yield _batch(base, pending[-1].offset + 1, pending)
        base, pending = pending[-1].offset + 1, []
    if base < last:
        yield _control_batch(base, last)
    if last >= 0:
        yield _batch(last, last + 1, pending) if pending else _control_batch(last, last + 1)


def _batch(base: int, end: int, rows: Sequence[BatchRecord]) -> bytes:
    return _sealed(_filled(base, rows, DefaultRecordBatch.CODEC_GZIP), base, end)


def _control_batch(base: int, end: int) -> bytes:
    made = _filled(base, [BatchRecord(base, 0, *_COMMIT_MARKER)], codec=0)
    made[_ATTRIBUTES_AT + 1] |= _CONTROL_BIT
    return _sealed(made, base, end)


def _filled(base: int, rows: Sequence[BatchRecord], codec: int) -> bytearray:
    builder = DefaultRecordBatchBuilder(MAGIC, codec, 0, -1, -1, -1, 1 << 30)
    for each in rows:
        builder.append(each.offset - base, each.timestamp_ms, each.key, each.value, list(each.headers))
    return bytearray(builder.build())


def _sealed(batch: bytearray, base: int, end: int) -> bytes:
    struct.pack_into(">q", batch, 0, base)
    struct.pack_into(">i", batch, _LAST_DELTA_AT, end - base - 1)
    struct.pack_into(">I", batch, _CRC_AT, calc_crc32c(bytes(batch[_ATTRIBUTES_AT:])))
    return bytes(batch)
