"""What a text holds at a glance, taken once for all finders: most texts have nothing that most finders look for."""

import re
from functools import lru_cache
from typing import Final

_WORD: Final = re.compile(r"[^\W\d_]+")


@lru_cache(maxsize=16)
def words_of(text: str) -> frozenset[str]:
    """The words, as they are written."""
    return frozenset(_WORD.findall(text))


@lru_cache(maxsize=16)
def small_words_of(text: str) -> frozenset[str]:
    """The words in small letters."""
    return frozenset(map(str.casefold, words_of(text)))


@lru_cache(maxsize=16)
def digits_in(text: str) -> int:
    """How many digits there are, of any script."""
    return sum(map(str.isdecimal, text))
