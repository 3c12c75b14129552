"""Any files: a data set whose events are all right, or a `DataSetError`."""

import gzip
import itertools
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from streams.importers import DataSetError, load
from streams.importers.dataset import catalogue, interactions
from tests.unit.fuzz.fuzz_strategies import as_bytes, changed, damaged, look, outcome

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


def test_any_lines_of_ours() -> None:
    @given(st.lists(changed(ITEM), max_size=3), st.lists(changed(VISIT), max_size=4), st.booleans())
    def check(items: list[Any], visits: list[Any], clean: bool) -> None:
        load_all(
            {"items.jsonl": lines([ITEM, *items]), "interactions.jsonl": lines([VISIT, *([] if clean else visits)])}
        )

    look(check)


def test_any_bytes_of_ours() -> None:
    packed = gzip.compress(json.dumps(VISIT).encode())

    @given(damaged(json.dumps(ITEM).encode()), st.one_of(damaged(packed), st.binary().map(gzip.compress)))
    def check(items: bytes, visits: bytes) -> None:
        load_all({"items.jsonl": items, "interactions.jsonl": json.dumps(VISIT).encode()})
        load_all({"items.jsonl": json.dumps(ITEM).encode(), "interactions.jsonl.gz": visits})

    look(check)


def test_any_films_and_ratings() -> None:
    @given(damaged(MOVIES), damaged(RATINGS))
    def check(movies: bytes, ratings: bytes) -> None:
        load_all({"movies.csv": movies, "ratings.csv": RATINGS})
        load_all({"movies.csv": MOVIES, "ratings.csv": ratings})

    look(check)
