"""What counts how much in a ranking: the start values, from which a domain's own are learned (`operators.weigh`)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from re import compile as pattern
from types import MappingProxyType

UNKNOWN = "unknown"
"""Under which dimensions count that have no weight of their own."""
START_DIMENSIONS: Mapping[str, float] = MappingProxyType(
    {
        "city": 3.4,
        "author": 2.0,
        "director": 1.4,
        "area": 1.0,
        "year": 1.0,
        "rating": 0.8,
        "actor": 0.7,
        "genre": 0.65,
        "category": 0.5,
        "country": 0.5,
        UNKNOWN: 0.5,
        "era": 0.4,
        "ambience": 0.4,
        "price": 0.3,
        "qualifier": 0.3,
        "keyword": 0.25,
        "meal": 0.2,
        "mood": 0.15,
    }
)
"""How much a line of a dimension decides, over everybody; docs/quality.md says how found."""
_NAME = pattern(r"[a-z0-9][a-z0-9_-]{0,39}")


@dataclass(frozen=True)
class RankWeights:
    """What counts how much.

    Attributes:
        skill: the lines of the skill.
        companions: what others took together with what this user took, in standard deviations of the list.
        popularity: how many took the candidate at all, likewise.
        facets: the attributes that the neighbourhood's facets name, likewise.
        dimensions: what a line counts, by its dimension; `unknown` is for those that are not in it.
    """

    skill: float = 1.0
    companions: float = 0.7
    popularity: float = 0.3
    facets: float = 0.1
    dimensions: Mapping[str, float] = field(default_factory=lambda: START_DIMENSIONS, hash=False)

    def of(self, dimension: str) -> float:
        """What a line of this dimension counts.

        >>> RankWeights().of("author"), RankWeights().of("Shoe size")
        (2.0, 0.5)
        """
        return self.dimensions.get(dimension, self.dimensions.get(UNKNOWN, START_DIMENSIONS[UNKNOWN]))


DEFAULT_WEIGHTS = RankWeights()


@lru_cache(maxsize=4_096)
def weighed_as(dimension: str) -> str:
    """The name under which a dimension's weight is learned: item data may call dimensions whatever it likes.

    >>> weighed_as("author"), weighed_as("Shoe size")
    ('author', 'unknown')
    """
    return dimension if _NAME.fullmatch(dimension) else UNKNOWN
