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


def test_raw_genres_that_refine_are_qualifiers(read: Read) -> None:
    found = read(movietv.parse, genres="Crime|Film-Noir|Biography", plot_keywords="heist|harbour")

    assert found["genre"] == ["crime"]
    assert found["qualifier"] == ["biographical", "film noir", "heist"]
    assert found["keyword"] == ["heist", "harbour"]


def test_genres_come_from_the_plot_only_when_none_are_given(read: Read) -> None:
    plot = "A gangster and his family flee from zombies."

    assert read(movietv.parse, "Pier", plot)["genre"] == ["crime", "horror"]
    assert read(movietv.parse, "Pier", plot, genres="Drama")["genre"] == ["drama"]


def test_seventeen_genres_and_eight_moods_are_known() -> None:
    genres = movietv.GENRES.find("action adventure animation comedy crime documentary drama family fantasy")
    genres += movietv.GENRES.find("horror musical mystery romance sci-fi thriller war western")

    assert len(set(genres)) == 17
    assert len(movietv.MOODS.find("funny uplifting dark tense romantic poignant surreal epic")) == 8


@pytest.mark.parametrize(
    "description", ["Two lives directed by fate.", "Directed by Fate, they meet.", "A director of films"]
)
def test_fate_is_not_a_director(read: Read, description: str) -> None:
    assert "director" not in read(movietv.parse, "Pier", description)


@pytest.mark.parametrize(
    "description",
    ["A thriller directed by Mina Sorel.", "Director: Mina Sorel", "['A film by Mina Sorel, shot at sea.']"],
)
def test_a_director_is_found_in_the_first_paragraph(read: Read, description: str) -> None:
    assert read(movietv.parse, "Pier", description)["director"] == ["Mina Sorel"]


def test_a_director_after_the_first_400_characters_is_part_of_the_plot(read: Read) -> None:
    assert "director" not in read(movietv.parse, "Pier", "x " * 250 + "directed by Mina Sorel")


def test_the_metadata_know_the_director_best(read: Read) -> None:
    found = read(movietv.parse, "Pier", "directed by Bo Lind", director="Mina Sorel")

    assert found["director"] == ["Mina Sorel"]


@pytest.mark.parametrize(
    "noise",
    [
        "VHS VG+",
        "Used: Good",
        "Condition: Like New",
        "DVD",
        "DVD, region 2, horror box, very good",
        "Tape in good condition, dark sleeve",
        "7.5 x 5.4 x 0.6 inches; 3.2 ounces",
        "Sealed blu-ray, funny sticker on cover",
    ],
)
def test_what_a_seller_says_of_the_copy_is_not_mined(noise: str) -> None:
    plot = "A widow opens a lighthouse."

    assert movietv.without_media_noise(f"{noise}. {plot}") == plot
    assert movietv.without_media_noise(f"{plot}\n{noise}") == plot
    assert movietv.without_media_noise(f"{plot} | {noise}").strip() == plot


@pytest.mark.parametrize(
    "plot",
    [
        "A cursed VHS tape kills whoever watches it.",
        "He used to be good.",
        "A used car lot.",
        "A disc of light appears.",
    ],
)
def test_plots_about_tapes_are_kept(plot: str) -> None:
    assert movietv.without_media_noise(plot) == plot


def test_noise_adds_no_mood(read: Read) -> None:
    found = read(movietv.parse, "Pier", "['VHS VG+, dark stain on sleeve', 'A heartwarming, uplifting tale.']")

    assert found["mood"] == ["uplifting tone"]


def test_the_first_three_actors_keep_their_case(read: Read) -> None:
    assert read(movietv.parse, cast="Ada Fenn, Bo McLind, Cy Marr, Dee Noor") == {
        "actor": ["Ada Fenn", "Bo McLind", "Cy Marr"]
    }


def test_era_year_and_country_are_read(read: Read) -> None:
    assert read(movietv.parse, "Pier (1974)", country="Chile|Peru") == {
        "country": ["Chile"],
        "era": ["1970s"],
        "year": ["1974 releases"],
    }
