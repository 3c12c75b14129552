"""The normal form of words, in which they are compared."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Final

from sager_language.unicode import nfkc

MAX_FOLDED_CHARS: Final = 2_400
_BETWEEN_WORDS: Final = re.compile(r"[^\w$+&#]+")


def normalise(text: str) -> str:
    """Return a text in NFKC, casefolded, with words joined by `-`; empty if it has no word.

    Of a longer text the first 2,400 characters count.

    >>> normalise("  Science Fiction "), normalise("C#")
    ('science-fiction', 'c#')
    """
    folded = nfkc(nfkc(text, MAX_FOLDED_CHARS).casefold(), MAX_FOLDED_CHARS)
    if not folded.isascii():
        folded = "".join(c if _in_a_word(c) else " " for c in folded)
        return "-".join(folded.split())
    return _BETWEEN_WORDS.sub("-", folded).strip("-")


def _in_a_word(character: str) -> bool:
    # Marks are the vowels of Hindi or Thai, symbols are emoji and currencies: without them, words fall into one.
    if character.isascii():
        return character.isalnum() or character in "_$+&#"
    return character.isalnum() or unicodedata.category(character)[0] in "MNS"


class Lazy:
    """A regular expression that is compiled at its first use: a text needs few of the thousand that there are."""

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.pattern = pattern
        self._flags = flags

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The compiled expression."""
        return re.compile(self.pattern, self._flags)

    # Bound once, so that a search costs no call of Python.
    @cached_property
    def match(self) -> Callable[..., re.Match[str] | None]:
        """`re.Pattern.match`."""
        return self.compiled.match

    @cached_property
    def fullmatch(self) -> Callable[..., re.Match[str] | None]:
        """`re.Pattern.fullmatch`."""
        return self.compiled.fullmatch

    @cached_property
    def search(self) -> Callable[..., re.Match[str] | None]:
        """`re.Pattern.search`."""
        return self.compiled.search

    @cached_property
    def finditer(self) -> Callable[..., Iterator[re.Match[str]]]:
        """`re.Pattern.finditer`."""
        return self.compiled.finditer

    @cached_property
    def findall(self) -> Callable[..., list[Any]]:
        """`re.Pattern.findall`."""
        return self.compiled.findall

    @cached_property
    def sub(self) -> Callable[..., str]:
        """`re.Pattern.sub`."""
        return self.compiled.sub

    @cached_property
    def split(self) -> Callable[..., list[str]]:
        """`re.Pattern.split`."""
        return self.compiled.split
