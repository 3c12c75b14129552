"""The ranker without a model: request, stated preferences, then a weighted sum.

The paper lets the skill break ties between facets (C.3). Sums of real numbers almost never tie, so strict tiers would
silence the skill: only the person's own words are tiers here (docs/decisions.md).
"""

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from operators.attributes import fact_id
from operators.language.words import keywords
from operators.learning.evidence import strength
from operators.learning.habits import habit_scores
from operators.stated import statements_for
from operators.weights import DEFAULT_WEIGHTS, RankWeights, weighed_as
from schemas import Attribute, AttributeKind, Facet, Features, Fit, ItemFacts, Mix, Scope, Statement
from schemas.weights import FEATURE_ONE, MAX_FEATURE, MAX_OUTCOME_DIMENSIONS

# Weight of the log chance that a candidate suits: it must outweigh tastes.
SUITS_WEIGHT = 4.0
_LEAST = 0.001
# Most specific first: a statement for now overrides one for the session, and that a lasting one.
_SCOPES = (Scope.NOW, Scope.SESSION, Scope.ALWAYS)
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


@dataclass(frozen=True)
class Constraints:
    """The person's statements about one list: avoided ones last, preferred ones first.

    `prefers` has sort keys by item id, the least first; `suits` the summand for the chance that a candidate suits.
    """

    against: frozenset[str] = frozenset()
    prefers: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    suits: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, items: Sequence[ItemFacts], statements: Sequence[Statement], fit: Fit | None) -> "Constraints":
        """Apply live, certain statements and the fit of these candidates."""
        if fit is None and not statements:
            return NO_CONSTRAINTS
        chances = fit.chances if fit is not None else (1.0,) * len(items)
        prefers: dict[str, tuple[int, ...]] = {item.item_id: _preference(item, statements) for item in items}
        return cls(
            frozenset(fit.against) if fit is not None else frozenset(),
            prefers if len(set(prefers.values())) > 1 else {},
            {i.item_id: SUITS_WEIGHT * math.log(max(c, _LEAST)) for i, c in zip(items, chances, strict=True)},
        )

    @property
    def decides(self) -> bool:
        """True if the statements distinguish candidates."""
        return bool(self.against or self.prefers) or len(set(self.suits.values())) > 1

    def apply(self, order: Sequence[str], instructed: Callable[[str], float]) -> tuple[str, ...]:
        """Sort a model's order by the statements."""

        def key(item_id: str) -> tuple[bool, float, tuple[int, ...]]:
            is_against = item_id in self.against
            return (is_against, -instructed(item_id), self.prefers[item_id]) if self.prefers else (is_against, 0.0, ())

        return tuple(sorted(order, key=key))


NO_CONSTRAINTS = Constraints()


def _preference(item: ItemFacts, statements: Sequence[Statement]) -> tuple[int, ...]:
    """Count statements about a candidate by scope; the newest breaks ties."""
    spoken = statements_for(item, statements)
    by_scope = [-sum(sign for each, sign in spoken if each.scope is scope) for scope in _SCOPES]
    return (*by_scope, -max((each.since for each, sign in spoken if sign > 0), default=0))


@dataclass(frozen=True)
class Score:
    """A candidate's score: tiers of the person's words, then a sum."""

    instruction: float
    facets: float
    skill: float
    suits: float = 0.0
    against: bool = False
    preferred: tuple[int, ...] = ()


def rank(
    candidates: Sequence[ItemFacts],
    features: ListFeatures,
    instruction: str = "",
    seed: str = "",
    weights: RankWeights = DEFAULT_WEIGHTS,
    constraints: Constraints = NO_CONSTRAINTS,
) -> list[tuple[ItemFacts, Score]]:
    """Rank candidates, best first, each with its score; the seed breaks ties."""
    request_words = keywords(instruction)
    community, skill = features.community(weights, len(candidates)), features.skill(weights, len(candidates))
    scored = [
        (
            item,
            Score(
                instruction_match(item, request_words),
                shared,
                liked,
                constraints.suits.get(item.item_id, 0.0),
                item.item_id in constraints.against,
                constraints.prefers.get(item.item_id, ()),
            ),
        )
        for item, shared, liked in zip(candidates, community, skill, strict=True)
    ]
    # Reproducible, not secret.
    random.Random(seed).shuffle(scored)  # noqa: S311
    scored.sort(key=lambda each: _best_first(each[1]))
    return scored


def _best_first(score: Score) -> tuple[bool, float, tuple[int, ...], float]:
    return score.against, -score.instruction, score.preferred, -(score.facets + score.skill + score.suits)


def facet_weights(facets: Iterable[Facet]) -> dict[str, float]:
    """Return the confidence of facets by attribute id."""
    return {facet.attribute_id: facet.confidence for facet in facets if facet.attribute_id}


def instruction_match(item: ItemFacts, request_words: frozenset[str]) -> float:
    """Return how well an item matches the words of a request."""
    matched = sum(1.0 for fact in item.facts if (named := keywords(fact.value)) and named <= request_words)
    return matched + 0.5 * len(keywords(item.title) & request_words)
