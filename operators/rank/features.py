"""Features of candidates, whose weights are learned from choices."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from operators.attributes import fact_id
from operators.learning.evidence import strength
from operators.learning.habits import habit_scores
from operators.weights import RankWeights, weighed_as
from schemas import Attribute, AttributeKind, Features, ItemFacts, Mix
from schemas.weights import FEATURE_ONE, MAX_FEATURE, MAX_OUTCOME_DIMENSIONS

_TINY = 1e-9
_MOST = MAX_FEATURE * FEATURE_ONE


@dataclass(frozen=True)
class ListFeatures:
    """The features of one list, each row in the candidates' order.

    Community rows are in standard deviations; `dimensions` are log-odds by the skill's lines.
    """

    companions: Sequence[float] = ()
    popularity: Sequence[float] = ()
    facets: Sequence[float] = ()
    dimensions: Mapping[str, Sequence[float]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        candidates: Sequence[ItemFacts],
        attributes: Sequence[Attribute] = (),
        facets: Mapping[str, float] | None = None,
        companions: Mapping[str, float] | None = None,
        popularity: Mapping[str, int] | None = None,
    ) -> "ListFeatures":
        """Compute the features of these candidates.

        `facets` are weights by attribute id. By item id, `companions` score how often others took it with the user's
        items, and `popularity` counts recent takers.
        """
        facets, companions, popularity = facets or {}, companions or {}, popularity or {}
        ids = [{fact_id(fact) for fact in item.facts} for item in candidates]
        return cls(
            _standard([companions.get(item.item_id, 0.0) for item in candidates]),
            _standard([math.log1p(popularity.get(item.item_id, 0)) for item in candidates]),
            _standard([math.fsum(facets.get(name, 0.0) for name in each) for each in ids]) if facets else (),
            _liked(ids, attributes) | habit_scores(candidates, attributes, popularity),
        )

    def community(self, weights: RankWeights, candidates: int) -> list[float]:
        """Return the community's score of each candidate."""
        rows = (self.companions, self.popularity, self.facets)
        parts = zip((weights.companions, weights.popularity, weights.facets), rows, strict=True)
        return _added([(weight, row) for weight, row in parts if row], candidates)

    def skill(self, weights: RankWeights, candidates: int) -> list[float]:
        """Return the skill's score of each candidate."""
        return _added([(weights.skill * weights.of(name), row) for name, row in self.dimensions.items()], candidates)

    def to_event(self, order: Sequence[int]) -> Features | None:
        """Return the features in fixed point; None if all candidates are equal.

        Only the dimensions with the largest values are kept.
        """
        mix = {Mix.COMPANIONS: self.companions, Mix.POPULARITY: self.popularity, Mix.FACETS: self.facets}
        named: dict[str, list[Sequence[float]]] = {}
        for name, row in self.dimensions.items():
            named.setdefault(weighed_as(name), []).append(row)
        loudest = sorted(named, key=lambda name: (-max(map(max, named[name])), name))[:MAX_OUTCOME_DIMENSIONS]
        features = Features(
            mix={part: _fixed(row, order) for part, row in mix.items() if len(set(row)) > 1},
            dimensions={
                name: _fixed(row, order)
                for name in sorted(loudest)
                if len(set(row := [math.fsum(values) for values in zip(*named[name], strict=True)])) > 1
            },
        )
        return features if features.candidates else None


def _fixed(row: Sequence[float], order: Sequence[int]) -> tuple[int, ...]:
    return tuple(max(-_MOST, min(_MOST, round(row[place] * FEATURE_ONE))) for place in order)


def _added(weighed: Sequence[tuple[float, Sequence[float]]], candidates: int) -> list[float]:
    parts = [[weight * value for value in row] for weight, row in weighed]
    return [math.fsum(values) for values in zip(*parts, strict=True)] if parts else [0.0] * candidates


def _standard(values: Sequence[float]) -> list[float]:
    if not values:
        return []
    # fsum: with plain sums, the order of the candidates would break ties.
    mean = math.fsum(values) / len(values)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
    if spread <= _TINY * max(map(abs, values)):
        return [0.0] * len(values)
    return [(value - mean) / spread for value in values]


def _liked(candidates: Sequence[set[str]], attributes: Sequence[Attribute]) -> dict[str, list[float]]:
    lines_by_dimension: dict[str, dict[str, float]] = {}
    for line in attributes:
        if line.kind is not AttributeKind.PATTERN and (value := strength(line)):
            lines_by_dimension.setdefault(line.dimension, {})[line.attribute_id] = value
    rows = {
        dimension: [math.fsum(lines[name] for name in ids & lines.keys()) for ids in candidates]
        for dimension, lines in lines_by_dimension.items()
    }
    return {dimension: row for dimension, row in rows.items() if any(row)}
