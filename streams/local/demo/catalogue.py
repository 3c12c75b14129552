"""The demo's catalogue: real films, books and restaurants, and invented trains.

The facts were written down for this project; nothing was copied from a data set.
"""

import csv
import random
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from pydantic import JsonValue

from schemas import Candidate, ItemId

DOMAINS = ("films", "books", "restaurants")
_LISTS = frozenset({"genres", "moods", "categories", "ambience", "meal"})


def _candidate(row: dict[str, str]) -> Candidate:
    item_id, title = ItemId(row.pop("item_id")), row.pop("title")
    # The parsers find moods in text, as in the paper, so an item with moods also has them in its description.
    description = f"{row['moods'].capitalize()}." if "moods" in row else ""
    metadata: dict[str, JsonValue] = {
        column: [part.strip() for part in cell.split(",")] if column in _LISTS else cell for column, cell in row.items()
    }
    if "year" in row:
        metadata["year"] = int(row["year"])
    return Candidate(item_id=item_id, title=title, description=description, metadata=metadata)


@cache
def load() -> Mapping[str, tuple[Candidate, ...]]:
    """Load all items, by domain.

    >>> load()["films"][0].metadata["director"]
    'Alfred Hitchcock'
    """
    found = {}
    for domain in DOMAINS:
        with files(__package__).joinpath(f"{domain}.tsv").open(encoding="utf-8") as file:
            found[domain] = tuple(map(_candidate, csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)))
    return MappingProxyType(found)


@cache
def trains() -> tuple[Candidate, ...]:
    """Invent trains to one place: prices and times only."""
    rng = random.Random("trains")  # noqa: S311 - a simulation
    return tuple(
        Candidate(
            item_id=ItemId(f"trains:{number}"),
            title=f"Train {number}",
            metadata={"price": rng.randrange(20, 105, 5), "minutes": rng.randrange(90, 220, 10)},
        )
        for number in range(1, 81)
    )
