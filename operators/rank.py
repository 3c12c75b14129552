"""Rank (paper 2.4, C.3): a strict total order by instruction, then facets, then the skill as tie-breaker.

The deterministic ranker needs no LLM. It keeps the paper's three tiers: a lower tier speaks only where the
higher ones leave a tie.
"""

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from operators.attributes import fact_id, normalise
from schemas import Attribute, Candidate, ItemFacts, Kind, Tier

TIER_WEIGHT = {Tier.LOW: 0.0, Tier.MEDIUM: 1.0, Tier.HIGH: 2.0}
_COMMON = frozenset(
    """
    a an and any are at be but for from have i in is it like me my of on or some something that the this to want with
    would you
    """.split()  # noqa: SIM905 - as prose it can be read
)


@dataclass(frozen=True)
class Score:
    """One candidate's score per tier; compared in this order."""

    instruction: float
    facets: float
    skill: float


def rank(
    candidates: Sequence[ItemFacts],
    attributes: Sequence[Attribute] = (),
    instruction: str = "",
    facets: Mapping[str, float] | None = None,
    seed: str = "",
) -> list[tuple[ItemFacts, Score]]:
    """The candidates, best first, each with its score; no two share a place.

    Args:
        candidates: what is to be ranked, parsed.
        attributes: the skill's lines; only medium and high ones count, as in the slim skill.
        instruction: the user's own words.
        facets: collaborative context: weight per attribute id.
        seed: decides between candidates that tie in all tiers, so that no place in the input is favoured.
    """
    asked = _words(instruction)
    weights = _distinguishing(
        candidates, {a.attribute_id: TIER_WEIGHT[a.tier] for a in attributes if a.kind is not Kind.PATTERN}
    )
    scored = [(item, _score(item, asked, facets or {}, weights)) for item in candidates]
    # Not for secrecy: a shuffle that the same seed repeats.
    random.Random(seed).shuffle(scored)  # noqa: S311
    return sorted(scored, key=lambda pair: (-pair[1].instruction, -pair[1].facets, -pair[1].skill))


def _distinguishing(candidates: Sequence[ItemFacts], weights: Mapping[str, float]) -> dict[str, float]:
    """The weights as they count in this list: what most candidates share tells them apart the least."""
    having = Counter(name for item in candidates for name in {fact_id(fact) for fact in item.facts})
    return {
        name: weight * math.log((len(candidates) + 1) / having[name])
        for name, weight in weights.items()
        if having[name]
    }


def _score(item: ItemFacts, asked: frozenset[str], facets: Mapping[str, float], weights: Mapping[str, float]) -> Score:
    ids = {fact_id(fact) for fact in item.facts}
    matched = 0.0
    if asked:
        matched = sum(1.0 for fact in item.facts if (words := _words(fact.value)) and words <= asked)
        matched += sum(0.5 for _ in _words(item.title) & asked)
    return Score(
        instruction=matched,
        # fsum: with a plain sum, the order of the facts would break ties that are the next tier's to break.
        facets=math.fsum(facets.get(name, 0.0) for name in ids),
        skill=math.fsum(weights.get(name, 0.0) for name in ids),
    )


def _words(text: str) -> frozenset[str]:
    return frozenset(normalise(text).split("-")) - _COMMON - {""}


@dataclass(frozen=True)
class Repaired:
    """A permutation made whole, and how much had to be done to it."""

    order: tuple[str, ...]
    unknown: int
    repeated: int
    missing: int


def repair(order: Sequence[str], candidates: Sequence[Candidate | ItemFacts]) -> Repaired:
    """A ranking by a model made a permutation: unknown and repeated ids dropped, missing ones appended.

    >>> repair(["b", "x", "b"], [ItemFacts(item_id=i) for i in "ab"])
    Repaired(order=('b', 'a'), unknown=1, repeated=1, missing=1)
    """
    known = [candidate.item_id for candidate in candidates]
    kept = [name for name in dict.fromkeys(order) if name in known]
    missing = [name for name in known if name not in kept]
    unknown = sum(1 for name in order if name not in known)
    return Repaired((*kept, *missing), unknown, len(order) - unknown - len(kept), len(missing))
