"""Sensitive categories of personal data (compare Article 9 of the GDPR).

Two questions with two answers. A *fact*, once liked, is a line about a person: any word of a category in it counts.
A *text* is about many things: only what it says about a person counts, "I am diabetic" and not "a book on diabetes".
"""

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache, lru_cache
from typing import Final

from operators.privacy.reading import folded
from operators.privacy.words import patterns


class Category(StrEnum):
    """What a domain may be allowed to learn."""

    HEALTH = "health"
    RELIGION = "religion"
    SEXUALITY = "sexuality"
    POLITICS = "politics"
    LOCATION = "location"
    """Where in a city somebody goes: a postal code, a square of some kilometres. Never a street."""


WORDED: Final = (Category.HEALTH, Category.RELIGION, Category.SEXUALITY, Category.POLITICS)
NAMES: Final = frozenset({"actor", "artist", "author", "brand", "city", "country", "director", "publisher", "state"})
"""Dimensions whose values are names: Christian and Gay are two."""
PLACES: Final = frozenset({"area", "location", "neighborhood", "neighbourhood", "postal_code", "zip", "zip_code"})
"""Dimensions that say where."""

_CJK: Final = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_UNSPACED: Final = re.compile(f"[{_CJK}]")
_ONE_WORD: Final = re.compile(r"\w+")
# Words are parted by what is no letter: `\b` fails at the vowel signs of Hindi.
_PERSON: Final = re.compile(
    rf"(?:(?:^|[^\w])(?:{'|'.join(patterns('person'))})(?=\s|$)|{'|'.join(patterns('person-unspaced'))})"
    r"(?:(?: (?!about|on|read|book|books|film|films|movie|movies|novel|looking)\S{1,20}){0,3} ?"
    rf"|[{_CJK} ]{{0,4}}?)$"
)
_LOOK_BACK: Final = 70


@cache
def _words() -> Mapping[Category, re.Pattern[str]]:
    """One pattern per category, of the words of all languages, longest first."""
    return {category: _pattern(_listed(category.value)) for category in WORDED}


@cache
def _others() -> re.Pattern[str]:
    return _pattern(_listed("others"))


def _listed(name: str) -> Iterator[str]:
    for row in patterns(name):
        listed = row.partition(": ")[2] or row
        yield from (folded(word) for word in listed.split(","))


@cache
def _first_words() -> frozenset[str]:
    """What a word of any category begins with: a text without one of these is done with soon."""
    listed = (word for category in WORDED for word in _listed(category.value))
    return frozenset(_first(word) for word in listed if word and not _UNSPACED.search(word))


def _first(word: str) -> str:
    found = _ONE_WORD.search(word)
    return found[0] if found else word


def _mentions(said: str) -> bool:
    return bool(_UNSPACED.search(said)) or not _first_words().isdisjoint(_ONE_WORD.findall(said))


def _pattern(words: Iterator[str]) -> re.Pattern[str]:
    spaced, joined = set[str](), set[str]()
    for word in filter(None, words):
        # Chinese, Japanese and Korean put no space where a word ends.
        (joined if _UNSPACED.search(word) else spaced).add(word)
    parts = [rf"(?<![\w-])(?:{_either(spaced)})(?![\w])"] + ([_either(joined)] if joined else [])
    return re.compile("|".join(parts))


def _either(words: set[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=lambda word: (-len(word), word)))


@lru_cache(maxsize=65_536)
def of_fact(dimension: str, value: str) -> Category | None:
    """The category that a line of this dimension and value would tell of a person, if any.

    >>> of_fact("category", "Halal"), of_fact("genre", "noir"), of_fact("director", "Christian Petzold")
    (<Category.RELIGION: 'religion'>, None, None)
    """
    if dimension in PLACES:
        return Category.LOCATION
    if dimension in NAMES:
        return next((category for category, _, _ in claims(value)), None)
    # A dimension is the item's own key, and may say it all: `is_pregnant = yes`.
    said = f"{dimension} {value}".replace("_", " ")
    if not _mentions(folded(said)):
        return None
    text = _others().sub(" ", folded(said.replace("-", " ")))
    hyphened = _others().sub(" ", folded(said))
    return next((c for c, pattern in _words().items() if pattern.search(text) or pattern.search(hyphened)), None)


def claims(text: str, *, of_a_person: bool = False) -> list[tuple[Category, int, int]]:
    """What a text says about a person, as places in `folded(text)`.

    Args:
        text: of any form.
        of_a_person: whether the whole text speaks of one, as a model's reasoning does; then every word counts.

    >>> [category.value for category, _, _ in claims("I am diabetic, show me films about cancer")]
    ['health']
    """
    said = folded(text)
    if not _mentions(said):
        return []
    others = [(found.start(), found.end()) for found in _others().finditer(said)]
    told: list[tuple[Category, int, int]] = []
    for category, pattern in _words().items():
        for found in pattern.finditer(said):
            start, end = found.span()
            if said[max(0, start - 1) : start] == "[":
                continue  # a placeholder
            if of_a_person:
                told.append((category, start, end))
                continue
            before = said[max(0, start - _LOOK_BACK) : start]
            clause = re.split(r"[.!?;,。!?、]", before)[-1]
            if _PERSON.search(clause) and not any(a <= start < b for a, b in others):
                told.append((category, start, end))
    return sorted(told, key=lambda claim: claim[1])
