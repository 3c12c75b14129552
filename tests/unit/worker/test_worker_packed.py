"""Packed values: what is read is what was written, old ones included, and hostile ones cost nothing."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import (
    TOPICS,
    BadRecord,
    Memory,
    Taken,
    encode,
)
from streams.kafka.packed import MARK, MAX_BYTES, pack, searchable, unpack
from tests.builders import DOMAIN, NOW, USER

MEMORY = Memory(
    user_id=USER, domain=DOMAIN, taken=tuple(Taken(item_id=f"i{n}", title=f"Film {n}", at=NOW) for n in range(20))
)
PACKED = pack(encode(MEMORY))


@given(st.binary(max_size=2_000), st.integers(1, 20))
def test_any_value_comes_back(part: bytes, times: int) -> None:
    value = b"{" + part * times
    packed = pack(value)
    assert unpack(packed) == value
    assert len(packed) <= len(value)


def test_a_value_of_before_there_was_packing_is_readable() -> None:
    assert unpack(encode(MEMORY)) == encode(MEMORY)


def test_nothing_is_packed_that_others_may_read() -> None:
    packed = [topic for topic in TOPICS.values() if topic.packed]
    assert packed
    assert all(topic.internal for topic in packed)


@pytest.mark.parametrize(
    "value",
    [
        MARK,
        MARK + b"\0\0",
        MARK + (MAX_BYTES + 1).to_bytes(4, "big") + b"\x1f" + b"\xff" * 99,
        MARK + b"\xff" * 4 + b"\x1f{",
        PACKED[:-9],
        PACKED[:5] + b"\xff" * 99,
        MARK + (len(encode(MEMORY)) + 1).to_bytes(4, "big") + PACKED[5:],
        MARK + (len(encode(MEMORY)) - 1).to_bytes(4, "big") + PACKED[5:],
    ],
)
def test_a_value_that_only_looks_packed_is_a_bad_record(value: bytes) -> None:
    with pytest.raises(BadRecord):
        unpack(value)
    assert searchable(value) == value


def test_a_few_bytes_get_no_memory_for_what_they_claim() -> None:
    tracemalloc.start()
    try:
        with pytest.raises(BadRecord, match="at most 8,388,608"):
            unpack(MARK + b"\xff" * 9)
        assert tracemalloc.get_traced_memory()[1] < MAX_BYTES / 8
    finally:
        tracemalloc.stop()
    assert pack(bytes(MAX_BYTES + 1)) == bytes(MAX_BYTES + 1), "what could not be unpacked is not packed"


def test_a_search_sees_into_packed_values() -> None:
    assert b"Film 12" not in PACKED
    assert b"Film 12" in searchable(PACKED)
