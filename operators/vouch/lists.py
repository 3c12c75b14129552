"""Values that may pass by themselves: of closed vocabularies of our parsers, and of the operator's list."""

import re
from functools import cache
from typing import Final

from operators.attributes import normalise
from operators.habits.axes import VALUES as HABITS
from operators.prompts import visible
from operators.statinit import books, movietv, yelp

_PATTERNS: Final = {
    "era": re.compile(r"before 1900|\d{3}0s"),
    "year": re.compile(r"\d{4} releases"),
    "price": re.compile(r"\${1,4}"),
    "area": re.compile(r"around -?\d{1,2}\.\d{2} -?\d{1,3}\.\d{2}"),
    "rating": re.compile(r"highly rated"),
}
"""What parsers build by themselves."""
MAX_CHARS: Final = 4_000_000
MAX_LINES: Final = 100_000
MAX_LINE_CHARS: Final = 200


def is_closed(dimension: str, value: str) -> bool:
    """Whether this is one of the values that a built-in parser has for a dimension, however it came here.

    >>> is_closed("mood", "dark tone"), is_closed("era", "1990s"), is_closed("mood", "tell no one")
    (True, True, False)
    """
    pattern = _PATTERNS.get(dimension)
    return (dimension, value) in _labels() or (pattern is not None and pattern.fullmatch(value) is not None)


@cache
def _labels() -> frozenset[tuple[str, str]]:
    return HABITS | {(fact.dimension, fact.value) for module in (movietv, books, yelp) for fact in module.VOCABULARY}


class BadList(ValueError):
    """The operator's list cannot be used."""


def listed(text: str) -> frozenset[str]:
    r"""The values of a list, one a line: `value`, or `dimension: value` for one dimension alone; `#` begins a comment.

    Raises:
        BadList: it is too long, or a line has no word, is too long or has signs that nobody sees.

    >>> sorted(listed("Must See\ntag: do-it-yourself\n# a comment\n"))
    ['must-see', 'tag: do-it-yourself']
    """
    if len(text) > MAX_CHARS:
        raise BadList(f"it has more than {MAX_CHARS:,} characters")
    found: set[str] = set()
    # Not splitlines(): a line break that an editor does not show must not end a comment.
    for number, raw in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        line = raw.removesuffix("\r").strip(" \t")
        if not line or line.startswith("#"):
            continue
        if number > MAX_LINES:
            raise BadList(f"it has more than {MAX_LINES:,} lines")
        if len(line) > MAX_LINE_CHARS or visible(line) != line:
            raise BadList(f"line {number} is longer than {MAX_LINE_CHARS} characters, or holds one that nobody sees")
        dimension, colon, value = line.partition(": ")
        name = normalise(value if colon else line)
        if not name:
            raise BadList(f"line {number} has no word")
        found.add(f"{normalise(dimension)}: {name}" if colon else name)
    return frozenset(found)
