"""The start weights of a ranking, from which a domain's own are learned (`operators.weigh`)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

DIMENSIONS: Mapping[str, float] = {
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
    "by_price": 1.0,
    "by_year": 1.0,
    "by_rating": 1.0,
    "by_popularity": 1.0,
    "by_distance": 1.0,
    "by_length": 1.0,
    "exploration": 1.0,
}
"""How much a dimension decides, over everybody; fitted on five data sets (docs/quality.md)."""
UNKNOWN_DIMENSION = 0.5
UNKNOWN = "unknown"
"""Name of the weight of all dimensions without one of their own."""
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


@dataclass(frozen=True)
class RankWeights:
    """The weights of a ranking's sum; docs/quality.md has how they were found.

    `skill` weighs log-odds, on one scale for all lists; companions, popularity and facets weigh standard deviations
    inside a list. `dimensions` are factors on the skill's lines; a dimension without one has that of `unknown`.
    """

    skill: float = 1.0
    companions: float = 0.7
    popularity: float = 0.3
    facets: float = 0.1
    dimensions: Mapping[str, float] = field(default_factory=lambda: DIMENSIONS, hash=False)

    def of(self, dimension: str) -> float:
        """Return the factor on the lines of a dimension."""
        factor = self.dimensions.get(dimension)
        return self.dimensions.get(UNKNOWN, UNKNOWN_DIMENSION) if factor is None else factor


DEFAULT_WEIGHTS = RankWeights()


@lru_cache(maxsize=4_096)
def weighed_as(dimension: str) -> str:
    """Return the name under which a dimension's weight is learned: item data may call dimensions whatever it likes."""
    return dimension if _NAME.fullmatch(dimension) else UNKNOWN
