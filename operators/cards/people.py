"""Whom somebody likes or rejects for what they are: it tells whom they love, or what they think of others.

The privacy filter finds "I like men". A line on a card is no sentence, and may have any adjective: "tall men with
beards", "white people". So it is read as a phrase, and refused if people are what it is about. Titles and works are let
through, and so is what one does with people ("working with women").
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from operators.attributes import normalise
from operators.cards.alike import listed
from operators.options import Category

_STOPS: Final = re.compile(r"[,;:.!?()\n\u3002\uff0c]+")
_WORD: Final = re.compile(r"[^\W_](?:[\w'\u2019-]*[^\W_])?")
_ADJECTIVAL: Final = re.compile(
    r"(?i)^(?:all )?the (?:french|english|irish|scottish|welsh|dutch|spanish|portuguese|chinese|japanese|vietnamese"
    r"|swiss|british|polish|turkish|danish|swedish|lebanese)(?: people)?$"
)
_OF_WOMEN: Final = "innen"
"""German for the women of a people."""


def whom(text: str) -> Iterator[str]:
    """What it tells of a person whom they like or reject, as categories of the privacy filter.

    >>> [list(whom(said)) for said in ("tall men with beards", "Americans", "Mad Men", "working with women")]
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
    """The words of each thing that is told of."""
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
    return listed(f"people/{name}")


def _has_any(said: str, name: str) -> bool:
    """Whether a text in normal form has one of the phrases of a list."""
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
    """What the men of a people may be called, if this is the German word for its women."""
    if word.endswith(_OF_WOMEN):
        yield from (word.removesuffix(_OF_WOMEN) + ending for ending in ("", "en", "n"))


def _is_meant_otherwise(words: Sequence[str], folded: Sequence[str], place: int) -> bool:
    """Whether it is part of a title or a thing, or something that one does with people or that is theirs."""
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
    """Whether a word with a capital letter is beside another one, where that is not how all nouns are written."""
    before, behind = words[place - 1 : place], words[place + 1 : place + 2]
    if folded[place] in _words("sexes-capital"):
        return place > 1 and before[0][0].isupper()
    return any(word[0].isupper() for word in (*before, *behind))
