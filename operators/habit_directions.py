"""The directions of habits, such as dearer, in our own words."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from operators.attributes import CREATORS, attribute_id
from operators.numbers import NO_NUMBERS, Numbers
from schemas import AttributeKind, Measure


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


def _all_directions() -> Iterator[Direction]:
    criterion, pattern = AttributeKind.CRITERION, AttributeKind.PATTERN
    measured = ((Measure.POPULARITY, "goes with what is popular", "picks what few others take"),)
    axes = [(each.value, criterion, f"by_{each.value}", up, down) for each, up, down in measured]
    axes.append((REQUEST, criterion, "request", "follows the request closely", "looks past the request"))
    for dimension, plural in {**CREATORS, **CLASSES}.items():
        new = f"explores many {plural}" if dimension in CLASSES else f"explores new {plural}"
        axes.append((KNOWN_PREFIX + dimension, pattern, "exploration", f"stays with favourite {plural}", new))
    axes.append((AGAIN, pattern, "exploration", "returns to earlier choices", "picks what is new"))
    axes += [(BY_PREFIX + dimension, criterion, "decision", f"decides by {dimension}", "") for dimension in DECIDING]
    axes.append((POSITION, pattern, "position", "takes what stands first", "reads on past the first"))
    for axis, kind, dimension, up, down in axes:
        yield Direction(axis, True, kind, dimension, up, attribute_id(kind, dimension, up))
        if down:
            yield Direction(axis, False, kind, dimension, down, attribute_id(kind, dimension, down))


# All sides that have words, in their order in a slim skill.
DIRECTIONS: Final = tuple(_all_directions())
DIRECTION_OF: Final[Mapping[str, Direction]] = {pole.attribute_id: pole for pole in DIRECTIONS}
DIRECTION_ORDER: Final[Mapping[str, int]] = {pole.attribute_id: place for place, pole in enumerate(DIRECTIONS)}
# The closed vocabulary: dimension and value of every habit line.
VALUES: Final = frozenset((pole.dimension, pole.value) for pole in DIRECTIONS)


# The words for less and for more of a number; others are named.
NUMBER_WORDS: Final[Mapping[str, tuple[str, str]]] = {
    Measure.PRICE.value: ("cheaper", "dearer"),
    Measure.YEAR.value: ("older", "newer"),
    Measure.RATING.value: ("lower rated", "better rated"),
    Measure.DISTANCE.value: ("nearer", "farther"),
    Measure.LENGTH.value: ("shorter", "longer"),
}
NUMBER_ENDING: Final = " first"
_NUMBER_ID: Final = f"{AttributeKind.CRITERION.value}:{BY_PREFIX}"


def number_words(name: str, more: bool, numbers: Numbers = NO_NUMBERS) -> str:
    """Return the words of a line: the domain's, or ours.

    >>> number_words("price", False), number_words("legroom_cm", True), number_words("changes", False)
    ('cheaper first', 'more legroom cm first', 'fewer changes first')
    """
    spaced = name.replace("_", " ")
    less = "fewer" if name.endswith("s") else "less"
    ours = NUMBER_WORDS.get(name, (f"{less} {spaced}", f"more {spaced}"))[more]
    declared = numbers.get(name)
    own = declared and (declared.more if more else declared.less)
    return f"{own or ours}{NUMBER_ENDING}"


@lru_cache(maxsize=65_536)
def is_number_line(attribute_id: str) -> bool:
    """True for the id of a line about a number, such as `cheaper first`."""
    return attribute_id.startswith(_NUMBER_ID) and attribute_id not in DIRECTION_OF


@lru_cache(maxsize=65_536)
def is_habit(attribute_id: str) -> bool:
    """True for the id of a habit or of a number's line: counted by code, never judged by models."""
    return attribute_id in DIRECTION_OF or attribute_id.startswith(_NUMBER_ID)
