"""The one place where an item's text becomes facts that may be learned."""

import traceback
from dataclasses import dataclass, field
from pathlib import Path

from operators.language.ports import Found
from operators.privacy import UNREADABLE, Privacy
from operators.statinit import Parser, facts_of
from schemas import Candidate, ItemFacts


@dataclass(frozen=True)
class ReadItem:
    """An item as operators use it, with the counts of removed private details.

    `failure` names the error that made it unreadable, without the item's text.
    """

    facts: ItemFacts
    found: Found = field(default_factory=dict)
    failure: str = ""


def read_item(candidate: Candidate, domain: str, parser: Parser, privacy: Privacy) -> ReadItem:
    """Parse an item and remove its private details.

    Item text comes from outside, parsers from plug-ins. An error in either marks only this item as unreadable: nothing
    is learned from it, and the list that holds it is still ranked.
    """
    try:
        facts, found = privacy.item(facts_of(candidate, parser), domain)
    except Exception as error:  # one title must not stop every list that shows it
        return ReadItem(ItemFacts(item_id=candidate.item_id, unreadable=True), {UNREADABLE: 1}, _place_of(error))
    return ReadItem(facts, found)


def _place_of(error: Exception) -> str:
    """Return the error's type and line; its message may quote the item."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno}"
