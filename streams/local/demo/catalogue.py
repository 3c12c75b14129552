"""The demo's catalogue: real films, books and restaurants, with the metadata an app would send.

The facts were written down for this project; nothing was copied from a data set.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from pydantic import JsonValue

from schemas import Candidate
from schemas.base import ItemId

DOMAINS = ("films", "books", "restaurants")
_LISTS = frozenset({"genres", "moods", "categories", "ambience", "meal"})


def _value(column: str, cell: str) -> JsonValue:
    if column in _LISTS:
        return [part.strip() for part in cell.split(",")]
    return int(cell) if column == "year" else cell


def _candidate(columns: list[str], line: str) -> Candidate:
    row = dict(zip(columns, line.split("\t"), strict=True))
    item_id, title = ItemId(row.pop("item_id")), row.pop("title")
    # The parsers find moods in text, as in the paper, so an item with moods also has them in its description.
    description = f"{row['moods'].capitalize()}." if "moods" in row else ""
    metadata = {column: _value(column, cell) for column, cell in row.items()}
    return Candidate(item_id=item_id, title=title, description=description, metadata=metadata)


@cache
def load() -> Mapping[str, tuple[Candidate, ...]]:
    """Load all items, by domain.

    >>> load()["films"][0].metadata["director"]
    'Alfred Hitchcock'
    """
    found = {}
    for domain in DOMAINS:
        header, *lines = files(__package__).joinpath(f"{domain}.tsv").read_text(encoding="utf-8").splitlines()
        found[domain] = tuple(_candidate(header.split("\t"), line) for line in lines)
    return MappingProxyType(found)
