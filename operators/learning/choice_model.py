"""How a list is scored: the person's tastes and trade-offs, the domain's, and the community's.

The score of an item is a sum. Its weights, and the chance of each item, follow from the same sum, so ranking
and learning cannot differ.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from operators.attributes import RankedLine, fact_places
from operators.learning.evidence import signed_strength
from operators.learning.none_taken import NOTHING
from operators.learning.tradeoffs import NumberRow, number_rows, personal_weights
from operators.weights import DEFAULT_WEIGHTS, RankWeights, number_dimension, softmax
from schemas import AttributeKind, Features, ItemFacts, Mix
from schemas.diffs import NumberSums
from schemas.weights import FEATURE_ONE

_TINY = 1e-9
_PATTERN = AttributeKind.PATTERN


@dataclass(frozen=True)
class ListFeatures:
    """The features of one list, each row in the items' order.

    `dimensions` are log-odds by the skill's lines, and the distances of numbers by how the person differs from the
    domain. `numbers` are the distances alone, `scales` their units and variances; `tastes` are log-odds by the
    facts that the domain takes more often than it is shown. Community rows are in standard deviations.
    """

    size: int
    dimensions: Mapping[str, Sequence[float]] = field(default_factory=dict)
    numbers: Mapping[str, Sequence[float]] = field(default_factory=dict)
    scales: Mapping[str, NumberRow] = field(default_factory=dict)
    personal: Mapping[str, float] = field(default_factory=dict)
    tastes: Sequence[float] = ()
    companions: Sequence[float] = ()
    popularity: Sequence[float] = ()
    facets: Sequence[float] = ()
    # The places of the items that have a fact.
    places: Mapping[str, Sequence[int]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        items: Sequence[ItemFacts],
        attributes: Sequence[RankedLine] = (),
        facets: Mapping[str, float] | None = None,
        companions: Mapping[str, float] | None = None,
        popularity: Mapping[str, int] | None = None,
        *,
        weights: RankWeights = DEFAULT_WEIGHTS,
        sums: NumberSums | None = None,
    ) -> "ListFeatures":
        """Compute the features of these items.

        `facets` are weights by attribute id. By item id, `companions` score how often others took it with the user's
        items, and `popularity` counts recent takers. `sums` are the person's evidence on numbers.
        """
        facets, companions, popularity = facets or {}, companions or {}, popularity or {}
        places = fact_places(items)
        size, numbers = len(items), number_rows(items, weights.usual)
        rows = {name: number.distances for name, number in numbers.items()}
        personal = personal_weights(list(numbers), weights.numbers, sums)
        return cls(
            size,
            _liked(places, attributes, size)
            | {
                number_dimension(name): [(personal[name] - weights.numbers.get(name, 0.0)) * value for value in row]
                for name, row in rows.items()
                if sums is not None
            },
            rows,
            numbers,
            personal,
            _summed(places, weights.tastes_of(places), size) if weights.fact_counts else (),
            _standard([companions.get(item.item_id, 0.0) for item in items]) if companions else (),
            _standard([math.log1p(popularity.get(item.item_id, 0)) for item in items]) if popularity else (),
            _standard(_summed(places, facets, size)) if facets else (),
            places,
        )

    def community(self, weights: RankWeights) -> list[float]:
        """Return the community's score of each item."""
        rows = (self.companions, self.popularity, self.facets)
        parts = zip((weights.companions, weights.popularity, weights.facets), rows, strict=True)
        return self._added([(weight, row) for weight, row in parts if row])

    def evidence(self, weights: RankWeights) -> list[float]:
        """Return the score of each item by the person's skill, before the weight of skills."""
        return self._added([(weights.of(name), row) for name, row in self.dimensions.items()])

    def scores(self, weights: RankWeights) -> list[float]:
        """Return the score of each item by the person's skill, and by the domain's numbers and tastes."""
        rows = [(weights.skill * weights.of(name), row) for name, row in self.dimensions.items()]
        rows += [(weights.numbers.get(name, 0.0), row) for name, row in self.numbers.items()]
        return self._added([*rows, (weights.tastes, self.tastes)] if self.tastes else rows)

    def probabilities(self, weights: RankWeights) -> list[float]:
        """Return the chance of each item by skill and domain, without the community."""
        return softmax(self.scores(weights))

    def blind_probabilities(self, weights: RankWeights) -> list[float]:
        """Return the chance of each item for a person who does not look at it."""
        row = self.numbers.get(NOTHING, [0.0] * self.size)
        return softmax([weights.numbers.get(NOTHING, 0.0) * value for value in row])

    def number_weights(self, weights: RankWeights) -> dict[str, float]:
        """Return the weight of each number in the score."""
        domain = {name: weights.numbers.get(name, 0.0) for name in self.numbers}
        return {
            name: shared + weights.skill * weights.of(number_dimension(name)) * (self.personal[name] - shared)
            for name, shared in domain.items()
        }

    def to_event(self, order: Sequence[int], weights: RankWeights = DEFAULT_WEIGHTS) -> Features:
        """Return the prediction and the community's features in fixed point."""
        rows = {Mix.COMPANIONS: self.companions, Mix.POPULARITY: self.popularity, Mix.FACETS: self.facets}
        chances = self.probabilities(weights)
        return Features.trusted(
            # Within the bounds: of a hundred items, none is farther than ten standard deviations from their mean.
            mix={
                part: tuple([round(FEATURE_ONE * row[place]) for place in order])
                for part, row in rows.items()
                if len(set(row)) > 1
            },
            chances=tuple([round(FEATURE_ONE * chances[place]) for place in order]),
            numbers={
                name: (round(FEATURE_ONE * weight), self.scales[name].unit)
                for name, weight in self.number_weights(weights).items()
            },
        )

    def _added(self, weighed: Iterable[tuple[float, Sequence[float]]]) -> list[float]:
        total = [0.0] * self.size
        for weight, row in weighed:
            total = [value + weight * more for value, more in zip(total, row, strict=True)]
        return total


def _standard(values: Sequence[float]) -> list[float]:
    if not values:
        return []
    # fsum: with plain sums, the order of the candidates would break ties.
    mean = math.fsum(values) / len(values)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
    if spread <= _TINY * max(map(abs, values)):
        return [0.0] * len(values)
    return [(value - mean) / spread for value in values]


def _liked(having: Mapping[str, Sequence[int]], attributes: Sequence[RankedLine], size: int) -> dict[str, list[float]]:
    rows: dict[str, list[float]] = {}
    for line in attributes:
        places = having.get(line.attribute_id)
        if places and line.kind is not _PATTERN and (value := signed_strength(line)):
            row = rows.get(line.dimension)
            if row is None:
                row = rows[line.dimension] = [0.0] * size
            for place in places:
                row[place] += value
    return {dimension: row for dimension, row in rows.items() if any(row)}


def _summed(having: Mapping[str, Sequence[int]], values: Mapping[str, float], size: int) -> list[float]:
    # fsum: the order of an item's facts must not break ties.
    parts: list[list[float]] = [[] for _ in range(size)]
    for name, value in values.items():
        for place in having.get(name, ()):
            parts[place].append(value)
    return list(map(math.fsum, parts))
