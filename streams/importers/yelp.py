"""Yelp's Open Dataset: `yelp_academic_dataset_business.json` and `..._review.json`; `.gz` works too.

| file | fields that are read |
|---|---|
| business | `business_id`, `name`; `categories`, `city`, `state`, `attributes` stay raw metadata |
| review | `user_id`, `business_id`, `stars`, `date` (`2016-03-09 20:56:38`, without a time zone: taken as UTC) |

A place's own `stars`, `review_count` and `is_open` are left out: they date from the publication of the data and include
the visits that a method has to predict. The catalogue holds the places that users visited.
"""

from collections.abc import Container
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from streams.importers.dataset import Dataset, Histories, Row, catalogue
from streams.importers.lines import id_of, json_files, json_lines, made, only, rating_of, text_of

NAME = "yelp"
FILES = "Yelp's yelp_academic_dataset_business.json with yelp_academic_dataset_review.json"
DOMAIN = "yelp"
_ITEMS = "yelp_academic_dataset_business"
_VISITS = "yelp_academic_dataset_review"
_RAW = ("categories", "city", "state", "attributes")


def recognises(path: Path) -> bool:
    """Whether this folder has the places and the reviews."""
    return bool(json_files(path, _ITEMS) and json_files(path, _VISITS))


def load(
    path: Path, limit_users: int | None = None, *, domain: str | None = None, min_rating: float | None = None
) -> Dataset:
    """Reads everything in the folder.

    Args:
        path: the folder.
        limit_users: keep only the first users of the reviews, and the places that they visited.
        domain: the domain's name; `yelp` by default.
        min_rating: skip visits rated lower, in stars from 1 to 5.

    Raises:
        DataSetError: a file is missing or broken.
    """
    histories = Histories(limit_users, min_rating)
    reviews = only(json_files(path, _VISITS), path, f"{_VISITS}.json")
    for visit in made(reviews, json_lines(reviews), _visit, "user_id, business_id, stars and a date"):
        histories.add(*visit)
    places = only(json_files(path, _ITEMS), path, f"{_ITEMS}.json")
    read = partial(_item, histories.met)
    items, skipped = catalogue(made(places, json_lines(places), read, "a business_id"))
    return Dataset(domain or DOMAIN, items, histories.result(items), skipped + histories.skipped)


def _visit(_: int, row: dict[str, Any]) -> tuple[str, Row, float | None]:
    at = datetime.fromisoformat(row["date"]).replace(tzinfo=UTC)
    return id_of(row["user_id"]), Row(id_of(row["business_id"]), at.timestamp(), at), rating_of(row.get("stars"))


def _item(met: Container[str], _: int, row: dict[str, Any]) -> dict[str, Any] | None:
    item_id = id_of(row["business_id"])
    if item_id not in met:
        return None
    metadata = {key: row[key] for key in _RAW if row.get(key)}
    return {"item_id": item_id, "title": text_of(row.get("name")), "metadata": metadata}
