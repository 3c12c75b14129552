"""MovieLens as distributed by GroupLens: `movies.csv`, `ratings.csv` and, optionally, `tags.csv`.

Every rating is a visit: the film was chosen. `min_rating` skips films that were not liked. Genres stay raw
(`Action|Thriller`); the year is read from the title, its only place in the data; a tag counts when at least two users
gave it, so that no private note becomes a fact.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from streams.importers.dataset import Dataset, Histories, Row, catalogue
from streams.importers.lines import csv_rows, made, moment

NAME = "movielens"
FILES = "MovieLens' movies.csv with ratings.csv"
DOMAIN = "films"
MAX_TAGS = 8
MIN_TAGGERS = 2
_YEAR = re.compile(r"\((\d{4})\)\s*$")
_NO_GENRES = "(no genres listed)"


def recognises(path: Path) -> bool:
    """Whether this folder has the films and the ratings."""
    return (path / "movies.csv").is_file() and (path / "ratings.csv").is_file()


def load(
    path: Path, limit_users: int | None = None, *, domain: str | None = None, min_rating: float | None = None
) -> Dataset:
    """Reads everything in the folder.

    Args:
        path: the folder.
        limit_users: keep only the first users of the file.
        domain: the domain's name; `films` by default.
        min_rating: skip visits rated lower, in stars from 0.5 to 5.

    Raises:
        DataSetError: a file is missing or broken.
    """
    items, skipped = catalogue(_items(path))
    histories = Histories(limit_users, min_rating)
    file = path / "ratings.csv"
    rows = csv_rows(file, ("userId", "movieId", "rating", "timestamp"))
    for visit in made(file, rows, _visit, "a rating in stars and a timestamp in Unix seconds"):
        histories.add(*visit)
    return Dataset(domain or DOMAIN, items, histories.result(items), skipped + histories.skipped)


def _visit(_: int, row: dict[str, str]) -> tuple[str, Row, float]:
    at = moment(row["timestamp"])
    return row["userId"], Row(row["movieId"], at.timestamp(), at), float(row["rating"])


def _items(path: Path) -> Iterator[dict[str, Any]]:
    tags = _tags(path)
    for _, row in csv_rows(path / "movies.csv", ("movieId", "title", "genres")):
        title = row["title"].strip()
        metadata: dict[str, Any] = {}
        if row["genres"] and row["genres"] != _NO_GENRES:
            metadata["genres"] = row["genres"]
        if year := _YEAR.search(title):
            metadata["year"] = int(year[1])
        if row["movieId"] in tags:
            metadata["tags"] = tags[row["movieId"]]
        yield {"item_id": row["movieId"], "title": title, "metadata": metadata}


def _tags(path: Path) -> dict[str, list[str]]:
    """The tags of each film that several users agree on, the most frequent first."""
    if not (path / "tags.csv").is_file():
        return {}
    taggers: dict[str, dict[str, set[str]]] = {}
    for _, row in csv_rows(path / "tags.csv", ("userId", "movieId", "tag")):
        tag = " ".join(row["tag"].casefold().split())
        if tag:
            taggers.setdefault(row["movieId"], {}).setdefault(tag, set()).add(row["userId"])
    return {film: agreed for film, tags in taggers.items() if (agreed := _agreed(tags))}


def _agreed(tags: dict[str, set[str]]) -> list[str]:
    shared = [tag for tag, users in tags.items() if len(users) >= MIN_TAGGERS]
    return sorted(shared, key=lambda tag: (-len(tags[tag]), tag))[:MAX_TAGS]
