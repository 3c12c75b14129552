"""Numbers as people write them: groups of digits with any signs between, in any script, read once for all finders."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

Span = tuple[int, int]

MOST_LOOKS: Final = 128
"""Numbers in one text that are looked up; a person's message has one or two."""
FEWEST: Final = 8
MOST: Final = 34
"""The longest number: an IBAN."""

IDEOGRAPHS: Final = re.compile("[\u3007零一二三四五六七八九0-9]{6,}")
"""Digits as Chinese and Japanese write them out, so many in a row that they count nothing."""
_IDEOGRAPHS: Final = str.maketrans("〇零一二三四五六七八九", "00123456789")
# Letters before many digits may be a word that ran into them: `card4111...`.
_GROUP: Final = re.compile(r"[A-Za-z]{1,12}(?=\d{9})|[A-Za-z0-9]{1,40}")
_BETWEEN: Final = re.compile(r"(?:[^\w\n]|_){0,3}")
# The letter behind the country and the check digits of an Italian IBAN parts nothing.
_CROSS: Final = re.compile(r"(?<![A-Za-z]{2}\d\d)(?<=\d)[xX*](?=\d)")
_LETTERS: Final = {**dict.fromkeys(map(ord, "0123456789"), "9"), **dict.fromkeys(range(65, 91), "A")}
_LONGEST_NEIGHBOUR: Final = 6


@dataclass(frozen=True, slots=True)
class Number:
    """Neighbouring groups of digits, and of letters that may belong to a number.

    Attributes:
        start, end: where it stands.
        groups: as written, in capitals.
        between: the signs between them, without spaces where there are others.
        shape: the groups joined, `A` for each letter and `9` for each digit.
    """

    start: int
    end: int
    groups: tuple[str, ...]
    between: tuple[str, ...]
    shape: str

    @property
    def compact(self) -> str:
        """The groups without what stands between."""
        return "".join(self.groups)

    @property
    def lengths(self) -> tuple[int, ...]:
        """How long each group is."""
        return tuple(map(len, self.groups))

    @property
    def is_even(self) -> bool:
        """Whether the same sign stands between all groups, as in one number and in few lists of several."""
        return len(set(self.between)) <= 1


def plain(text: str) -> str:
    """The text, of the same length, with the digits of every script as ASCII has them.

    >>> plain("٤١١١ १२")
    '4111 12'
    """
    if not text.isascii():
        text = "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text)
        text = IDEOGRAPHS.sub(lambda run: run[0].translate(_IDEOGRAPHS), text)
    return _CROSS.sub("-", text)


def numbers(text: str, is_known: Callable[[str], bool]) -> Iterator[Number]:
    """Every run of whole groups with 8 to 34 letters and digits, the longest first at each place.

    Args:
        text: as `plain` gives it.
        is_known: whether numbers of this shape are wanted.

    >>> [number.compact for number in numbers("call 4111.1111", lambda shape: "A" not in shape)]
    ['41111111']
    """
    found = list(_GROUP.finditer(text))
    groups = [group[0].upper() for group in found]
    shapes = [group.translate(_LETTERS) for group in groups]
    gaps = [text[a.end() : b.start()] for a, b in pairwise(found)]
    for first, shape in enumerate(shapes):
        if "9" not in shape and not (
            len(shape) <= _LONGEST_NEIGHBOUR and first + 1 < len(shapes) and shapes[first + 1][0] == "9"
        ):
            continue
        for last, joined in reversed(list(_runs(shapes, gaps, first))):
            if is_known(joined):
                between = tuple(gap.strip() or " " for gap in gaps[first:last] if gap)
                start, end = found[first].start(), found[last].end()
                yield Number(start, end, tuple(groups[first : last + 1]), between, joined)


def _runs(shapes: list[str], gaps: list[str], first: int) -> Iterator[tuple[int, str]]:
    joined = ""
    for last in range(first, min(len(shapes), first + MOST)):
        if last > first and not gaps[last - 1].isspace() and not _BETWEEN.fullmatch(gaps[last - 1]):
            return
        joined += shapes[last]
        if len(joined) > MOST:
            return
        if len(joined) >= FEWEST:
            yield last, joined
