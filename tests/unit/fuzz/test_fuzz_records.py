"""Any bytes on a topic or in an imported file: valid events, or the error of that reader (invariant 9)."""

import gzip
import itertools
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from schemas import MAX_INT, TOPICS, BadRecord, DeadLetter, Position, Ranking, decode, encode
from streams.analytics.records import KafkaRecord, Put
from streams.analytics.rows import PUBLIC_TOPICS, read
from streams.importers.dataset import catalogue, interactions
from streams.importers.loader import load
from streams.importers.mapping import DataSetError
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.golden import golden
from tests.unit.fuzz.fuzz_strategies import as_bytes, changed, damaged, numbers, outcome, records, search

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

    search(check)


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

    search(check)


@given(
    key=st.one_of(st.none(), st.binary()),
    value=st.one_of(st.none(), st.binary()),
    stamp=numbers,
    limit=st.integers(0, 50),
)
def test_any_record_has_a_dead_letter(key: bytes | None, value: bytes | None, stamp: float, limit: int) -> None:
    moment = min(abs(stamp), MAX_INT) if isinstance(stamp, int) else 0
    source = Position(topic="t", partition=0, offset=0, timestamp_ms=moment)

    letter = DeadLetter.of("stage", source, "invalid", "x" * 2_000, key, value, limit=limit)

    assert letter.key == (key and key[:limit])
    assert letter.value == (value and value[:limit])
    assert decode(DeadLetter, encode(letter)).event_id == letter.event_id
    assert 1970 <= letter.occurred_at.year <= 9999


def test_an_error_shows_a_hostile_key_in_one_short_line() -> None:
    # Errors are logged: a key of a record must not add lines or colours to the log.
    key = "\x1b[31m\nERROR all is lost" + "x" * 100_000
    record = golden("rankings") | {"injected": {"companions": {key: 7}}}

    error = outcome(lambda: decode(Ranking, as_bytes(record)), BadRecord)

    assert isinstance(error, BadRecord)
    assert "all is lost" in error.detail
    assert error.detail.isprintable()
    assert len(error.detail) <= 600


def collections(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict):
        inner = [found for name, part in value.items() for found in collections(part, (*path, name))]
        return [path, *inner]
    if isinstance(value, list):
        return [path, *(found for place, part in enumerate(value) for found in collections(part, (*path, place)))]
    return []


def replace_at(record: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    copy: Any = dict(record) if isinstance(record, dict) else list(record)
    copy[path[0]] = replace_at(record[path[0]], path[1:], value)
    return copy


@pytest.mark.parametrize("base", TOPICS)
def test_a_collection_of_wrong_entries_gives_few_errors(base: str) -> None:
    # An error per entry would cost a thousand times as much as writing such a record.
    example = golden(base)
    for path in collections(example):
        for bad in ([{"no": "such"}] * MANY, [-1.5] * MANY, {f"key {n}": [n] for n in range(MANY)}):
            error = outcome(lambda: TOPICS[base].model.model_validate(replace_at(example, path, bad)), ValidationError)  # noqa: B023
            assert not isinstance(error, ValidationError) or error.error_count() <= MAX_ERRORS, path


# --- imported files

ITEM = {"item_id": "f1", "title": "A film (1999)", "domain": "films", "genres": "Drama|War"}
VISIT = {"user_id": "ann", "item_id": "f1", "timestamp": 1_600_000_000, "rating": 4.5}
MOVIES = b"movieId,title,genres\n1,A film (1999),Drama|War\n2,Another (2001),(no genres listed)\n"
RATINGS = b"userId,movieId,rating,timestamp\n1,1,4.5,1600000000\n1,2,3,1600000001\n"


def load_all(files: dict[str, bytes]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            (Path(folder) / name).write_bytes(content)
        data = outcome(lambda: load(Path(folder)), DataSetError)
    if isinstance(data, DataSetError):
        assert str(data)
        return
    for event in itertools.chain(catalogue(data), interactions(data)):
        assert event


def lines(of: Sequence[Any]) -> bytes:
    return b"\n".join(map(as_bytes, of))


def test_any_json_lines_are_a_data_set_or_an_error() -> None:
    @given(st.lists(changed(ITEM), max_size=3), st.lists(changed(VISIT), max_size=4), st.booleans())
    def check(items: list[Any], visits: list[Any], clean: bool) -> None:
        load_all(
            {"items.jsonl": lines([ITEM, *items]), "interactions.jsonl": lines([VISIT, *([] if clean else visits)])}
        )

    search(check)


def test_any_bytes_in_json_lines_are_a_data_set_or_an_error() -> None:
    packed = gzip.compress(json.dumps(VISIT).encode())

    @given(damaged(json.dumps(ITEM).encode()), st.one_of(damaged(packed), st.binary().map(gzip.compress)))
    def check(items: bytes, visits: bytes) -> None:
        load_all({"items.jsonl": items, "interactions.jsonl": json.dumps(VISIT).encode()})
        load_all({"items.jsonl": json.dumps(ITEM).encode(), "interactions.jsonl.gz": visits})

    search(check)


def test_any_csv_of_films_and_ratings_is_a_data_set_or_an_error() -> None:
    @given(damaged(MOVIES), damaged(RATINGS))
    def check(movies: bytes, ratings: bytes) -> None:
        load_all({"movies.csv": movies, "ratings.csv": RATINGS})
        load_all({"movies.csv": MOVIES, "ratings.csv": ratings})

    search(check)
