"""The ranker without a model: request, stated preferences, then a weighted sum.

The paper lets the skill break ties between facets (C.3). Sums of real numbers almost never tie, so strict tiers would
silence the skill: only the person's own words are tiers here (docs/decisions.md).
"""

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from operators.language.words import keywords
from operators.learning.choice_model import ListFeatures
from operators.stated import statements_for
from operators.weights import DEFAULT_WEIGHTS, RankWeights
from schemas import Facet, Fit, ItemFacts, Scope, Statement

# Weight of the log chance that a candidate suits: it must outweigh tastes.
SUITS_WEIGHT = 4.0
_LEAST = 0.001
# Most specific first: a statement for now overrides one for the session, and that a lasting one.
_SCOPES = (Scope.NOW, Scope.SESSION, Scope.ALWAYS)


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
        for item, shared, liked in zip(candidates, features.community(weights), features.scores(weights), strict=True)
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
