"""Opt-outs in a request: forget this choice, or it is another person's.

Patterns in fifteen languages find them. A wrongly found wish costs one choice's lesson, and a missed one adds an
unwanted line, so the patterns prefer the first.
"""

import re
from enum import StrEnum
from functools import cache, lru_cache
from typing import Final

from sager_language.personal.text import folded, patterns


class OptOut(StrEnum):
    """A person's wish about the choice that answers their request."""

    NOT_REMEMBERED = "not-remembered"
    FOR_ANOTHER = "for-another"


_KIN: Final = (
    r"(?:mother|mum|mom|mommy|mummy|father|dad|daddy|son|daughter|wife|husband|partner|girlfriend|boyfriend|fianc[eé]e?"
    r"|sister|brother|grandmother|grandma|granny|grandfather|grandpa|grandson|granddaughter|aunt|uncle|niece|nephew"
    r"|cousin|kid|kids|child|children|baby|toddler|teenager|boss|colleague|co-?worker|friend|friends|neighbou?r|teacher"
    r"|roommate|flatmate|parents|in-laws|mother-in-law|father-in-law|client|student|students|spouse)"
)
# What a family chooses together is the person's choice too.
_ALONE: Final = r"(?! and (?:me|i|myself)\b)(?!,? and i\b)"


@cache
def _pattern(wish: str) -> re.Pattern[str]:
    pattern = "|".join(patterns(wish))
    return re.compile(pattern.replace("{kin}", _KIN).replace("{alone}", _ALONE))


@lru_cache(maxsize=4_096)
def find_opt_out(instruction: str) -> OptOut | None:
    """Return the opt-out in an instruction; None for nearly all.

    >>> find_opt_out("something quiet for tonight"), find_opt_out("do not remember this: trashy romance").value
    (None, 'not-remembered')
    >>> find_opt_out("A gift for my mother, she loves opera").value, find_opt_out("for my wife and me")
    ('for-another', None)
    """
    said = folded(instruction)
    if not said:
        return None
    if _pattern("forget").search(said):
        return OptOut.NOT_REMEMBERED
    return OptOut.FOR_ANOTHER if _pattern("another").search(said) else None
