"""Text without invisible characters, folded, on one line."""

import re
import unicodedata
from functools import lru_cache
from typing import Final

from sager_language.lists import sections
from sager_language.text import is_ignorable, nfkc

# More than any field of an event holds, and than what its compatibility form may make of it.
MAX_CHARS = 16_000


def seen(text: str) -> str:
    r"""The text in NFKC, without invisible characters.

    >>> seen("an\u200bna\uff20example.org")
    'anna@example.org'
    """
    if text.isascii():
        return text
    return "".join(
        c for c in nfkc(text, MAX_CHARS) if unicodedata.category(c) not in ("Cf", "Cs") and not is_ignorable(c)
    )


def line(text: str) -> str:
    """Return the visible text on one line."""
    return re.sub(r"\s+", " ", seen(text)).strip()


def folded(text: str) -> str:
    r"""Return `line`, casefolded at the same length, with plain apostrophes.

    >>> folded("Straße  \u2019Eins\u2019")
    "straße 'eins'"
    """
    return "".join(_lower(c) for c in line(text))


def _lower(character: str) -> str:
    lower = character.casefold()
    return "'" if character in "\u2019\u02bc" else lower if len(lower) == 1 else character


_WORD: Final = re.compile(r"[^\W\d_]+")

_IDEOGRAPHS: Final = re.compile("[〇零一二三四五六七八九]{6,}")


@lru_cache(maxsize=16)
def words_of(text: str) -> frozenset[str]:
    """The words, as they are written."""
    return frozenset(_WORD.findall(text))


@lru_cache(maxsize=16)
def small_words_of(text: str) -> frozenset[str]:
    """The words in small letters."""
    return frozenset(map(str.casefold, words_of(text)))


@lru_cache(maxsize=16)
def stems_of(text: str) -> frozenset[str]:
    """Return each word's first four letters, for cheap look-ups before patterns."""
    return frozenset(word[:4] for word in small_words_of(text))


@lru_cache(maxsize=16)
def digits_in(text: str) -> int:
    """Count the digits of any script."""
    digits = sum(map(str.isdecimal, text))
    return digits if text.isascii() else digits + sum(len(run) for run in _IDEOGRAPHS.findall(text))


def patterns(name: str) -> tuple[str, ...]:
    """Return the lines of a section."""
    return sections("personal")[name]
