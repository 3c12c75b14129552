from collections.abc import Callable

import pytest

from operators.statinit import movietv

Read = Callable[..., dict[str, list[str]]]


@pytest.mark.parametrize(
    "genres",
    [
        "Action|Sci-Fi",
        "Action, Science Fiction",
        ["Action", "SciFi"],
        "['Action', 'Sci-Fi']",
        [{"name": "Action"}, "Sci-Fi"],
    ],
)
def test_every_spelling_of_genres_is_read(read: Read, genres: object) -> None:
    assert read(movietv.parse, genres=genres) == {"genre": ["action", "sci-fi"]}
    assert read(movietv.parse, Genre=genres) == {"genre": ["action", "sci-fi"]}


def test_era_year_and_country_are_read(read: Read) -> None:
    assert read(movietv.parse, "Pier (1974)", country="Chile|Peru") == {
        "country": ["Chile"],
        "era": ["1970s"],
        "year": ["1974 releases"],
    }
