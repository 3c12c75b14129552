"""Our own layout: `items.jsonl.gz` and `interactions.jsonl.gz`, one JSON object per line; `.jsonl` works too.

| file | fields |
|---|---|
| items | `item_id`, `title`, `domain`, `description` where known; every other field is raw metadata |
| interactions | `user_id`, `item_id`; `timestamp` (Unix seconds) or `order`; `rating` where known |
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from streams.importers.dataset import Dataset, Histories, Row, catalogue
from streams.importers.exceptions import DataSetError
from streams.importers.lines import json_lines, made, moment, rating_of

NAME = "sager"
FILES = "items.jsonl.gz with interactions.jsonl.gz"
ENDINGS = (".jsonl.gz", ".jsonl")
_OWN_FIELDS = frozenset({"item_id", "title", "description", "domain"})


def recognises(path: Path) -> bool:
    """Whether this folder has the two files."""
    return all(any((path / f"{name}{ending}").is_file() for ending in ENDINGS) for name in ("items", "interactions"))


def load(
    path: Path, limit_users: int | None = None, *, domain: str | None = None, min_rating: float | None = None
) -> Dataset:
    """Reads everything in the folder.

    Args:
        path: the folder.
        limit_users: keep only the first users of the file.
        domain: the items' domain, overriding their own `domain`.
        min_rating: skip visits rated lower.

    Raises:
        DataSetError: a file is missing or broken.
    """
    found: set[str] = set()
    items, skipped = catalogue(_items(_file(path, "items"), found))
    if domain is None and len(found) != 1:
        raise DataSetError(
            f"the items of {path} name {len(found)} domains ({', '.join(sorted(found)[:5]) or 'none'}): "
            "name one with --domain"
        )
    histories = Histories(limit_users, min_rating)
    file = _file(path, "interactions")
    needs = "user_id, item_id and a timestamp in Unix seconds or an order"
    for visit in made(file, json_lines(file), _visit, needs):
        histories.add(*visit)
    return Dataset(domain or found.pop(), items, histories.result(items), skipped + histories.skipped)


def _visit(number: int, row: dict[str, Any]) -> tuple[str, Row, float | None]:
    at = row.get("timestamp")
    order = at if at is not None else row.get("order", number)
    clock = None if at is None else moment(at)
    return str(row["user_id"]), Row(str(row["item_id"]), float(order), clock), rating_of(row.get("rating"))


def _items(file: Path, domains: set[str]) -> Iterator[dict[str, Any]]:
    """The items; their domains are added to `domains`."""

    def item(_: int, row: dict[str, Any]) -> dict[str, Any]:
        if row.get("domain"):
            domains.add(str(row["domain"]))
        if "item_id" not in row:
            raise KeyError("item_id")
        own = {name: str(row[name]) for name in ("item_id", "title", "description") if row.get(name) is not None}
        metadata = {name: value for name, value in row.items() if name not in _OWN_FIELDS and value is not None}
        return {**own, "metadata": metadata}

    return made(file, json_lines(file), item, "an item_id")


def _file(path: Path, name: str) -> Path:
    """The file of that name.

    Raises:
        DataSetError: there is none.
    """
    found = next((file for ending in ENDINGS if (file := path / f"{name}{ending}").is_file()), None)
    if found is None:
        raise DataSetError(f"{path} has no {name}{ENDINGS[0]}")
    return found
