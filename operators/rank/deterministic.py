"""The ranker that needs no LLM: what was asked for first, then the community and the skill, weighed against each other.

The paper has a model go by the instruction, then the facets, and let the skill break ties (C.3): words, of which too
many dilute its attention. A sum has no attention to dilute, and sums of real numbers almost never tie, so that strict
tiers would silence the skill. So only the instruction is a tier of its own; what the community says, in standard scores
inside the list, and what the skill's evidence says are added: docs/decisions/0015-weighing-in-a-ranking.md.
"""

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from operators.attributes import fact_id
from operators.evidence import strength
from operators.habits import habit_scores
from operators.rank.weights import DEFAULT_WEIGHTS, RankWeights
from operators.words import words
from schemas import Attribute, Facet, ItemFacts, Kind

_TINY = 1e-9


@dataclass(frozen=True)
class Score:
    """One candidate's score: compared by instruction, then by the sum of the other two.

    Attributes:
        instruction: how much of what was asked for the candidate has.
        facets: what the community says for it, in standard deviations of the list, weighed.
        skill: what the skill's lines say for it, weighed.
    """

    instruction: float
    facets: float
    skill: float

    @property
    def best_first(self) -> tuple[float, float]:
        """The key by which candidates are sorted."""
        return -self.instruction, -(self.facets + self.skill)


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
    """The candidates, best first, each with its score; no two share a place.

    Args:
        candidates: what is to be ranked, parsed.
        attributes: the skill's lines: what they like, and how they decide.
        instruction: the user's own words.
        facets: collaborative context: weight per attribute id.
        seed: decides between candidates that tie, so that no place in the input is favoured.
        companions: collaborative context: per item id, how strongly others took it together with what this user took.
        popularity: collaborative context: per item id, how many users took it lately.
        weights: what counts how much.
    """
    asked = words(instruction)
    community = [
        math.fsum(parts)
        for parts in zip(
            *(
                _standard(values, weight)
                for values, weight in (
                    (_companioned(candidates, companions or {}), weights.companions),
                    (_popular(candidates, popularity or {}), weights.popularity),
                    (_named(candidates, facets or {}), weights.facets),
                )
            ),
            strict=True,
        )
    ]
    habits = habit_scores(candidates, attributes, popularity, weights.of)
    skill = [
        said + weights.skill * decided
        for said, decided in zip(_liked(candidates, attributes, weights), habits, strict=True)
    ]
    scored = [
        (item, Score(_instructed(item, asked), said, liked))
        for item, said, liked in zip(candidates, community, skill, strict=True)
    ]
    # Not for secrecy: a shuffle that the same seed repeats.
    random.Random(seed).shuffle(scored)  # noqa: S311
    scored.sort(key=lambda each: each[1].best_first)
    return scored


def facet_weights(facets: Iterable[Facet]) -> dict[str, float]:
    """What the facets of a user count in a ranking, by attribute id."""
    return {facet.attribute_id: facet.confidence for facet in facets if facet.attribute_id}


def _standard(values: Sequence[float], weight: float) -> list[float]:
    """The values as standard scores of the list, times the weight; zeros where all are equal."""
    if not values:
        return []
    # fsum: with plain sums, the order of the candidates would break ties.
    mean = math.fsum(values) / len(values)
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
    if spread <= _TINY * max(map(abs, values)):
        return [0.0] * len(values)
    return [weight * ((value - mean) / spread) for value in values]


def _companioned(candidates: Sequence[ItemFacts], companions: Mapping[str, float]) -> list[float]:
    return [companions.get(item.item_id, 0.0) for item in candidates]


def _popular(candidates: Sequence[ItemFacts], popularity: Mapping[str, int]) -> list[float]:
    return [math.log1p(popularity.get(item.item_id, 0)) for item in candidates]


def _named(candidates: Sequence[ItemFacts], facets: Mapping[str, float]) -> list[float]:
    return [math.fsum(facets.get(name, 0.0) for name in _ids(item)) for item in candidates]


def _liked(candidates: Sequence[ItemFacts], attributes: Sequence[Attribute], weights: RankWeights) -> list[float]:
    """What the lines say for each candidate: how much oftener than expected its facts were taken, by what decides."""
    said = {
        line.attribute_id: weights.skill * weights.of(line.dimension) * strength(line)
        for line in attributes
        if line.kind is not Kind.PATTERN
    }
    return [math.fsum(said.get(name, 0.0) for name in _ids(item)) for item in candidates]


def _instructed(item: ItemFacts, asked: frozenset[str]) -> float:
    if not asked:
        return 0.0
    matched = sum(1.0 for fact in item.facts if (said := words(fact.value)) and said <= asked)
    return matched + sum(0.5 for _ in words(item.title) & asked)


def _ids(item: ItemFacts) -> set[str]:
    return {fact_id(fact) for fact in item.facts}
