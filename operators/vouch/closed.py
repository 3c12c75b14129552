"""Values that our own parsers make out of closed vocabularies: whoever writes one of them can say nothing else."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

from operators.habits.axes import VALUES as HABITS
from operators.statinit import books, movietv, yelp
from operators.statinit.text import Vocabulary

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
    vocabularies: tuple[tuple[str, Vocabulary], ...] = (
        ("genre", movietv.GENRES),
        ("genre", books.GENRES),
        ("qualifier", movietv.QUALIFIERS),
        ("mood", movietv.MOODS),
        ("mood", books.MOODS),
    )
    return HABITS | frozenset(
        [(dimension, label) for dimension, words in vocabularies for label in words.labels]
        + [("genre", books.GENERAL)]
        + [*_of("ambience", yelp.AMBIENCE.values()), *_of("meal", yelp.MEALS.values())]
        + [*_of("category", yelp.REJOINED.values()), *_of("category", yelp.ROOTS)]
    )


def _of(dimension: str, labels: Iterable[str]) -> Iterator[tuple[str, str]]:
    return ((dimension, label) for label in labels)
