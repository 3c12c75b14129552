"""Amazon's reviews of 2018 (Ni, Li, McAuley), one category a folder: a file of reviews, and `meta_<category>.json.gz`.

| file | fields that are read |
|---|---|
| reviews, such as `Books_5.json.gz` | `reviewerID`, `asin`, `overall`, `unixReviewTime` |
| `meta_Books.json.gz` | `asin`, `title`, `description`, `category` or `categories`, `brand`, `price` |

Times are whole days: visits of one day stay in the file's order.

Sales ranks and related items (`rank`, `also_buy`, `also_view`) are left out: they date from the collection of the data,
after the visits that a method has to predict. The catalogue holds the items that users visited.
"""

import re
from collections.abc import Container
from functools import partial
from pathlib import Path
from typing import Any

from streams.importers.dataset import Dataset, Histories, Row, catalogue
from streams.importers.lines import (
    JSON_ENDINGS,
    id_of,
    json_files,
    json_lines,
    made,
    moment,
    only,
    rating_of,
    text_of,
    texts_of,
)

NAME = "amazon"
FILES = "Amazon's meta_<category>.json.gz with that category's reviews"
_META = "meta_"
_DOMAINS = {"books": "books", "movies_and_tv": "movietv"}
_OTHER = re.compile(r"[^a-z0-9]+")
_AUTHOR = re.compile(r"Visit Amazon's (.+) Page")
MAX_PRICE = 40
"""Maximum length of a price, in characters: some items have page code instead."""


def recognises(path: Path) -> bool:
    """Whether this folder has metadata and something else that may be the reviews."""
    return bool(json_files(path, _META) and _reviews(path))


def load(
    path: Path, limit_users: int | None = None, *, domain: str | None = None, min_rating: float | None = None
) -> Dataset:
    """Reads everything in the folder.

    Args:
        path: the folder.
        limit_users: keep only the first users of the reviews, and the items that they visited.
        domain: the domain's name; by default `books`, `movietv`, or the category's name in snake_case.
        min_rating: skip visits rated lower, in stars from 1 to 5.

    Raises:
        DataSetError: a file is missing or broken, or there are several categories.
    """
    meta = only(json_files(path, _META), path, f"{_META}<category>.json.gz")
    reviews = only(_reviews(path), path, "file of reviews")
    histories = Histories(limit_users, min_rating)
    for visit in made(reviews, json_lines(reviews), _visit, "reviewerID, asin, overall and unixReviewTime"):
        histories.add(*visit)
    items, skipped = catalogue(made(meta, json_lines(meta), partial(_item, histories.met), "an asin"))
    return Dataset(domain or _domain(meta), items, histories.result(items), skipped + histories.skipped)


def _reviews(path: Path) -> list[Path]:
    return [file for file in json_files(path) if not file.name.startswith(_META)]


def _domain(meta: Path) -> str:
    ending = next(ending for ending in JSON_ENDINGS if meta.name.endswith(ending))
    category = meta.name.removeprefix(_META).removesuffix(ending).lower()
    named = next((domain for words, domain in _DOMAINS.items() if words in category), None)
    return named or _OTHER.sub("_", category).strip("_")[:64] or NAME


def _visit(_: int, row: dict[str, Any]) -> tuple[str, Row, float | None]:
    at = moment(row["unixReviewTime"])
    return id_of(row["reviewerID"]), Row(id_of(row["asin"]), at.timestamp(), at), rating_of(row.get("overall"))


def _item(met: Container[str], _: int, row: dict[str, Any]) -> dict[str, Any] | None:
    item_id = id_of(row["asin"])
    if item_id not in met:
        return None
    title, brand, price = (text_of(row.get(key)).strip() for key in ("title", "brand", "price"))
    metadata: dict[str, Any] = {"categories": texts_of(row.get("category") or row.get("categories"))}
    if author := _AUTHOR.fullmatch(brand):
        metadata["authors"] = [author[1]]
    else:
        metadata["brand"] = brand
    metadata["price"] = price if len(price) <= MAX_PRICE else ""
    return {
        "item_id": item_id,
        "title": "" if "getTime" in title else title,  # some items have the page's script as their title
        "description": "\n".join(texts_of(row.get("description"))),
        "metadata": {key: value for key, value in metadata.items() if value},
    }
