from collections.abc import Callable

import pytest

from operators.statinit import books

Read = Callable[..., dict[str, list[str]]]


def test_categories_written_as_a_python_list_give_genres(read: Read) -> None:
    found = read(books.parse, categories="['Mystery, Thriller & Suspense', 'Historical Mystery']")

    assert found["genre"] == ["mystery", "thriller", "historical"]
    assert found["category"] == ["historical mystery", "mystery, thriller & suspense"], "the finest first"


def test_genres_come_from_plot_words_when_nothing_is_structured(read: Read) -> None:
    found = read(books.parse, "The Glass Orchard", "['A detective hunts a dragon.', 'The detective is a wizard.']")

    assert found["genre"] == ["mystery", "fantasy"]


def test_plot_words_do_not_add_to_structured_genres(read: Read) -> None:
    assert read(books.parse, "Dragon", "A wizard.", genres=["romance"])["genre"] == ["romance"]


def test_ambiguous_plot_words_are_no_genre(read: Read) -> None:
    assert "genre" not in read(books.parse, "Home", "A mother of two children and the nature of grief in the family.")


def test_general_fiction_is_said_only_when_nothing_else_is(read: Read) -> None:
    assert read(books.parse, categories="['Literature & Fiction', 'Genre Fiction']") == {
        "genre": ["general fiction"],
        "category": ["genre fiction", "literature & fiction"],
    }
    assert read(books.parse, categories="['Literature & Fiction', 'Erotica']")["genre"] == ["romance"]


def test_one_stray_shelf_is_no_genre(read: Read) -> None:
    shelves = "fantasy,epic-fantasy,fantasy-series,ya-fantasy,adult-fantasy,horror"

    assert read(books.parse, shelves=shelves)["genre"] == ["fantasy"]


def test_shelves_that_say_more_than_a_genre_are_categories(read: Read) -> None:
    shelves = "fantasy,fantasy-urban,urban-fantasy,to-read,ya-books,sci-fi-fantasy,pirates,my-library"

    assert read(books.parse, shelves=shelves)["category"] == ["pirates", "urban fantasy"]


def test_fifteen_genres_and_seven_moods_are_known() -> None:
    genres = set(books.GENRES.find("mystery thriller romance fantasy horror historical literary comics biography"))
    genres |= set(books.GENRES.find("science fiction / young adult / children / religion / nonfiction / novel"))

    assert len(genres) == 15
    assert len(books.MOODS.find("hopeful dark funny gripping poignant profound epic")) == 7


def test_authors_are_those_of_the_metadata(read: Read) -> None:
    found = read(books.parse, "Salt, by Bo Lind", authors="Ines Varga, Ada Fenn (Translator), Cy Marr")

    assert found["author"] == ["Ines Varga", "Ada Fenn"]


@pytest.mark.parametrize(
    ("title", "description"),
    [
        ("Salt, by Ines Varga", ""),
        ("Salt (by Ines Varga)", ""),
        ("Salt", "A novel by Ines Varga. The sea rises."),
        ("Salt", "['From bestselling author Ines Varga, a storm.']"),
        ("Salt", "Author: Ines Varga"),
    ],
)
def test_an_author_is_found_in_title_or_first_paragraph(read: Read, title: str, description: str) -> None:
    assert read(books.parse, title, description)["author"] == ["Ines Varga"]


@pytest.mark.parametrize(
    ("title", "description"),
    [
        ("Swept Away by Bright Water", ""),
        ("Day by Day", "Written by night, read by dawn."),
        ("Salt", "x " * 250 + "A novel by Ines Varga."),
        ("Salt", "The sea rises.\n\nA novel by Ines Varga."),
    ],
)
def test_no_author_is_made_up(read: Read, title: str, description: str) -> None:
    assert "author" not in read(books.parse, title, description)


def test_moods_come_from_words_and_shelves(read: Read) -> None:
    found = read(books.parse, "Salt", "A hilarious, heartwarming comedy", shelves="humor")

    assert found["mood"] == ["funny reads", "uplifting reads"]


def test_a_year_gives_its_decade_and_itself(read: Read) -> None:
    assert read(books.parse, year=1954) == {"era": ["1950s"], "year": ["1954 releases"]}
