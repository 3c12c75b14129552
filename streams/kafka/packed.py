"""Packs the values of topics that only workers read: lz4 behind one byte that no JSON begins with.

The registry says which topics are `packed`. A value that was written before there was packing is JSON: it stays
readable, as everybody who reads such a topic unpacks first and decodes then.
"""

from cramjam import DecompressionError, lz4

from schemas import BadRecord

MARK = b"\x01"
"""What a packed value begins with; behind it stands its length as JSON, in four bytes, then the block."""
MAX_BYTES = 8 * 1024 * 1024
"""The largest value that is packed or unpacked, as JSON: whoever claims more in a few bytes gets no memory for it."""
_START = len(MARK) + 4


def pack(value: bytes) -> bytes:
    """The value packed, or as it is where that is shorter.

    >>> unpack(pack(b'{"user_id":"ann"}' * 9)) == b'{"user_id":"ann"}' * 9
    True
    """
    if len(value) > MAX_BYTES:
        return value
    packed = MARK + len(value).to_bytes(4, "big") + bytes(lz4.compress_block(value, store_size=False))
    return packed if len(packed) < len(value) else value


def unpack(value: bytes) -> bytes:
    """The value as it was before `pack`; one that is not packed comes back as it is.

    Raises:
        BadRecord: it begins like a packed one and is none, or claims more than `MAX_BYTES`.
    """
    if not value.startswith(MARK):
        return value
    length = int.from_bytes(value[len(MARK) : _START], "big")
    if length > MAX_BYTES:
        raise BadRecord("invalid", f"packed value of {length:,} bytes: at most {MAX_BYTES:,} are unpacked")
    unpacked = bytearray(length)
    try:
        held = lz4.decompress_block_into(value[_START:], unpacked)
    except DecompressionError as error:
        raise BadRecord("invalid", f"packed value cannot be unpacked: {error}") from None
    if held != length:
        raise BadRecord("invalid", f"packed value holds {held:,} bytes and claims {length:,}")
    return bytes(unpacked)


def searchable(value: bytes) -> bytes:
    """The value to look for a text in: unpacked, or as it is where it cannot be, as no reader gets more out of it."""
    try:
        return unpack(value)
    except BadRecord:
        return value
