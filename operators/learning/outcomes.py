"""The lesson of a choice for its domain's weights, without the person, the items and words (decision 0021)."""

import hmac
import math
from collections.abc import Mapping, Sequence
from operator import mul
from typing import NamedTuple, TypeVar

from operators.attributes import ranked_lines
from operators.learning.choice_model import ListFeatures
from operators.learning.none_taken import NONE_ID, NOTHING, as_choice
from operators.learning.questions import shown_items
from operators.learning.tradeoffs import MAX_VARIANCE
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
    ours, is_longer_list_left = contrast.features, isinstance(event, Abstention) and len(event.shown) > 1
    if contrast.also or (ours is None and contrast.instruction) or is_longer_list_left:
        return None
    items, chosen = shown_items(contrast)
    features = ListFeatures.of(items, ranked_lines(skill), weights=weights, sums=skill.numbers)
    community = None
    if ours is not None:
        community = {part: [value / FEATURE_ONE for value in row] for part, row in ours.mix.items()}
    share = min(1.0, FULL_CHOICES / max(1, nth))
    # A repeat gets the same id, which only the secret computes.
    digest = hmac.digest(derived_key(weights.secret, RankingOutcome.TOPIC), contrast.event_id.encode(), "sha256")
    return RankingOutcome.trusted(
        event_id=digest.hex()[:32],
        occurred_at=contrast.occurred_at.replace(minute=0, second=0, microsecond=0),
        domain=contrast.domain,
        weights_version=weights_version,
        moments=_moments(items, features, int.from_bytes(digest[-4:]) / (1 << 32)),
        tastes=_fact_counts(features.places, chosen, features.blind_probabilities(weights), share, weights.secret),
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
    scores, dimensions = [features.scores(weights)], {}
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


def _moments(items: Sequence[ItemFacts], features: ListFeatures, draw: float) -> dict[str, tuple[int, int]]:
    """Return each number's variance and mean in a list, in 1/1024, with a draw from 0 to 1; taking none is no item."""
    scales = features.scales
    if NOTHING not in scales:
        found = {name: (number.variance, number.mean) for name, number in scales.items()}
    else:
        # The first list of one has no mean to be compared with, but it has one to begin with.
        shown = next(item.measures for item in items if item.item_id != NONE_ID)
        names = sorted(shown.keys() - {NOTHING})[:MAX_OUTCOME_NUMBERS]
        found = {name: (scales[name].variance if name in scales else 0.0, shown[name]) for name in names}
    return {
        name: (min(round(FEATURE_ONE * variance), MAX_VARIANCE), round(FEATURE_ONE * _two_digits(mean, draw)))
        for name, (variance, mean) in found.items()
    }


def _two_digits(mean: float, draw: float) -> float:
    """Round up as often as the rest is large, so that years near 1985 have this mean, and not 2000.

    All digits of the mean of a list of one would name the item.

    >>> [_two_digits(1985.0, draw) for draw in (0.1, 0.2)], _two_digits(30.0, 0.9)
    ([1900.0, 2000.0], 30.0)
    """
    if mean < 1 / FEATURE_ONE**2:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(mean)) - 1)
    return math.floor(mean / step + draw) * step


def _fact_counts(
    having: Mapping[str, Sequence[int]], chosen: int, chances: Sequence[float], share: float, secret: bytes
) -> dict[str, tuple[int, int]]:
    # Facts that all items share prove nothing. Of more facts than there is room for, those with the least digests are
    # counted: the same ones in every list, whether taken or not.
    size, whole = len(chances), FEATURE_ONE * share
    digests = sorted([(fact_digest(name, secret), places) for name, places in having.items() if len(places) < size])
    return {
        digest: (round(whole) if chosen in places else 0, round(whole * sum([chances[place] for place in places])))
        for digest, places in digests[:MAX_OUTCOME_FACTS]
    }


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
        mean = math.fsum(map(mul, shares, row))
        variance = math.fsum(map(mul, shares, [(value - mean) ** 2 for value in row]))
        curved = _fixed(share * variance, _MAX_FIXED_VARIANCE)
        slope = _fixed(share * (row[chosen] - mean), _MAX_FIXED_SLOPE)
        if slope or curved:
            evidence[name] = (slope + round(curved * at.get(name, 0.0)), curved)
    return evidence


def _fixed(value: float, most: int) -> int:
    return max(-most, min(most, round(value * FEATURE_ONE)))
