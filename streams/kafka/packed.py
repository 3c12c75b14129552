"""Packs values on topics that only our own processes read: lz4 or zstd behind one byte that no JSON begins with.

The registry marks topics as `packed`. Values that cannot be unpacked stay as they are, and no decoder accepts them.

An item of the graph has a form of its own, a seventh of its JSON, in which a taker is found without unpacking: one byte
marks it, four hold the epoch. The takers' pseudonyms follow uncompressed; then, in an LZ4 block, the names of other
items and of tastes, each once, and the takers in columns.

>>> item = ItemMemory(domain="films", item_id="dune", epoch=7)
>>> unpack_item(pack_item(item)) == item, epoch_of(pack_item(item))
(True, 7)
"""

import struct
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from cramjam import DecompressionError, lz4, zstd
from pydantic_core import from_json, to_json

from schemas import MAX_OTHERS, MAX_TAKERS, MAX_TASTES, BadRecord, ItemMemory, Taker, encode

LZ4, ZSTD = b"\x01", b"\x02"
"""First bytes of packed values; the length as JSON in four bytes follows, then the block or frame."""
MAX_BYTES = 8 * 1024 * 1024
"""The largest value that is packed or unpacked, as JSON: a value that claims more gets no memory."""
LARGE_BYTES = 6 * 1024
"""From this size on zstd is used: it takes 20 us more than lz4, and a third less bytes."""
_START = 5
PACKED = 16
"""First byte of a packed item."""
_ITEM = bytes([PACKED])
_HEAD = struct.Struct("<BIB")
_SIZE = struct.Struct("<I")
_NAME_BYTES = 14
_MOST_NAME_CHARS = 256
_MAX_BODY = 1024 * 1024
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def pack(value: bytes) -> bytes:
    """Return the value packed, or as it is if that is shorter or it is packed already.

    >>> len(pack(b'{"user_id":"ann"}' * 9)) < 40
    True
    """
    length = len(value)
    if length > MAX_BYTES or value[:1] in (LZ4, ZSTD, _ITEM):
        return value
    if length < LARGE_BYTES:
        packed = LZ4 + length.to_bytes(4, "big") + bytes(lz4.compress_block(value, store_size=False))
    else:
        packed = ZSTD + length.to_bytes(4, "big") + bytes(zstd.compress(value, level=1))
    return packed if len(packed) < length else value


def unpack(value: bytes) -> bytes:
    """Return the value as it was before `pack`; a value that is not packed, or cannot be unpacked, as it is.

    >>> unpack(pack(b'{"user_id":"ann"}' * 9)) == b'{"user_id":"ann"}' * 9
    True
    """
    kind = value[:1]
    if kind == _ITEM:
        try:
            return encode(unpack_item(value))
        except BadRecord:
            return value
    if kind not in (LZ4, ZSTD):
        return value
    length = int.from_bytes(value[1:_START], "big")
    if length > MAX_BYTES:
        return value
    unpacked = bytearray(length)
    try:
        into = lz4.decompress_block_into if kind == LZ4 else zstd.decompress_into
        held = into(value[_START:], unpacked)
    except DecompressionError:
        return value
    return bytes(unpacked) if held == length else value


def pack_item(item: ItemMemory) -> bytes:
    """Return the item in its packed form."""
    takers = item.takers
    others = {name: place for place, name in enumerate(dict.fromkeys(n for t in takers for n in t.others))}
    tastes = {name: place for place, name in enumerate(dict.fromkeys(n for t in takers for n in t.tastes))}
    head = to_json([item.domain, item.item_id, list(others), list(tastes)])
    said = [others[name] for taker in takers for name in taker.others]
    liked = [tastes[name] for taker in takers for name in taker.tastes]
    count = len(takers)
    columns = struct.pack(
        f"<{count}q{count}Q{count}I{count}H{count}B{count}B{count}B{len(said)}H{len(liked)}H",
        *((taker.at - _BEGINNING) // _MICROSECOND for taker in takers),
        *(taker.version for taker in takers),
        *(taker.times for taker in takers),
        *(taker.degree for taker in takers),
        *(len(taker.others) for taker in takers),
        *(len(taker.tastes) for taker in takers),
        *(taker.days for taker in takers),
        *said,
        *liked,
    )
    names = b"".join(name_bytes(taker.neighbour) for taker in takers)
    body = bytes(lz4.compress_block(_SIZE.pack(len(head)) + head + columns))
    return _HEAD.pack(PACKED, item.epoch, count) + names + body


def unpack_item(value: bytes) -> ItemMemory:
    """Return the item in these bytes. Raises BadRecord if they are not an item in this form."""
    try:
        return _unpacked_item(value)
    except BadRecord:
        raise
    except (struct.error, ValueError, TypeError, IndexError, OverflowError, DecompressionError) as error:
        raise BadRecord("invalid", f"not a packed item: {type(error).__name__}") from None


def _unpacked_item(value: bytes) -> ItemMemory:
    form, epoch, count = _HEAD.unpack_from(value)
    if form != PACKED or count > MAX_TAKERS:
        raise BadRecord("unknown-version", f"an item of the form {form} with {count} takers")
    start = _HEAD.size + count * _NAME_BYTES
    if _SIZE.unpack_from(value, start)[0] > _MAX_BODY:
        raise BadRecord("invalid", "an item that unpacks to more than an item can be")
    body = bytes(lz4.decompress_block(value[start:]))
    [length] = _SIZE.unpack_from(body)
    domain, item_id, others, tastes = from_json(body[_SIZE.size : _SIZE.size + length])
    at, versions, times, degrees, many, some, days, rest = _columns(body[_SIZE.size + length :], count)
    takers, place = [], 0
    ends = sum(many)
    for number in range(count):
        own = rest[place : place + many[number]]
        liked = rest[ends : ends + some[number]]
        place, ends = place + many[number], ends + some[number]
        takers.append(
            Taker(
                _name(value[_HEAD.size + number * _NAME_BYTES :][:_NAME_BYTES]),
                versions[number],
                _BEGINNING + timedelta(microseconds=at[number]),
                times[number],
                degrees[number],
                tuple([others[each] for each in own]),
                tuple([tastes[each] for each in liked]),
                days[number],
            )
        )
    if not all(isinstance(n, str) and 0 < len(n) <= _MOST_NAME_CHARS for n in (domain, item_id, *others, *tastes)):
        raise ValueError("a name is no text of an allowed length")
    return ItemMemory.model_construct(domain=domain, item_id=item_id, epoch=epoch, takers=tuple(takers))


def _columns(raw: bytes, count: int) -> Sequence[Any]:
    fixed = struct.Struct(f"<{count}q{count}Q{count}I{count}H{count}B{count}B{count}B")
    flat = fixed.unpack_from(raw)
    columns = [flat[n * count : (n + 1) * count] for n in range(7)]
    many, some = columns[4], columns[5]
    if any(each > MAX_OTHERS for each in many) or any(each > MAX_TASTES for each in some):
        raise ValueError("too many names")
    length = sum(many) + sum(some)
    if len(raw) != fixed.size + 2 * length:
        raise ValueError("cut short")
    return (*columns, struct.unpack_from(f"<{length}H", raw, fixed.size))


def epoch_of(value: bytes) -> int:
    """Return the epoch of a packed item, without unpacking it; 0 for other values."""
    return int(_HEAD.unpack_from(value)[1]) if len(value) >= _HEAD.size and value[0] == PACKED else 0


def holds(value: bytes, neighbour: bytes) -> bool:
    """True if a packed item may have this taker, in the form of `name_bytes`; false only if it has not."""
    return (
        len(value) >= _HEAD.size
        and value[0] == PACKED
        and neighbour in value[_HEAD.size : _HEAD.size + value[5] * _NAME_BYTES]
    )


def name_bytes(neighbour: str) -> bytes:
    """Return a pseudonym in 14 bytes: the mark of its secret, and the digest.

    >>> len(name_bytes("user:ab12." + 24 * "0"))
    14
    """
    return bytes.fromhex(neighbour[5:9] + neighbour[10:])


def _name(raw: bytes) -> str:
    digits = raw.hex()
    return f"user:{digits[:4]}.{digits[4:]}"
