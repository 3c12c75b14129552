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
