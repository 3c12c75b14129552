"""Packed values: what is read is what was written, old ones included, and hostile ones cost nothing."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import BadRecord, Memory, Taken, decode, encode
from streams.kafka.packed import LARGE_BYTES, LZ4, MAX_BYTES, ZSTD, pack, unpack
from tests.builders import DOMAIN, NOW, USER

MEMORY = Memory(
    user_id=USER, domain=DOMAIN, taken=tuple(Taken(item_id=f"i{n}", title=f"Film {n}", at=NOW) for n in range(20))
)


@given(st.binary(max_size=2_000), st.integers(1, 40))
def test_any_value_comes_back(part: bytes, times: int) -> None:
    value = b"{" + part * times
    packed = pack(value)
    assert unpack(packed) == value
    assert len(packed) <= len(value)


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("spoil", ["cut", "noise", "longer", "shorter", "huge", "mark", "unmarked length"])
def test_a_value_that_only_looks_packed_is_a_bad_record(spoil: str, *, large: bool) -> None:
    plain = encode(MEMORY) + b" " * (LARGE_BYTES * large)
    packed = pack(plain)
    mark, block = packed[:1], packed[5:]
    value = {
        "cut": packed[:-9],
        "noise": packed[:5] + b"\xff" * 99,
        "longer": mark + (len(plain) + 1).to_bytes(4, "big") + block,
        "shorter": mark + (len(plain) - 1).to_bytes(4, "big") + block,
        "huge": mark + b"\xff" * 4 + block,
        "mark": mark,
        "unmarked length": mark + b"\0\0",
    }[spoil]

    assert unpack(packed) == plain
    with pytest.raises(BadRecord):
        decode(Memory, unpack(value))


@pytest.mark.parametrize("mark", [LZ4, ZSTD])
def test_a_few_bytes_get_no_memory_for_what_they_claim(mark: bytes) -> None:
    tracemalloc.start()
    try:
        unpack(mark + b"\xff" * 9)
        unpack(mark + (MAX_BYTES + 1).to_bytes(4, "big") + b"\xff" * 9)
        assert tracemalloc.get_traced_memory()[1] < MAX_BYTES / 8
    finally:
        tracemalloc.stop()
    assert pack(bytes(MAX_BYTES + 1)) == bytes(MAX_BYTES + 1), "what could not be unpacked is not packed"
