"""Sensitive categories: what nobody wants to be known for by a machine (compare Article 9 of the GDPR).

Two questions with two answers. A *fact*, once liked, is a line about a person: any word of a category in it counts.
A *text* is about many things: only what it says about a person counts, "I am diabetic" and not "a book on diabetes".
"""

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final

from operators.privacy.reading import folded


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
_PERSON: Final = re.compile(
    r"(?:\b(?:i am|i'm|im|i have|i've got|i suffer from|i was diagnosed with|diagnosed with|living with|i live with"
    r"|as an?|we are|we're|i vote|i voted|i belong to|member of|because of my|my"
    r"|(?:the )?(?:user|person|customer|reader|client) (?:is|has|seems|suffers from|votes)"
    r"|(?:he|she|they) (?:is|are|has|have)|he's|she's|they're|his|her|their"
    r"|ich bin|ich habe|ich hab|ich leide an|leide unter|wir sind|mein|meine|meinem|meiner|als"
    r"|je suis|j'ai|j'ai un|je souffre de|nous sommes|mon|ma|en tant que"
    r"|soy|tengo|estoy|padezco|sufro de|somos|mi"
    r"|sono|ho|soffro di|siamo|il mio|la mia"
    r"|sou|estou|tenho|sofro de|somos|meu|minha"
    r"|ik ben|ik heb|ik lijd aan|wij zijn|mijn"
    r"|jestem|mam|choruję na|cierpię na|mój|moja"
    r"|я|у меня|мой|моя|болею|страдаю|мы"
    r"|ben|bende|benim|biz|أنا|عندي|أعاني من|मैं|मुझे|मेरा|मेरी)\b"
    r"|我是|我有|我得了|我患有|我患|作为|私は|わたしは|僕は|俺は|私が|저는|나는|제가|전)"
    r"(?P<gap>(?: (?!about|on|read|book|books|film|films|movie|movies|novel|looking)[\w'-]{1,20}){0,3}? ?"
    r"|[" + _CJK + r" ]{0,4}?)$"
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
    told = files("operators.privacy").joinpath("words", f"{name}.txt").read_text(encoding="utf-8")
    for row in told.splitlines():
        if not row.startswith("#"):
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
    if not _mentions(folded(value.replace("_", " "))):
        return None
    text = _others().sub(" ", folded(value.replace("_", " ").replace("-", " ")))
    hyphened = _others().sub(" ", folded(value))
    return next((c for c, pattern in _words().items() if pattern.search(text) or pattern.search(hyphened)), None)


def claims(text: str) -> list[tuple[Category, int, int]]:
    """What a text says about a person, as places in `folded(text)`.

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
            before = said[max(0, start - _LOOK_BACK) : start]
            clause = re.split(r"[.!?;,。!?、]", before)[-1]
            if _PERSON.search(clause) and not any(a <= start < b for a, b in others):
                told.append((category, start, end))
    return sorted(told, key=lambda claim: claim[1])
