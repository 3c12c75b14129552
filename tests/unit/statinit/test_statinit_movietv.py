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


@pytest.mark.parametrize(
    "description",
    ["A thriller directed by Mina Sorel.", "Director: Mina Sorel", "['A film by Mina Sorel, shot at sea.']"],
)
def test_a_director_is_found_in_the_first_paragraph(read: Read, description: str) -> None:
    assert read(movietv.parse, "Pier", description)["director"] == ["Mina Sorel"]


@pytest.mark.parametrize(
    "noise",
    [
        "VHS VG+",
        "DVD",
        "Tape in good condition, dark sleeve",
        "7.5 x 5.4 x 0.6 inches; 3.2 ounces",
    ],
)
def test_what_a_seller_says_of_the_copy_is_not_mined(noise: str) -> None:
    plot = "A widow opens a lighthouse."

    assert movietv.without_media_noise(f"{noise}. {plot}") == plot
    assert movietv.without_media_noise(f"{plot}\n{noise}") == plot
    assert movietv.without_media_noise(f"{plot} | {noise}").strip() == plot


def test_era_year_and_country_are_read(read: Read) -> None:
    assert read(movietv.parse, "Pier (1974)", country="Chile|Peru") == {
        "country": ["Chile"],
        "era": ["1970s"],
        "year": ["1974 releases"],
    }
