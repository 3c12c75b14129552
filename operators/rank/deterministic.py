"""The ranker that needs no LLM: the paper's three tiers, a lower one speaking only where the higher ones tie.

Facets are real numbers, and two sums of real numbers are almost never equal: taken as they are, they would leave the
skill no tie to break, although the paper has it break those between "equally relevant" candidates (C.3). So the facets
count in a few steps of the list's strongest; what lies on one step is equally relevant, and the skill decides. Only
what the skill leaves open too is decided by the exact sums, and what is left then by a seeded shuffle.
"""

import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from operators.attributes import fact_id, normalise
from schemas import Attribute, Facet, ItemFacts, Kind, Tier

TIER_WEIGHT = {Tier.LOW: 0.0, Tier.MEDIUM: 1.0, Tier.HIGH: 2.0}
LEVELS = 5
"""Candidates within a tenth of the strongest count as its equals: coarse enough for ties, fine enough for an order."""

FACET_WEIGHT = 0.1
"""What an attribute of full confidence counts beside a companion of full weight.

Most of what a facet says of attributes the skill holds too, and with more care; what others took together with this
user's items it cannot hold. Measured by replaying 600 users each: at 0.25 and more, attributes drown companions and
skill (Goodreads, MovieTV), at 0 Yelp loses, where companions are few.
"""

_TINY = 1e-300
_COMMON = frozenset(
    """
    a an and any are at be but for from have i in is it like me my of on or some something that the this to want with
    would you
    """.split()  # noqa: SIM905 - as prose it can be read
)


@dataclass(frozen=True)
class Score:
    """One candidate's score per tier; compared in this order.

    Attributes:
        instruction: how much of what was asked for the candidate has.
        facets: collaborative weight, rounded to the steps that count.
        skill: weight of the skill's lines that the candidate has.
    """

    instruction: float
    facets: float
    skill: float


def rank(
    candidates: Sequence[ItemFacts],
    attributes: Sequence[Attribute] = (),
    instruction: str = "",
    facets: Mapping[str, float] | None = None,
    seed: str = "",
    *,
    companions: Mapping[str, float] | None = None,
    levels: int = LEVELS,
) -> list[tuple[ItemFacts, Score]]:
    """The candidates, best first, each with its score; no two share a place.

    Args:
        candidates: what is to be ranked, parsed.
        attributes: the skill's lines; only medium and high ones count, as in the slim skill.
        instruction: the user's own words.
        facets: collaborative context: weight per attribute id.
        seed: decides between candidates that tie in all tiers, so that no place in the input is favoured.
        companions: collaborative context: per item id, from 0 to 1, how strongly others took it together with what
            this user took. Counts in the facets' tier.
        levels: in how many steps, of the strongest in the list, the facets' tier counts; 0: as it is, which leaves
            the skill only exact ties.
    """
    asked = words(instruction)
    weights = _distinguishing(
        candidates, {a.attribute_id: TIER_WEIGHT[a.tier] for a in attributes if a.kind is not Kind.PATTERN}
    )
    sums = [_collaborative(item, facets or {}, companions or {}) for item in candidates]
    # Numbers too small to be divided exactly count as they are.
    step = max(map(abs, sums), default=0.0) / levels if levels else 0.0
    scored = [
        (
            item,
            Score(
                _instructed(item, asked), round(exact / step) * step if step > _TINY else exact, _liked(item, weights)
            ),
            exact,
        )
        for item, exact in zip(candidates, sums, strict=True)
    ]
    # Not for secrecy: a shuffle that the same seed repeats.
    random.Random(seed).shuffle(scored)  # noqa: S311
    scored.sort(key=lambda each: (-each[1].instruction, -each[1].facets, -each[1].skill, -each[2]))
    return [(item, score) for item, score, _ in scored]


def facet_weights(facets: Iterable[Facet]) -> dict[str, float]:
    """What the facets of a user count in a ranking, by attribute id."""
    return {facet.attribute_id: FACET_WEIGHT * facet.confidence for facet in facets if facet.attribute_id}


@lru_cache(maxsize=8_192)
def words(text: str) -> frozenset[str]:
    """The words of a text that mean something by themselves.

    >>> sorted(words("Something like the Sci-Fi of 1984"))
    ['1984', 'fi', 'sci']
    """
    return frozenset(normalise(text).split("-")) - _COMMON - {""}


def _distinguishing(candidates: Sequence[ItemFacts], weights: Mapping[str, float]) -> dict[str, float]:
    """The weights as they count in this list: what most candidates share tells them apart the least."""
    having = Counter(name for item in candidates for name in _ids(item))
    return {
        name: weight * math.log((len(candidates) + 1) / having[name])
        for name, weight in weights.items()
        if having[name]
    }


def _instructed(item: ItemFacts, asked: frozenset[str]) -> float:
    if not asked:
        return 0.0
    matched = sum(1.0 for fact in item.facts if (said := words(fact.value)) and said <= asked)
    return matched + sum(0.5 for _ in words(item.title) & asked)


def _collaborative(item: ItemFacts, facets: Mapping[str, float], companions: Mapping[str, float]) -> float:
    # fsum: with a plain sum, the order of the facts would break ties that are the next tier's to break.
    return math.fsum([*(facets.get(name, 0.0) for name in _ids(item)), companions.get(item.item_id, 0.0)])


def _liked(item: ItemFacts, weights: Mapping[str, float]) -> float:
    return math.fsum(weights.get(name, 0.0) for name in _ids(item))


def _ids(item: ItemFacts) -> set[str]:
    return {fact_id(fact) for fact in item.facts}
