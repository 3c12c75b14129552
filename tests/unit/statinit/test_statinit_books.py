from collections.abc import Callable

from operators.statinit import books

Read = Callable[..., dict[str, list[str]]]


def test_categories_written_as_a_python_list_give_genres(read: Read) -> None:
    found = read(books.parse, categories="['Mystery, Thriller & Suspense', 'Historical Mystery']")

    assert found["genre"] == ["mystery", "thriller", "historical"]
    assert found["category"] == ["historical mystery", "mystery, thriller & suspense"], "the finest first"


def test_genres_come_from_plot_words_when_nothing_is_structured(read: Read) -> None:
    found = read(books.parse, "The Glass Orchard", "A detective hunts a dragon. The detective is a wizard.")

    assert found["genre"] == ["mystery", "fantasy"]
