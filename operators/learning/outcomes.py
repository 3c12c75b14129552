"""The lesson of a choice for its domain's weights, without the person, the items and words (decision 0021)."""

import hmac
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeVar

from operators.attributes import fact_ids
from operators.learning.choice_model import ListFeatures
from operators.learning.none_taken import NOTHING, as_choice, is_left_as_a_whole
from operators.learning.questions import shown_items
from operators.learning.tradeoffs import list_moments
from operators.seals import derived_key
from operators.weights import RankWeights, fact_digest, softmax, weighed_as
from schemas import FEATURE_ONE, MAX_FEATURE, Abstention, Contrast, ItemFacts, PolicySkill
from schemas.weights import (
    MAX_OUTCOME_DIMENSIONS,
    MAX_OUTCOME_FACTS,
    MAX_OUTCOME_NUMBERS,
    Mix,
    RankingOutcome,
    WeightEvidence,
)

_NameT = TypeVar("_NameT", bound=str)
# So many choices of a person count fully, and the k-th one after them `FULL_CHOICES / k`.
FULL_CHOICES = 32
_MAX_FIXED_SLOPE, _MAX_FIXED_VARIANCE = 2 * MAX_FEATURE * FEATURE_ONE, MAX_FEATURE * MAX_FEATURE * FEATURE_ONE


def outcome_of(
    event: Contrast | Abstention, skill: PolicySkill, weights: RankWeights, nth: int, weights_version: int
) -> RankingOutcome | None:
    """Compute the outcome of the person's `nth` choice by the skill before it; None if it teaches no weights.

    Every list teaches the weights of numbers and the domain's tastes. Those of skill and community learn from our own
    rankings only: an app could name any order.
    """
    contrast = as_choice(event)
    ours = contrast.features
    if contrast.also or (ours is None and contrast.instruction) or is_left_as_a_whole(contrast):
        return None
    items, chosen = shown_items(contrast)
    features = ListFeatures.of(items, skill.attributes, weights=weights, sums=skill.numbers)
    community = None
    if ours is not None:
        community = {part: [value / FEATURE_ONE for value in row] for part, row in ours.mix.items()}
    share = min(1.0, FULL_CHOICES / max(1, nth))
    # A repeat gets the same id, which only the secret computes.
    digest = hmac.digest(derived_key(weights.secret, RankingOutcome.TOPIC), contrast.event_id.encode(), "sha256")
    return RankingOutcome(
        event_id=digest.hex()[:32],
        occurred_at=contrast.occurred_at.replace(minute=0, second=0, microsecond=0),
        domain=contrast.domain,
        weights_version=weights_version,
        moments=list_moments(items, _averaged(items, features)),
        tastes=_fact_counts(items, chosen, features.blind_chances(weights), share, weights.secret),
        **weight_evidence(features, community, chosen, weights, share)._asdict(),
    )


class WeightEvidences(NamedTuple):
    """A choice's evidence for the weights of a domain."""

    mix: dict[Mix, WeightEvidence]
    dimensions: dict[str, WeightEvidence]
    numbers: dict[str, WeightEvidence]


def weight_evidence(
    features: ListFeatures,
    community: Mapping[Mix, Sequence[float]] | None,
    chosen: int,
    weights: RankWeights,
    share: float = 1.0,
) -> WeightEvidences:
    """Compute a choice's evidence for each weight; `share` is its part of a whole choice.

    `community` has the rows of our own ranking; None for another's, which teaches numbers and tastes only.
    """
    rows: dict[Mix, Sequence[float]] = {Mix.TASTES: features.tastes} if len(set(features.tastes)) > 1 else {}
    scores, dimensions = [features.skill(weights), features.domain(weights)], {}
    if community is not None:
        rows |= community
        scores += [[getattr(weights, part) * value for value in row] for part, row in community.items()]
        dimensions = _dimensions(features, weights)
        if dimensions:
            rows[Mix.SKILL] = features.evidence(weights)
    shares = softmax([math.fsum(values) for values in zip(*scores, strict=True)])
    return WeightEvidences(
        _gradients(rows, {part: getattr(weights, part) for part in rows}, chosen, shares, share),
        _gradients(dimensions, {name: weights.of(name) for name in dimensions}, chosen, shares, share),
        _gradients(features.numbers, weights.numbers, chosen, shares, share),
    )


def _dimensions(features: ListFeatures, weights: RankWeights) -> dict[str, list[float]]:
    # A dimension's feature is its lines' strength times the skill's weight; only the largest are kept.
    named: dict[str, list[Sequence[float]]] = {}
    for name, row in features.dimensions.items():
        named.setdefault(weighed_as(name), []).append(row)
    added = {
        name: [weights.skill * math.fsum(values) for values in zip(*rows, strict=True)] for name, rows in named.items()
    }
    loudest = sorted(added, key=lambda name: (-max(map(abs, added[name])), name))[:MAX_OUTCOME_DIMENSIONS]
    return {name: added[name] for name in sorted(loudest)}


def _averaged(items: Sequence[ItemFacts], features: ListFeatures) -> list[str]:
    # The first list of one has no mean to be compared with, but it has one to begin with.
    names = set(items[0].measures) if NOTHING in features.numbers else set(features.numbers)
    return sorted(names - {NOTHING})[:MAX_OUTCOME_NUMBERS]


def _fact_counts(
    items: Sequence[ItemFacts], chosen: int, chances: Sequence[float], share: float, secret: bytes
) -> dict[str, tuple[int, int]]:
    # Facts that all items share tell nothing. Of more facts than there is room for, those with the least digests are
    # counted: the same ones in every list, whether taken or not.
    having: dict[str, int] = {}
    expected: dict[str, float] = {}
    for item, chance in zip(items, chances, strict=True):
        for name in set(fact_ids(item.facts)):
            having[name] = having.get(name, 0) + 1
            expected[name] = expected.get(name, 0.0) + chance
    taken = set(fact_ids(items[chosen].facts))
    counts = {
        fact_digest(name, secret): (
            round(FEATURE_ONE * share) if name in taken else 0,
            round(FEATURE_ONE * share * expected[name]),
        )
        for name, times in having.items()
        if times < len(items)
    }
    return dict(sorted(counts.items())[:MAX_OUTCOME_FACTS])


def _gradients(
    rows: Mapping[_NameT, Sequence[float]],
    at: Mapping[_NameT, float],
    chosen: int,
    shares: Sequence[float],
    share: float,
) -> dict[_NameT, WeightEvidence]:
    # Rows whose slope and variance are both 0 are left out.
    evidence: dict[_NameT, WeightEvidence] = {}
    for name, row in rows.items():
        mean = math.fsum(part * value for part, value in zip(shares, row, strict=True))
        variance = math.fsum(part * (value - mean) ** 2 for part, value in zip(shares, row, strict=True))
        curved = _fixed(share * variance, _MAX_FIXED_VARIANCE)
        slope = _fixed(share * (row[chosen] - mean), _MAX_FIXED_SLOPE)
        if slope or curved:
            evidence[name] = (slope + round(curved * at.get(name, 0.0)), curved)
    return evidence


def _fixed(value: float, most: int) -> int:
    return max(-most, min(most, round(value * FEATURE_ONE)))
