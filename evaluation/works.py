"""Detects items that are the same work under several ids: another edition of the answer would leak it."""

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from schemas import Candidate

TELL_APART = (("address",), ("latitude", "longitude"), ("authors",), ("author",), ("directors", "year"), ("year",))
"""The facts that distinguish two items with the same title: the first group of which an item has all.

Restaurants of a chain share a title but not a place; a remake has another director or year. A book's year is its
edition's, so that authors alone decide.
"""


def works(items: Mapping[str, Candidate]) -> dict[str, str]:
    """Each item's work, identified by the work's first id in the catalogue.

    An item without distinguishing facts is a work of its own, because it may be another branch of a chain; but if the
    whole catalogue has none, titles alone decide.
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
    """A field in normal form; of several people only the first, because editions differ in the others."""
    if isinstance(raw, float):
        return f"{raw:.4f}"  # of a latitude: some ten metres
    if isinstance(raw, (list, tuple)):
        raw = raw[0] if raw else ""
    return _plain(str(raw).split(",")[0]) if raw is not None else ""


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))
