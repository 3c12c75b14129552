"""Values that our own parsers make out of closed vocabularies: whoever writes one of them can say nothing else."""

import re
from functools import cache
from typing import Final

from operators.habits.axes import VALUES as HABITS
from operators.statinit import books, movietv, yelp

_PATTERNS: Final = {
    "era": re.compile(r"before 1900|\d{3}0s"),
    "year": re.compile(r"\d{4} releases"),
    "price": re.compile(r"\${1,4}"),
    "area": re.compile(r"around -?\d{1,2}\.\d{2} -?\d{1,3}\.\d{2}"),
    "rating": re.compile(r"highly rated"),
}
"""What parsers build by themselves."""


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
