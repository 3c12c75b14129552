"""Any bytes on any topic: an event or a `BadRecord`, and rows that DuckDB takes (invariant 9)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from schemas import TOPICS, BadRecord, DeadLetter, Ranking, decode, encode
from schemas.base import MAX_INT
from streams.analytics.records import KafkaRecord, Put
from streams.analytics.rows import PUBLIC_TOPICS, read
from streams.privacy import DEFAULT as PRIVACY
from tests.golden import golden
from tests.unit.fuzz.fuzz_strategies import as_bytes, look, numbers, outcome, records

MANY = 5_000
MAX_DETAIL_CHARS = 3_000
MAX_ERRORS = 40


@pytest.mark.parametrize("base", TOPICS)
def test_any_bytes_are_an_event_or_a_bad_record(base: str) -> None:
    model = TOPICS[base].model

    @given(value=records(base))
    def check(value: bytes) -> None:
        event = outcome(lambda: decode(model, value), BadRecord)
        if isinstance(event, BadRecord):
            assert event.reason in BadRecord.REASONS
            assert len(event.detail) <= MAX_DETAIL_CHARS
            assert event.detail.isprintable()
            return
        written = encode(event)
        assert encode(decode(model, written)) == written
        # No character takes more than six to write; what was left out has a default.
        assert len(written) <= 6 * len(value) + 4_000

    look(check)


@pytest.mark.parametrize("topic", PUBLIC_TOPICS, ids=lambda topic: topic.base)
def test_any_record_is_a_row_or_a_bad_record(topic: Any) -> None:
    keys = st.one_of(st.none(), st.binary(max_size=40), st.just(b'["ann","films"]'))
    stamps = st.one_of(st.integers(0, 2**63 - 1), st.just(0))

    @given(value=records(topic.base), key=keys, stamp=stamps)
    def check(value: bytes, key: bytes | None, stamp: int) -> None:
        record = KafkaRecord(topic, partition=0, offset=0, timestamp_ms=stamp, key=key, value=value)
        change = outcome(lambda: read(record, privacy=PRIVACY), BadRecord)
        if isinstance(change, BadRecord):
            assert len(change.detail) <= MAX_DETAIL_CHARS
            return
        assert isinstance(change, Put)
        cells = [cell for _, rows in change.tables() for row in rows for cell in row.values()]
        for cell in cells:
            if isinstance(cell, str):
                cell.encode()
            elif type(cell) is int:
                assert -(2**63) <= cell < 2**63

    look(check)


@given(
    key=st.one_of(st.none(), st.binary()),
    value=st.one_of(st.none(), st.binary()),
    stamp=numbers,
    limit=st.integers(0, 50),
)
def test_any_record_has_a_dead_letter(key: bytes | None, value: bytes | None, stamp: float, limit: int) -> None:
    where = {"topic": "t", "partition": 0, "offset": 0, "timestamp_ms": 0}
    source = decode(DeadLetter, encode_letter(where)).source
    source = source.model_copy(update={"timestamp_ms": min(abs(stamp), MAX_INT) if isinstance(stamp, int) else 0})

    letter = DeadLetter.of("stage", source, "invalid", "x" * 2_000, key, value, limit=limit)

    assert letter.key == (key and key[:limit])
    assert letter.value == (value and value[:limit])
    assert decode(DeadLetter, encode(letter)).event_id == letter.event_id
    assert 1970 <= letter.occurred_at.year <= 9999


def encode_letter(source: dict[str, Any]) -> bytes:
    letter = golden("dead-letters") | {"source": source}
    return DeadLetter.model_validate(letter).model_dump_json().encode()


def test_an_error_names_a_hostile_key_in_one_short_line() -> None:
    """It is logged: a record's own key must not write lines or colours of its own there."""
    key = "\x1b[31m\nERROR all is lost" + "x" * 100_000
    record = golden("rankings") | {"injected": {"companions": {key: 7}}}

    error = outcome(lambda: decode(Ranking, as_bytes(record)), BadRecord)

    assert isinstance(error, BadRecord)
    assert "all is lost" in error.detail
    assert error.detail.isprintable()
    assert len(error.detail) <= 600


def collections(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where in a record there are lists and objects."""
    if isinstance(value, dict):
        inner = [found for name, part in value.items() for found in collections(part, (*path, name))]
        return [path, *inner]
    if isinstance(value, list):
        return [path, *(found for place, part in enumerate(value) for found in collections(part, (*path, place)))]
    return []


def replaced(record: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    copy: Any = dict(record) if isinstance(record, dict) else list(record)
    copy[path[0]] = replaced(record[path[0]], path[1:], value)
    return copy


@pytest.mark.parametrize("base", TOPICS)
def test_what_is_wrong_in_a_collection_is_told_once(base: str) -> None:
    """An error for each of its entries would cost a thousand times what it takes to write such a record."""
    example = golden(base)
    for path in collections(example):
        for bad in ([{"no": "such"}] * MANY, [-1.5] * MANY, {f"key {n}": [n] for n in range(MANY)}):
            told = outcome(lambda: TOPICS[base].model.model_validate(replaced(example, path, bad)), ValidationError)  # noqa: B023
            assert not isinstance(told, ValidationError) or told.error_count() <= MAX_ERRORS, path
