"""The ranker without a model: request, then stated preferences, then one weighted sum.

The paper lets the skill break ties between facets (C.3). Sums of real numbers almost never tie, so strict tiers would
silence the skill: only the person's own words are tiers here (docs/decisions.md).
"""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from operators.language.words import keywords
from operators.rank.constraints import NO_CONSTRAINTS, Constraints
from operators.rank.features import ListFeatures
from operators.weights import DEFAULT_WEIGHTS, RankWeights
from schemas import Attribute, Facet, ItemFacts


@dataclass(frozen=True)
class Score:
    """A candidate's score: tiers of the person's words, then the sum of all else."""

    instruction: float
    facets: float
    skill: float
    suits: float = 0.0
    against: bool = False
    preferred: tuple[int, ...] = ()

    @property
    def best_first(self) -> tuple[bool, float, tuple[int, ...], float]:
        """The sort key."""
        return self.against, -self.instruction, self.preferred, -(self.facets + self.skill + self.suits)


def rank(
    candidates: Sequence[ItemFacts],
    attributes: Sequence[Attribute] = (),
    instruction: str = "",
    facets: Mapping[str, float] | None = None,
    seed: str = "",
    *,
    companions: Mapping[str, float] | None = None,
    popularity: Mapping[str, int] | None = None,
    weights: RankWeights = DEFAULT_WEIGHTS,
) -> list[tuple[ItemFacts, Score]]:
    """Rank candidates by a skill's lines and the community, in a strict order.

    `facets` are weights by attribute id. By item id, `companions` score how often others took it with the user's items,
    and `popularity` counts recent takers. The seed breaks ties.
    """
    spoken = ListFeatures.of(candidates, attributes, facets, companions, popularity)
    return rank_by_features(candidates, spoken, instruction, seed, weights)


def rank_by_features(
    candidates: Sequence[ItemFacts],
    spoken: ListFeatures,
    instruction: str = "",
    seed: str = "",
    weights: RankWeights = DEFAULT_WEIGHTS,
    said: Constraints = NO_CONSTRAINTS,
) -> list[tuple[ItemFacts, Score]]:
    """Rank candidates by their features, best first, each with its score."""
    request_words = keywords(instruction)
    community, skill = spoken.community(weights, len(candidates)), spoken.skill(weights, len(candidates))
    scored = []
    for item, facets, liked in zip(candidates, community, skill, strict=True):
        name = item.item_id
        suits, is_against = said.suits.get(name, 0.0), name in said.against
        score = Score(instruction_match(item, request_words), facets, liked, suits, is_against, said.first(name))
        scored.append((item, score))
    # Reproducible, not secret.
    random.Random(seed).shuffle(scored)  # noqa: S311
    scored.sort(key=lambda each: each[1].best_first)
    return scored


def facet_weights(facets: Iterable[Facet]) -> dict[str, float]:
    """Return the confidence of facets by attribute id."""
    return {facet.attribute_id: facet.confidence for facet in facets if facet.attribute_id}


def instruction_match(item: ItemFacts, request_words: frozenset[str]) -> float:
    """Return how well an item matches the words of a request."""
    if not request_words:
        return 0.0
    matched = sum(1.0 for fact in item.facts if (said := keywords(fact.value)) and said <= request_words)
    return matched + sum(0.5 for _ in keywords(item.title) & request_words)
