"""Kafka's record batches as bytes: split, stripped of their producer, and rebuilt at the same offsets."""

import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.record.util import calc_crc32c

from streams.kafka.codec import use_fast_gzip

use_fast_gzip()

MAGIC = 2
RECORDS, BYTES = 500, 512 * 1024
"""Most of one batch that is built here."""
_HEADER = 61
_ANY_SIZE = 1 << 30
_LENGTH_AT, _EPOCH_AT, _MAGIC_AT, _CRC_AT, _ATTRIBUTES_AT, _LAST_DELTA_AT, _PRODUCER_AT = 8, 12, 16, 17, 21, 23, 43


class Record(NamedTuple):
    """One record and where it stands on its partition."""

    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]] = ()


def split(data: bytes) -> Iterator[bytes]:
    """The whole batches in what a fetch brought; a last one that is cut off is left out."""
    at = 0
    while at + _HEADER <= len(data):
        (length,) = struct.unpack_from(">i", data, at + _LENGTH_AT)
        end = at + _EPOCH_AT + length
        if end > len(data):
            return
        yield data[at:end]
        at = end


def bounds(batch: bytes) -> tuple[int, int]:
    """The offset of a batch's first record, and the one behind its last."""
    (base,) = struct.unpack_from(">q", batch)
    (delta,) = struct.unpack_from(">i", batch, _LAST_DELTA_AT)
    return base, base + delta + 1


def anonymize(frame: bytearray, start: int, end: int) -> None:
    """Take the producer's id and sequence out of the batches in this part of a frame.

    A broker without its memory refuses the ids that a broker before it gave out.

    Raises:
        ValueError: these are no whole batches, or their checksum is wrong.
    """
    at = start
    while at < end:
        if at + _HEADER > end:
            raise ValueError("a record batch is cut off")
        (length,) = struct.unpack_from(">i", frame, at + _LENGTH_AT)
        stop = at + _EPOCH_AT + length
        if length < _HEADER - _EPOCH_AT or stop > end or frame[at + _MAGIC_AT] != MAGIC:
            raise ValueError("a record batch is not of format 2")
        (checksum,) = struct.unpack_from(">I", frame, at + _CRC_AT)
        if checksum != calc_crc32c(bytes(frame[at + _ATTRIBUTES_AT : stop])):
            raise ValueError("the checksum of a record batch is wrong")
        if struct.unpack_from(">q", frame, at + _PRODUCER_AT) != (-1,):
            struct.pack_into(">qhi", frame, at + _PRODUCER_AT, -1, -1, -1)
            struct.pack_into(">I", frame, at + _CRC_AT, calc_crc32c(bytes(frame[at + _ATTRIBUTES_AT : stop])))
        at = stop


def based(data: bytes | bytearray, base: int) -> Iterator[bytes]:
    """The batches as they stand on a partition whose broker gave the first record this offset."""
    for batch in split(bytes(data)):
        first, end = bounds(batch)
        yield struct.pack(">q", base) + batch[8:]
        base += end - first


def records(batch: bytes) -> Iterator[Record]:
    """A batch's records."""
    for part in iter(MemoryRecords(batch).next_batch, None):
        for record in part:
            yield Record(record.offset, record.timestamp, record.key, record.value, tuple(record.headers))


def built(
    kept: Sequence[Record], codec: int = DefaultRecordBatch.CODEC_GZIP, *, contiguous: bool = True
) -> Iterator[bytes]:
    """Batches that hold these records of a partition at their own offsets, from offset 0 on without a gap between them.

    Where records are missing, a batch spans more offsets than it has records. The embedded broker never ends an
    answer that ends with such a batch, so that the last record has a batch of its own, without a gap. A partition's
    only record therefore has to stand at offset 0.

    Args:
        kept: records in the order of their offsets.
        codec: how the batches are compressed, as in their attributes.
        contiguous: whether they are for a broker; files can have gaps.

    Raises:
        ValueError: for a broker, and the only record stands elsewhere.
    """
    if contiguous and len(kept) == 1 and kept[0].offset:
        raise ValueError(f"the only record of a partition stands at offset {kept[0].offset}, not at 0")
    base, pending, size = 0, list[Record](), 0
    for place, record in enumerate(kept):
        last = place == len(kept) - 1
        weight = len(record.key or b"") + len(record.value or b"")
        if pending and (last or len(pending) == RECORDS or size + weight > BYTES):
            yield _batch(base, record.offset, pending, codec)
            base, pending, size = record.offset, [], 0
        pending.append(record)
        size += weight
    if pending:
        yield _batch(base, pending[-1].offset + 1, pending, codec)


def _batch(base: int, end: int, held: Sequence[Record], codec: int) -> bytes:
    builder = DefaultRecordBatchBuilder(MAGIC, codec, 0, -1, -1, -1, _ANY_SIZE)
    for each in held:
        builder.append(each.offset - base, each.timestamp_ms, each.key, each.value, list(each.headers))
    made = bytearray(builder.build())
    struct.pack_into(">q", made, 0, base)
    struct.pack_into(">i", made, _LAST_DELTA_AT, end - base - 1)
    return _sealed(made)


def _sealed(batch: bytearray) -> bytes:
    struct.pack_into(">I", batch, _CRC_AT, calc_crc32c(bytes(batch[_ATTRIBUTES_AT:])))
    return bytes(batch)
