"""What a text holds at a glance, taken once for all finders: most texts have nothing that most finders look for."""

import re
from functools import lru_cache
from typing import Final

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
    """The first four letters of each word, in small letters: cheaper to look up than a pattern is to search for."""
    return frozenset(word[:4] for word in small_words_of(text))


@lru_cache(maxsize=16)
def digits_in(text: str) -> int:
    """How many digits there are, of any script."""
    digits = sum(map(str.isdecimal, text))
    return digits if text.isascii() else digits + sum(len(run) for run in _IDEOGRAPHS.findall(text))
