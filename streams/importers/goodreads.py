"""Goodreads as distributed by the UCSD Book Graph (Wan, McAuley): all books or those of one genre.

| file | fields that are read |
|---|---|
| `goodreads_books*.json.gz` | `book_id`, `title`, `description`, `authors`, `popular_shelves`, year, language |
| `goodreads_interactions*.json.gz` | `user_id`, `book_id`, `is_read`, `rating`, `date_added` |
| or `goodreads_interactions.csv` | `user_id`, `book_id`, `is_read`, `rating` |
| with `book_id_map.csv` | `book_id_csv`, `book_id` |
| `goodreads_book_genres_initial.json.gz`, where there is one | `book_id`, `genres` |
| `goodreads_book_authors.json.gz`, where there is one | `author_id`, `name` |

A book that was read is a visit; one that was only shelved is not. A rating of 0 is no rating. The CSV file has no
times: its order is taken as the order of events. It numbers books in its own way: without `book_id_map.csv` its visits
would be to other books.

`average_rating`, `ratings_count` and the counts of shelves are left out: they date from the collection of the
data, after the visits that a method has to predict. The catalogue holds the books that users visited.
"""

import re
from collections.abc import Container, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from streams.importers.dataset import Dataset, Histories, Row, catalogue
from streams.importers.exceptions import DataSetError
from streams.importers.lines import csv_rows, id_of, json_files, json_lines, made, only, text_of

NAME = "goodreads"
FILES = "Goodreads' goodreads_books.json.gz with goodreads_interactions.json.gz or .csv"
DOMAIN = "goodreads"
MAX_SHELVES = 40
"""Shelf names kept per book, the most used first; some have hundreds."""
_ITEMS = "goodreads_books"
_VISITS = "goodreads_interactions"
_GENRES = "goodreads_book_genres"
_AUTHORS = "goodreads_book_authors"
_NOT_READ = "books on users' shelves that they did not read"
_DATE = re.compile(r"\w{3} (\w{3}) (\d\d) (\d\d:\d\d:\d\d) ([+-]\d{4}) (\d{4})")
# Not strptime: its month names depend on the locale, and it takes six times as long.
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_Visit = tuple[str, Row, float | None]


def recognises(path: Path) -> bool:
    """Whether this folder has the books and what users did with them."""
    return bool(json_files(path, _ITEMS) and (json_files(path, _VISITS) or _csv(path).is_file()))


def load(
    path: Path, limit_users: int | None = None, *, domain: str | None = None, min_rating: float | None = None
) -> Dataset:
    """Reads everything in the folder.

    Args:
        path: the folder.
        limit_users: keep only the first users of the interactions, and the books that they visited.
        domain: the domain's name; `goodreads` by default.
        min_rating: skip visits rated lower, in stars from 1 to 5; those without a rating are kept.

    Raises:
        DataSetError: a file is missing or broken.
    """
    histories = Histories(limit_users, min_rating)
    without_times = _csv(path).is_file() and not json_files(path, _VISITS)
    for visit in _from_csv(path, histories) if without_times else _from_json(path, histories):
        histories.add(*visit)
    books = only(json_files(path, _ITEMS), path, f"{_ITEMS}.json.gz")
    read = partial(_item, histories.met, _genres(path, histories.met), _authors(path))
    items, skipped = catalogue(made(books, json_lines(books), read, "a book_id"))
    return Dataset(domain or DOMAIN, items, histories.result(items), skipped + histories.skipped)


def _csv(path: Path) -> Path:
    return path / f"{_VISITS}.csv"


def _from_json(path: Path, histories: Histories) -> Iterator[_Visit]:
    def visit(_: int, row: dict[str, Any]) -> _Visit | None:
        if not row["is_read"]:
            histories.skipped[_NOT_READ] += 1
            return None
        at = _moment(row["date_added"])
        return id_of(row["user_id"]), Row(id_of(row["book_id"]), at.timestamp(), at), _rating(row["rating"])

    file = only(json_files(path, _VISITS), path, f"{_VISITS}.json.gz")
    return made(file, json_lines(file), visit, "user_id, book_id, is_read, rating and date_added")


def _from_csv(path: Path, histories: Histories) -> Iterator[_Visit]:
    ids = {row["book_id_csv"]: row["book_id"] for _, row in _map(path)}

    def visit(number: int, row: dict[str, str]) -> _Visit | None:
        if not int(row["is_read"]):
            histories.skipped[_NOT_READ] += 1
            return None
        return row["user_id"], Row(ids[row["book_id"]], number, None), _rating(row["rating"])

    rows = csv_rows(_csv(path), ("user_id", "book_id", "is_read", "rating"))
    return made(_csv(path), rows, visit, "user_id, a book_id of book_id_map.csv, is_read and rating")


def _map(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    file = path / "book_id_map.csv"
    if not file.is_file():
        raise DataSetError(
            f"{path} has {_csv(path).name} without {file.name}, which maps its numbers to books: "
            "download it from where the other files are"
        )
    return csv_rows(file, ("book_id_csv", "book_id"))


def _rating(value: Any) -> float | None:
    return float(value) or None


def _moment(date: str) -> datetime:
    """Parses a time such as `Sun Jul 30 07:44:10 -0700 2017`."""
    found = _DATE.fullmatch(date)
    if found is None:
        raise ValueError(f"{date[:60]!r} is not a date_added")
    month, day, clock, zone, year = found.groups()
    return datetime.fromisoformat(f"{year}-{_MONTHS.index(month) + 1:02d}-{day}T{clock}{zone}").astimezone(UTC)


def _genres(path: Path, met: Container[str]) -> Mapping[str, list[str]]:
    """The genres of each visited book, those given by most readers first."""

    def genres(_: int, row: dict[str, Any]) -> tuple[str, list[str]] | None:
        book_id, counts = id_of(row["book_id"]), row["genres"]
        if book_id not in met or not isinstance(counts, dict):
            return None
        return book_id, sorted(counts, key=lambda name: (-counts[name], name))

    return {
        book_id: names
        for file in json_files(path, _GENRES)
        for book_id, names in made(file, json_lines(file), genres, "book_id and genres")
    }


def _authors(path: Path) -> Mapping[str, str]:
    """The authors' names by id."""
    return dict(
        pair
        for file in json_files(path, _AUTHORS)
        for pair in made(
            file, json_lines(file), lambda _, row: (id_of(row["author_id"]), text_of(row["name"])), "author_id and name"
        )
    )


def _item(
    met: Container[str], genres: Mapping[str, list[str]], names: Mapping[str, str], _: int, row: dict[str, Any]
) -> dict[str, Any] | None:
    book_id = id_of(row["book_id"])
    if book_id not in met:
        return None
    shelves = [text_of(shelf.get("name")) for shelf in _objects(row.get("popular_shelves"))]
    people = _objects(row.get("authors"))
    # Illustrators, translators and others have a role; the book's author has none.
    writers = [person for person in people if not person.get("role")] or people
    year = text_of(row.get("publication_year"))
    metadata = {
        "genres": genres.get(book_id),
        "authors": [name for person in writers if (name := names.get(str(person.get("author_id"))))],
        "shelves": [shelf for shelf in shelves if shelf][:MAX_SHELVES],
        "year": int(year) if year.isascii() and year.isdecimal() and len(year) <= len("2017") else None,
        "language": text_of(row.get("language_code")),
    }
    return {
        "item_id": book_id,
        "title": text_of(row.get("title")),
        "description": text_of(row.get("description")),
        "metadata": {key: value for key, value in metadata.items() if value},
    }


def _objects(value: Any) -> list[dict[str, Any]]:
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []
