"""Our own layout: `items.jsonl.gz` and `interactions.jsonl.gz`, one JSON object a line; `.jsonl` does as well.

| file | fields |
|---|---|
| items | `item_id`, `title`, `domain`, `description` where known; every other field is raw metadata |
| interactions | `user_id`, `item_id`; `timestamp` (Unix seconds) or `order`; `rating` where known |
"""

import gzip
import zlib
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from schemas import Candidate
from streams.importers.dataset import Dataset, Histories, Row, candidate
from streams.importers.exceptions import DataSetError

NAME = "sager"
ENDINGS = (".jsonl.gz", ".jsonl")
_OWN_FIELDS = frozenset({"item_id", "title", "description", "domain"})


def recognises(path: Path) -> bool:
    """Whether this folder has the two files."""
    return _file(path, "items") is not None and _file(path, "interactions") is not None


def load(
    path: Path, limit_users: int | None = None, *, domain: str | None = None, min_rating: float | None = None
) -> Dataset:
    """Everything in the folder.

    Args:
        path: the folder.
        limit_users: keep the first users of the file only.
        domain: what the items are, instead of what their own `domain` says.
        min_rating: leave out visits rated lower.

    Raises:
        DataSetError: a file is missing or broken.
    """
    items, found, skipped = _items(path)
    if domain is None and len(found) != 1:
        raise DataSetError(
            f"the items of {path} say {len(found)} different domains ({', '.join(sorted(found)[:5]) or 'none'}): "
            "name one with --domain"
        )
    histories = Histories(items, limit_users, min_rating)
    for place, row in _lines(path, "interactions"):
        at = row.get("timestamp")
        order = at if at is not None else row.get("order", place)
        try:
            moment = None if at is None else datetime.fromtimestamp(float(at), UTC)
            rating = None if row.get("rating") is None else float(row["rating"])
            histories.add(str(row["user_id"]), Row(str(row["item_id"]), float(order), moment), rating)
        except (KeyError, TypeError, ValueError, OverflowError, OSError) as error:
            raise DataSetError(
                f"{path}, interactions, line {place + 1}: needs user_id, item_id and a timestamp in Unix seconds "
                f"or an order ({type(error).__name__}: {error})"
            ) from error
    return Dataset(domain or found.pop(), items, histories.result(), skipped + histories.skipped)


def _items(path: Path) -> tuple[dict[str, Candidate], set[str], Counter[str]]:
    items: dict[str, Candidate] = {}
    domains: set[str] = set()
    skipped: Counter[str] = Counter()
    for place, row in _lines(path, "items"):
        if "item_id" not in row:
            raise DataSetError(f"{path}, items, line {place + 1}: there is no item_id")
        own = {name: str(row[name]) for name in ("item_id", "title", "description") if row.get(name) is not None}
        metadata = {name: value for name, value in row.items() if name not in _OWN_FIELDS and value is not None}
        item = candidate({**own, "metadata": metadata})
        if item is None:
            skipped["items that are larger than the schema allows"] += 1
            continue
        items[item.item_id] = item
        if row.get("domain"):
            domains.add(str(row["domain"]))
    return items, domains, skipped


def _file(path: Path, name: str) -> Path | None:
    return next((file for ending in ENDINGS if (file := path / f"{name}{ending}").is_file()), None)


def _lines(path: Path, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file with their places, from 0."""
    file = _file(path, name)
    if file is None:
        raise DataSetError(f"{path} has no {name}{ENDINGS[0]}")
    place = -1
    try:
        with gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb") as lines:
            for place, line in enumerate(lines):
                if not line.strip():
                    continue
                row = orjson.loads(line)
                if not isinstance(row, dict):
                    raise DataSetError(f"{file}, line {place + 1}: is no JSON object")
                yield place, row
    except orjson.JSONDecodeError as error:
        raise DataSetError(f"{file}, line {place + 1}: is no JSON ({error})") from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataSetError(f"{file} is damaged or incomplete ({error}): fetch it again") from error
