"""Known labels and names: single words, names by their capitals, known phrases.

This is the positive side of the shape: what it does not know waits, whatever its language.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from typing import Final

from sager_language.lists import sections
from sager_language.output.scripts import UNSPACED, scripts_of, words_of


def lines(name: str) -> Iterator[tuple[str, str, list[str]]]:
    """Yield language, class and words of each line of a section."""
    for line in phrases(name):
        language, kind, *words = line.split()
        yield language, kind, words


def phrases(name: str) -> tuple[str, ...]:
    """Return the lines of a section."""
    return sections("output")[name]


def words(name: str) -> Iterator[str]:
    """Yield each word of a section."""
    for line in phrases(name):
        yield from line.split()


MAX_WORDS: Final = 5
_MAX_NAME: Final = 4
_MAX_GIVEN: Final = 3
_MAX_UNKNOWN: Final = 2
_MAX_IDEOGRAPHS, _MAX_LETTERS = 8, 20
_CASED: Final = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN"})
PARTICLES: Final = frozenset(words("particles"))
_JOINING: Final = frozenset(words("joining"))
_NUMBER: Final = re.compile(r"\d{1,4}s?|\d[dk]|\d{1,2}th", re.IGNORECASE)
_MAX_UNSPACED: Final = {"CJK": 4, "KANA": 7, "KATAKANA": 20, "THAI": 9, "LAO": 9, "KHMER": 6, "MYANMAR": 6}
_ENDS: Final = (("s", ""), ("es", ""), ("ies", "y"), ("ly", ""), ("ed", ""), ("ed", "e"), ("ing", ""), ("ing", "e"))
_MAX_ENDED: Final = 10
_MAX_BRAND: Final = 2
_MAX_SYLLABLES: Final = 6


class Known(StrEnum):
    """The kind of a known value."""

    WORD = "word"
    NAME = "name"
    PHRASE = "phrase"


def known_as(text: str) -> Known | None:
    """Return the kind of a value in any spelling; None if unknown.

    >>> [known_as(v) for v in ("Krimi", "Agnès Varda", "slow domestic drama", "løft denne til topps", "居酒屋")]
    [<Known.WORD: 'word'>, <Known.NAME: 'name'>, <Known.PHRASE: 'phrase'>, None, <Known.WORD: 'word'>]
    """
    found = words_of(text)
    scripts = scripts_of(text)
    if scripts & UNSPACED:
        return Known.WORD if _is_unspaced(text) else None
    if len(found) <= 1 or (len(found) == _MAX_BRAND and " " not in text and _is_brand(found)):
        return Known.WORD if scripts != {"HANGUL"} or len(text) <= _MAX_SYLLABLES else None
    return Known.NAME if _is_name(text, scripts) else Known.PHRASE if _is_phrase(text) else None


def may_wait(text: str) -> bool:
    """Return True if several items may vouch for an unknown, short value."""
    scripts = scripts_of(text)
    if scripts & UNSPACED:
        most = _MAX_IDEOGRAPHS if scripts & {"CJK", "HIRAGANA", "KATAKANA"} else _MAX_LETTERS
        return sum(map(str.isalnum, text)) <= most
    found = words_of(re.sub(r"\b[^\W\d_]\.", " ", text.casefold()))
    numbers = sum(any(map(str.isdigit, word)) for word in found)
    if numbers > 1 or numbers == len(found):
        return False
    unknown = {word for word in found if not is_anywhere(word)}
    return (
        (len(found) <= MAX_WORDS and len(unknown) <= _MAX_UNKNOWN)
        or len(found) <= _MAX_UNKNOWN
        or _is_name(text, scripts)
    )


def looks_named(text: str) -> bool:
    """Return True if all words but particles have a capital."""
    found = [word for word in text.split() if any(map(str.isalnum, word))]
    return scripts_of(text) <= _CASED and len(found) <= MAX_WORDS and all(map(_is_of_a_name, found))


def _is_name(text: str, scripts: frozenset[str]) -> bool:
    found = [word for word in text.split() if any(map(str.isalnum, word))]
    if len(found) > _MAX_NAME:
        return False
    if not scripts <= _CASED:
        return words_of(text)[0] in given() and len(found) <= _MAX_GIVEN
    if not found[0][:1].isupper() and found[0].casefold() not in PARTICLES:
        return False
    first = words_of(text)[0].casefold()
    if sum(word[0].isdigit() for word in found) > 1:
        return False
    return first not in _verbs() and all(map(_is_of_a_name, found))


def _is_brand(found: list[str]) -> bool:
    return any(len(part) <= _MAX_BRAND or part.isdigit() for part in found) or found[1] == "ish"


def _is_of_a_name(word: str) -> bool:
    parts = words_of(word)
    return (
        parts[0][0].isupper()
        or parts[-1][0].isupper()
        or parts[0].casefold() in PARTICLES
        or _NUMBER.fullmatch(word) is not None
    )


def _is_phrase(text: str) -> bool:
    said = _labels().sub(" ", f" {' '.join(words_of(text.casefold()))} ").split()
    rest = [word for word in said if word not in _JOINING and not _NUMBER.fullmatch(word)]
    # A listed label as a whole, or with words that are known.
    found_whole = not said or (len(said) < len(words_of(text)) and said[0] not in _JOINING)
    if len(said) > MAX_WORDS or len(set(rest)) < len(rest):
        return False
    if sum(word[0].isdigit() for word in said) > 1 or not (rest or found_whole):
        return False
    by_language = _vocabulary()
    everywhere = by_language["*"]
    return any(all(word in known or word in everywhere for word in rest) for known in by_language.values()) or all(
        _is_english(word) or word in everywhere or word in by_language["en"] for word in rest
    )


def is_anywhere(word: str) -> bool:
    """Return True if a word is English or in any language's labels."""
    return _is_english(word) or any(word in known for known in _vocabulary().values())


def _is_english(word: str) -> bool:
    known = _english()
    if word in known:
        return True
    return any(f"{word[: -len(end)]}{instead}" in known for end, instead in _ENDS if word.endswith(end)) or (
        word.startswith("un") and word[2:] in known
    )


def _is_unspaced(text: str) -> bool:
    scripts = scripts_of(text)
    letters = sum(map(str.isalnum, text))
    if scripts & {"CJK", "HIRAGANA", "KATAKANA"}:
        limit = _MAX_UNSPACED[next(iter(scripts)) if scripts in ({"CJK"}, {"KATAKANA"}) else "KANA"]
        return letters <= limit or (letters <= _MAX_ENDED and text.endswith(_ends()["end"]))
    limit = min(_MAX_UNSPACED[script] for script in scripts)
    return letters <= limit or (letters <= 2 * _MAX_ENDED and text.startswith(_ends()["begin"]))


@cache
def _english() -> frozenset[str]:
    return frozenset(words("english"))


@cache
def _verbs() -> frozenset[str]:
    return frozenset(words("verbs"))


@cache
def _vocabulary() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {"*": set(), "en": set()}
    for line in phrases("labels"):
        language, _, said = line.partition(" ")
        found.setdefault(language, set()).update(said.casefold().split())
    return {language: frozenset(said) for language, said in found.items()}


@cache
def given() -> frozenset[str]:
    """Given names that may also be words of orders in some language."""
    return frozenset(words("given"))


@cache
def _ends() -> dict[str, tuple[str, ...]]:
    return {kind: tuple(said) for _, kind, said in lines("kinds")}


@cache
def _labels() -> re.Pattern[str]:
    return re.compile("|".join(f" {re.escape(one)}(?= )" for one in sorted(phrases("idioms"), key=len, reverse=True)))
