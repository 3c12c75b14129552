"""What counts how much in a ranking."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

DIMENSIONS: Mapping[str, float] = MappingProxyType(
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
        "era": 0.4,
        "ambience": 0.4,
        "price": 0.3,
        "qualifier": 0.3,
        "keyword": 0.25,
        "meal": 0.2,
        "mood": 0.15,
    }
)
"""How much a dimension decides, over everybody; fitted on five data sets (docs/quality.md)."""
UNKNOWN_DIMENSION = 0.5


@dataclass(frozen=True)
class RankWeights:
    """What counts how much; docs/quality.md says how found.

    Attributes:
        skill: the lines of the skill, by what their evidence says: on one scale for all lists.
        companions: what others took together with what this user took, in standard deviations inside the list.
        popularity: how many took the candidate at all, likewise.
        facets: the attributes that the neighbourhood's facets name, likewise.
        dimensions: a factor on the skill's lines by dimension; one that is not there has `UNKNOWN_DIMENSION`.
    """

    skill: float = 1.0
    companions: float = 0.7
    popularity: float = 0.3
    facets: float = 0.1
    dimensions: Mapping[str, float] = field(default_factory=lambda: DIMENSIONS)

    def of(self, dimension: str) -> float:
        """The factor on the lines of a dimension."""
        return self.dimensions.get(dimension, UNKNOWN_DIMENSION)


DEFAULT_WEIGHTS = RankWeights()
