"""MovieLens as GroupLens hands it out: `movies.csv`, `ratings.csv` and, where there is one, `tags.csv`.

A rating of any height is a visit: the film was chosen. `min_rating` leaves out what was not liked. Genres stay raw
(`Action|Thriller`); the year is read from the title, as the data has it nowhere else; a tag counts when at least
two users gave it, so that nobody's private note becomes a fact.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from schemas import Candidate
from streams.importers.dataset import Dataset, Histories, Row, candidate
from streams.importers.exceptions import DataSetError

NAME = "movielens"
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
    """Everything in the folder.

    Args:
        path: the folder.
        limit_users: keep the first users of the file only.
        domain: what to call the domain; `films` if not said.
        min_rating: leave out visits rated lower, in stars from 0.5 to 5.

    Raises:
        DataSetError: a file is missing or broken.
    """
    items, skipped = _items(path)
    histories = Histories(items, limit_users, min_rating)
    for line, row in _rows(path, "ratings.csv", ("userId", "movieId", "rating", "timestamp")):
        try:
            seconds, rating = float(row["timestamp"]), float(row["rating"])
            visit = Row(row["movieId"], seconds, datetime.fromtimestamp(seconds, UTC))
        except (TypeError, ValueError, OverflowError, OSError) as error:
            raise DataSetError(f"{path / 'ratings.csv'}, line {line}: {error}") from error
        histories.add(row["userId"], visit, rating)
    return Dataset(domain or DOMAIN, items, histories.result(), skipped + histories.skipped)


def _items(path: Path) -> tuple[dict[str, Candidate], Counter[str]]:
    tags = _tags(path)
    items: dict[str, Candidate] = {}
    skipped: Counter[str] = Counter()
    for _, row in _rows(path, "movies.csv", ("movieId", "title", "genres")):
        title = row["title"].strip()
        metadata: dict[str, Any] = {}
        if row["genres"] and row["genres"] != _NO_GENRES:
            metadata["genres"] = row["genres"]
        if year := _YEAR.search(title):
            metadata["year"] = int(year[1])
        if row["movieId"] in tags:
            metadata["tags"] = tags[row["movieId"]]
        item = candidate({"item_id": row["movieId"], "title": title, "metadata": metadata})
        if item is None:
            skipped["items that are larger than the schema allows"] += 1
        else:
            items[item.item_id] = item
    return items, skipped


def _tags(path: Path) -> dict[str, list[str]]:
    """The tags of each film that several users agree on, the most frequent first."""
    if not (path / "tags.csv").is_file():
        return {}
    taggers: dict[str, dict[str, set[str]]] = {}
    for _, row in _rows(path, "tags.csv", ("userId", "movieId", "tag")):
        tag = " ".join(row["tag"].casefold().split())
        if tag:
            taggers.setdefault(row["movieId"], {}).setdefault(tag, set()).add(row["userId"])
    return {film: agreed for film, tags in taggers.items() if (agreed := _agreed(tags))}


def _agreed(tags: dict[str, set[str]]) -> list[str]:
    shared = [tag for tag, users in tags.items() if len(users) >= MIN_TAGGERS]
    return sorted(shared, key=lambda tag: (-len(tags[tag]), tag))[:MAX_TAGS]


def _rows(path: Path, name: str, columns: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a CSV file with their line numbers."""
    file = path / name
    if not file.is_file():
        raise DataSetError(f"{path} has no {name}")
    with file.open(encoding="utf-8-sig", newline="") as lines:
        reader = csv.DictReader(lines)
        try:
            if missing := [column for column in columns if column not in (reader.fieldnames or ())]:
                raise DataSetError(f"{file} has no column {', '.join(missing)}: is it MovieLens' own?")
            for row in reader:
                if any(row[column] is None for column in columns):
                    raise DataSetError(f"{file}, line {reader.line_num}: has too few columns")
                yield reader.line_num, row
        except (csv.Error, UnicodeDecodeError) as error:
            raise DataSetError(f"{file}, line {reader.line_num}: {error}") from error
