"""The directions of habits, such as dearer or cheaper than the list's median, as lines in our own words."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from operators.attributes import CREATORS, attribute_id
from schemas import Attribute, AttributeKind, Measure


class Direction(NamedTuple):
    """One side of an axis, with its words; `up` counts as taken."""

    axis: str
    up: bool
    kind: AttributeKind
    dimension: str
    value: str
    attribute_id: str


# Dimensions whose first value is an item's class, with their plurals.
CLASSES: Final[Mapping[str, str]] = {"genre": "genres", "category": "categories"}
# Dimensions of the axes `by_...`; creators and measures have axes of their own.
DECIDING: Final = (
    *("genre", "category", "mood", "keyword", "qualifier", "actor", "city", "area", "country", "ambience", "meal"),
    *("cuisine", "type", "tag", "language", "feature"),
)
BY_PREFIX: Final = "by_"
KNOWN_PREFIX: Final = "known_"
POSITION, AGAIN, REQUEST = "position", "again", "request"


def _directions(axis: str, kind: AttributeKind, dimension: str, up: str, down: str) -> tuple[Direction, ...]:
    return tuple(
        Direction(axis, is_up, kind, dimension, value, attribute_id(kind, dimension, value))
        for is_up, value in ((True, up), (False, down))
        if value
    )


def _all_directions() -> tuple[Direction, ...]:
    measured = (
        (Measure.PRICE, "picks dearer than average", "picks cheaper than average"),
        (Measure.YEAR, "picks newer than average", "picks older than average"),
        (Measure.RATING, "picks better rated than average", "picks lower rated than average"),
        (Measure.POPULARITY, "goes with what is popular", "picks what few others take"),
        (Measure.DISTANCE, "goes farther than average", "picks nearer than average"),
        (Measure.LENGTH, "picks longer than average", "picks shorter than average"),
    )
    poles = [
        pole
        for m, up, down in measured
        for pole in _directions(m.value, AttributeKind.CRITERION, f"by_{m.value}", up, down)
    ]
    poles += _directions(
        REQUEST, AttributeKind.CRITERION, "request", "follows the request closely", "looks past the request"
    )
    for dimension, plural in {**CREATORS, **CLASSES}.items():
        new = "explores many" if dimension in CLASSES else "explores new"
        stays, explores = f"stays with favourite {plural}", f"{new} {plural}"
        poles += _directions(KNOWN_PREFIX + dimension, AttributeKind.PATTERN, "exploration", stays, explores)
    poles += _directions(
        AGAIN, AttributeKind.PATTERN, "exploration", "returns to what was taken before", "picks what is new"
    )
    for dimension in DECIDING:
        poles += _directions(BY_PREFIX + dimension, AttributeKind.CRITERION, "decision", f"decides by {dimension}", "")
    poles += _directions(
        POSITION, AttributeKind.PATTERN, "position", "takes what stands first", "reads on past the first"
    )
    return tuple(poles)


# All sides that have words, in their order in a slim skill.
DIRECTIONS: Final[tuple[Direction, ...]] = _all_directions()
DIRECTION_OF: Final[Mapping[str, Direction]] = {pole.attribute_id: pole for pole in DIRECTIONS}
DIRECTION_ORDER: Final[Mapping[str, int]] = {pole.attribute_id: place for place, pole in enumerate(DIRECTIONS)}
# The closed vocabulary: dimension and value of every habit line.
VALUES: Final = frozenset((pole.dimension, pole.value) for pole in DIRECTIONS)


def is_habit(line: Attribute) -> bool:
    """True if a line is a habit: counted by code, never judged by models."""
    return line.attribute_id in DIRECTION_OF
