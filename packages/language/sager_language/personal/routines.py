"""Private data in the words of a habit, beyond the privacy filter.

A weekly habit reveals the person's place and company. A taste has neither, unless it is one for people.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

from sager_language.personal.persons import given_names
from sager_language.personal.sensitive import Category
from sager_language.personal.text import patterns
from sager_language.text import Lazy, normalise


@cache
def listed(name: str) -> frozenset[str]:
    """Return the words of a list, in normal form."""
    rows = (row.partition(": ")[2].split() for row in patterns(name))
    return frozenset(normalise(word) for row in rows for word in row)


_STOPS: Final = Lazy(r"[,;:.!?()\n\u3002\uff0c]+")
_WORD: Final = Lazy(r"[^\W_](?:[\w'\u2019-]*[^\W_])?")
_ADJECTIVAL: Final = Lazy(
    r"(?i)^(?:all )?the (?:french|english|irish|scottish|welsh|dutch|spanish|portuguese|chinese|japanese|vietnamese"
    r"|swiss|british|polish|turkish|danish|swedish|lebanese)(?: people)?$"
)
# German for the women of a people.
_OF_WOMEN: Final = "innen"


def whom(text: str) -> Iterator[str]:
    """Return the private categories of liking or rejecting a group.

    >>> [list(whom(text)) for text in ("tall men with beards", "Americans", "Mad Men", "working with women")]
    [['sexuality'], ['origin'], [], []]
    """
    said = normalise(text)
    if _has_any(said, "intimate") and not _has_any(said, "titles"):
        yield Category.SEXUALITY.value
    for words in _parts(text):
        folded = [normalise(word) for word in words]
        if not _words("works").isdisjoint(folded) or _has_any("-".join(folded), "titles"):
            continue
        if _ADJECTIVAL.match(" ".join(words)):
            yield Category.ORIGIN.value
        for place in range(len(words)):
            kind = _kind(folded, place)
            if kind is not None and not _is_meant_otherwise(words, folded, place):
                yield kind.value


def _parts(text: str) -> Iterator[list[str]]:
    for clause in _STOPS.split(text):
        part: list[str] = []
        for word in _WORD.findall(clause):
            if word.casefold() in _words("joins"):
                yield part
                part = []
            else:
                part.append(word)
        yield part


def _words(name: str) -> frozenset[str]:
    return listed(f"people-{name}")


def _has_any(said: str, name: str) -> bool:
    return any(f"-{phrase}-" in f"-{said}-" for phrase in _words(name))


def _kind(folded: Sequence[str], place: int) -> Category | None:
    word = folded[place]
    if word in _words("sexes") or word in _words("sexes-capital"):
        return Category.SEXUALITY
    if word in _words("sexes-one") and folded[0] in _words("articles"):
        ends = place + 1 == len(folded) or folded[place + 1] in _words("closer")
        return Category.SEXUALITY if ends else None
    if word in _words("peoples") or not _words("peoples").isdisjoint(_men_of(word)):
        return Category.ORIGIN
    is_group = word in _words("groups") and place > 0 and folded[place - 1] in _words("origins")
    return Category.ORIGIN if is_group else None


def _men_of(word: str) -> Iterator[str]:
    if word.endswith(_OF_WOMEN):
        yield from (word.removesuffix(_OF_WOMEN) + ending for ending in ("", "en", "n"))


def _is_meant_otherwise(words: Sequence[str], folded: Sequence[str], place: int) -> bool:
    word, before = words[place], folded[:place]
    if not _words("own").isdisjoint(before[-2:]):
        return True
    if folded[place] in _words("also-things") and (place + 1 < len(words) or (place > 0 and not word[0].isupper())):
        return True
    if place + 1 < len(words) and folded[place + 1] in _words("theirs"):
        return True
    if word[0].isupper() and not "".join(words).isupper() and _is_in_a_title(words, folded, place):
        return True
    return not listed("prepositions").isdisjoint(before) and _words("courting").isdisjoint(before)


def _is_in_a_title(words: Sequence[str], folded: Sequence[str], place: int) -> bool:
    before, behind = words[place - 1 : place], words[place + 1 : place + 2]
    if folded[place] in _words("sexes-capital"):
        return place > 1 and before[0][0].isupper()
    return any(word[0].isupper() for word in (*before, *behind))


_NAME, _ADDRESS, _WHEREABOUTS, _SECRET, _HEALTH, _FINANCES = (
    "name", "address", "whereabouts", "secret", "health", "finances",
)  # fmt: skip
_COMPANY: Final = Lazy(r"\b(?:with|mit|bei|zu) ([^\W\d_a-z][\w'\u2019-]+)")
# What people play in, write or sing is called by their names.
_OF_WORKS: Final = Lazy(
    r"(?i)\b(?:films?|movies?|series|shows?|songs?|books?|albums?|music|podcasts?|anything|everything|filmen?|serien?"
    r"|b\u00fccher|musik|lieder|alles|krimis?|com(?:edies|edy)|kom\u00f6dien?)\b"
)
_CODE: Final = Lazy(
    r"(?<![\w.,])(?!(?:1\d|20)\d\ds?\b)\d{4,}\b"
    r"(?! (?:steps|schritte|pieces|teile|words|w\u00f6rter|calories|kcal|k?m)\b)"
    r"|\b(?=\w*\d)(?=\w*[a-z])\w{8,}\b",
    re.IGNORECASE,
)
_AT_A_NUMBER: Final = Lazy(r"\b(?:at|to|from) \d{1,4}[a-zA-Z]? (?!AM\b|PM\b|Uhr\b)[A-Z]\w+")
_ON_A_STREET: Final = Lazy(
    r"\b(?:on|at|in|near|along) (?:the )?[A-Z]\w+ (?:Street|St|Road|Rd|Avenue|Ave|Lane|Drive|Close|Square)\b"
    r"|\b(?:in|an|auf) (?:der|dem|die) [A-Z\u00c4\u00d6\u00dc]\w+(?:stra\u00dfe|strasse|gasse|allee|platz|weg)\b"
)
_TAKES: Final = Lazy(r"(?i)^taking (?P<en>.+)$|^(?P<de>.+) nehmen$")
# German puts into one word what a list has as two.
_COMPOUND: Final = Lazy(
    r"(?i)\b(?:asthma|gewerkschaft|kinderwunsch|diabet|blutzucker|insulin|migr\u00e4ne|epilep|schwanger|demenz)\w*"
    r"|\b\w+(?:klinik|therapie|krankheit|tabletten?|pillen?|spritzen?)\b"
)
_PAYS: Final = Lazy(
    r"(?i)\d ?(?:euro|eur|\u20ac|dollars?|pounds?|quid)\b.*\b(?:zahlen|kredit|loan|debts?|rent|miete)\b"
)
_GOES: Final = Lazy(r"(?i)^going to (?P<en>.+)$|^(?:zu[rm]?|ins?|im|auf|an) (?P<de>.+) gehen$")
# German for what one takes something for.
_AGAINST: Final = Lazy(r"(?i)\bgegen meine?[nrm]?\b")


def routine_reveals(text: str) -> Iterator[str]:
    """Yield the kinds of private data in the words of a habit.

    >>> list(routine_reveals("playing squash with Tobias Wexler")), list(routine_reveals("films with Tom Hanks"))
    (['name'], [])
    """
    named = (found[1].split("-")[0] for found in _COMPANY.finditer(text))
    if _OF_WORKS.search(text) is None and not given_names().isdisjoint(named):
        yield _NAME
    if _CODE.search(text):
        yield _SECRET
    if _AGAINST.search(text) or _COMPOUND.search(text) or _is_none_of("taken", _TAKES.search(text)):
        yield _HEALTH
    if _PAYS.search(text):
        yield _FINANCES
    if _AT_A_NUMBER.search(text) or _ON_A_STREET.search(text):
        yield _ADDRESS
    if _is_none_of("places", _GOES.search(text)):
        yield _WHEREABOUTS
    yield from whom(text)


def _is_none_of(name: str, done: re.Match[str] | None) -> bool:
    return done is not None and listed(name).isdisjoint(normalise(done["en"] or done["de"]).split("-"))
