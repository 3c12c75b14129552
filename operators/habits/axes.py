"""The axes of habits, and the words for both of their sides, such as dearer or cheaper than the list's median.

A habit is a side that a user takes more often than the lists let expect.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from operators.attributes import CREATORS, attribute_id
from schemas import Attribute, Kind, Measure


class Pole(NamedTuple):
    """One side of an axis (`up`: the one counted as taken), as a line of a skill in our own words."""

    axis: str
    up: bool
    kind: Kind
    dimension: str
    value: str
    attribute_id: str


MAIN: Final[Mapping[str, str]] = {"genre": "genres", "category": "categories"}
"""Dimensions whose first value is an item's class, with their plurals."""
DECIDING: Final = (
    *("genre", "category", "mood", "keyword", "qualifier", "actor", "city", "area", "country", "ambience", "meal"),
    *("cuisine", "type", "tag", "language", "feature"),
)
"""Dimensions of the axes `by_...`; creators and measures have axes of their own."""
BY: Final = "by_"
KNOWN: Final = "known_"
POSITION, AGAIN, REQUEST = "position", "again", "request"


def _poles(axis: str, kind: Kind, dimension: str, up: str, down: str) -> tuple[Pole, ...]:
    return tuple(
        Pole(axis, is_up, kind, dimension, value, attribute_id(kind, dimension, value))
        for is_up, value in ((True, up), (False, down))
        if value
    )


def _all() -> tuple[Pole, ...]:
    measured = (
        (Measure.PRICE, "picks dearer than average", "picks cheaper than average"),
        (Measure.YEAR, "picks newer than average", "picks older than average"),
        (Measure.RATING, "picks better rated than average", "picks lower rated than average"),
        (Measure.POPULARITY, "goes with what is popular", "picks what few others take"),
        (Measure.DISTANCE, "goes farther than average", "picks nearer than average"),
        (Measure.LENGTH, "picks longer than average", "picks shorter than average"),
    )
    poles = [pole for m, up, down in measured for pole in _poles(m.value, Kind.CRITERION, f"by_{m.value}", up, down)]
    poles += _poles(REQUEST, Kind.CRITERION, "request", "follows the request closely", "looks past the request")
    for dimension, plural in {**CREATORS, **MAIN}.items():
        new = "explores many" if dimension in MAIN else "explores new"
        stays, explores = f"stays with favourite {plural}", f"{new} {plural}"
        poles += _poles(KNOWN + dimension, Kind.PATTERN, "exploration", stays, explores)
    poles += _poles(AGAIN, Kind.PATTERN, "exploration", "returns to what was taken before", "picks what is new")
    for dimension in DECIDING:
        poles += _poles(BY + dimension, Kind.CRITERION, "decision", f"decides by {dimension}", "")
    poles += _poles(POSITION, Kind.PATTERN, "position", "takes what stands first", "reads on past the first")
    return tuple(poles)


POLES: Final = _all()
"""All sides that have words, in their order in a slim skill."""
POLE_OF: Final[Mapping[str, Pole]] = {pole.attribute_id: pole for pole in POLES}
PLACE_OF: Final[Mapping[str, int]] = {pole.attribute_id: place for place, pole in enumerate(POLES)}
VALUES: Final = frozenset((pole.dimension, pole.value) for pole in POLES)
"""The closed vocabulary: dimension and value of every habit line."""


def is_habit(line: Attribute) -> bool:
    """True if a line of a skill is a habit: code counts these, and no model judges them."""
    return line.attribute_id in POLE_OF
