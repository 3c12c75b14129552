"""Which items are one and the same work under several ids: a second edition of the answer would give it away."""

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from schemas import Candidate

TELL_APART = (("address",), ("latitude", "longitude"), ("authors",), ("author",), ("directors", "year"), ("year",))
"""What tells two of one title apart: the first of these that an item has all of.

A chain's restaurants share a title and stand in different places; a remake has another director or year. A book's year
is its edition's, so authors decide by themselves.
"""


def works(items: Mapping[str, Candidate]) -> dict[str, str]:
    """Each item's work, named by the first id that it has in the catalogue.

    An item of which nothing is known that tells apart is a work of its own, for it may be one more of a chain; but
    where the whole catalogue has no such fact, titles are all that anybody sees, and those decide.
    """
    marks = {item_id: _mark(item) for item_id, item in items.items()}
    only_titles = not any(marks.values())
    first: dict[tuple[str, str], str] = {}
    return {
        item_id: first.setdefault((title, mark), item_id)
        if (title := _plain(items[item_id].title)) and (mark or only_titles)
        else item_id
        for item_id, mark in marks.items()
    }


def _mark(item: Candidate) -> str:
    for fields in TELL_APART:
        values = [_value(item.metadata.get(name)) for name in fields]
        if all(values):
            return " / ".join((fields[0], *values))
    return ""


def _value(raw: Any) -> str:
    """A field in plain form; of several people the first, as editions differ in the others that they name."""
    if isinstance(raw, float):
        return f"{raw:.4f}"  # of a latitude: some ten metres
    if isinstance(raw, (list, tuple)):
        raw = raw[0] if raw else ""
    return _plain(str(raw).split(",")[0]) if raw is not None else ""


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))
