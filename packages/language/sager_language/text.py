"""The normal form of words, in which they are compared."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, Final

MAX_FOLDED_CHARS: Final = 2_400
_BETWEEN_WORDS: Final = re.compile(r"[^\w$+&#]+")


def normalise(text: str) -> str:
    """Return a text in NFKC, casefolded, with words joined by `-`.

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
    """A regular expression, compiled at first use: a text needs few."""

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


_CHUNK = 128
IGNORABLE = (
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip
_STARTS = tuple(first for first, _ in IGNORABLE)


def is_ignorable(character: str) -> bool:
    r"""Return True if a character is invisible by default, as fillers are.

    >>> is_ignorable("\u034f"), is_ignorable("\u3164"), is_ignorable("a")
    (True, True, False)
    """
    point = ord(character)
    at = bisect_right(_STARTS, point) - 1
    return at >= 0 and point <= IGNORABLE[at][1]


def nfkc(text: str, most: int) -> str:
    r"""The first `most` characters of the text in NFKC.

    `unicodedata.normalize` sorts runs of combining marks by insertion, and copies all that it has whenever a
    character becomes several (U+FDFA becomes 18): 4,000 such characters take it a fifth of a second. So it gets the
    text in pieces, which are cut before ASCII where there is any, and may part a letter from its marks only where
    there is none for 64 characters.

    >>> nfkc("ﬁction", 60), nfkc("\ufdfa" * 4_000, 3), nfkc("plain", 3)
    ('fiction', 'صلى', 'pla')
    """
    if text.isascii():
        return text[:most]
    parts: list[str] = []
    start = size = 0
    while start < len(text) and size < most:
        end = _end(text, start)
        parts.append(unicodedata.normalize("NFKC", text[start:end]))
        size += len(parts[-1])
        start = end
    return "".join(parts)[:most]


def _end(text: str, start: int) -> int:
    end = start + _CHUNK
    if end >= len(text):
        return len(text)
    # Nothing composes with an ASCII character that follows it.
    return next((at for at in range(end, start + _CHUNK // 2, -1) if text[at].isascii()), end)
