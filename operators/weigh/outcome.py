"""What a choice says about the weights, without the person: its log-likelihood as a parabola in each weight.

A person takes a candidate with the probability `softmax(total score)`. The slope of a weight is then the taken
candidate's feature less what was to be expected, and the curvature the feature's variance over the list.
"""

import hmac
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from operators.habits import POLES
from operators.rank.weights import UNKNOWN, RankWeights
from operators.seals import derived_key
from schemas import Contrast
from schemas.weights import FEATURE_ONE, WIDEST, Features, Mix, Moved, Outcome

NameT = TypeVar("NameT", bound=str)

FULL_CHOICES = 32
"""So many choices of a person count fully, and the k-th one behind them `FULL_CHOICES / k`."""
_OURS = frozenset({UNKNOWN, *(pole.dimension for pole in POLES)})
_MOST_SLOPE, _MOST_VARIANCE = 2 * WIDEST * FEATURE_ONE, WIDEST * WIDEST * FEATURE_ONE


def outcome(
    features: Features,
    chosen: int,
    weights: RankWeights,
    nth: int,
    *,
    event_id: str,
    occurred_at: datetime,
    domain: str,
    weights_version: int,
) -> Outcome | None:
    """What a choice among these candidates says about weights; None where it says nothing."""
    if not 0 <= chosen < features.candidates:
        return None
    dimensions = {name: _real(row) for name, row in features.dimensions.items()}
    skill = _sum((weights.of(name), row) for name, row in dimensions.items())
    rows: dict[Mix, list[float]] = {Mix.SKILL: skill} if dimensions else {}
    rows |= {part: _real(row) for part, row in features.mix.items() if part is not Mix.SKILL}
    at: dict[str, float] = {part: getattr(weights, part.value) for part in rows}
    shares = _softmax(_sum((at[part], row) for part, row in rows.items()))
    share = min(1.0, FULL_CHOICES / max(1, nth))
    mix = _said(rows, at, chosen, shares, share)
    # The slope of a dimension's weight: what its lines say is multiplied by what the skill counts.
    scaled = {name: [weights.skill * value for value in row] for name, row in dimensions.items()}
    within = _said(scaled, {name: weights.of(name) for name in scaled}, chosen, shares, share)
    if not mix and not within:
        return None
    return Outcome(
        event_id=event_id,
        occurred_at=occurred_at.replace(minute=0, second=0, microsecond=0),
        domain=domain,
        weights_version=weights_version,
        mix=mix,
        dimensions=within,
    )


def outcome_of(
    contrast: Contrast,
    weights: RankWeights,
    nth: int,
    secret: bytes,
    weights_version: int,
) -> Outcome | None:
    """What a choice says about weights; None where it says nothing, or the app ordered the list by rules of its own.

    Dimensions have the names that item data gives them, or a habit: of a name that no item of the list has, nothing is
    told.
    """
    features = contrast.features
    if features is None or features.candidates != 1 + len(contrast.unchosen):
        return None
    listed = {fact.dimension for item in (contrast.chosen, *contrast.unchosen) for fact in item.facts} | _OURS
    if not features.dimensions.keys() <= listed:
        named = {name: row for name, row in features.dimensions.items() if name in listed}
        features = features.model_copy(update={"dimensions": named})
    return outcome(
        features,
        contrast.chosen_rank - 1,
        weights,
        nth,
        event_id=outcome_id(contrast, secret),
        occurred_at=contrast.occurred_at,
        domain=contrast.domain,
        weights_version=weights_version,
    )


def outcome_id(contrast: Contrast, secret: bytes) -> str:
    """The id of a choice's outcome: the same however often it is made, and not to be computed without the secret."""
    return hmac.digest(derived_key(secret, Outcome.TOPIC), contrast.event_id.encode(), "sha256").hex()[:32]


def _real(row: Sequence[int]) -> list[float]:
    return [value / FEATURE_ONE for value in row]


def _sum(weighed: Iterable[tuple[float, Sequence[float]]]) -> list[float]:
    """The rows, each times its weight, added up; empty where there are none."""
    parts = [[weight * value for value in row] for weight, row in weighed]
    return [math.fsum(values) for values in zip(*parts, strict=True)]


def _softmax(scores: Sequence[float]) -> list[float]:
    best = max(scores)
    parts = [math.exp(score - best) for score in scores]
    total = math.fsum(parts)
    return [part / total for part in parts]


def _said(
    rows: Mapping[NameT, Sequence[float]],
    at: Mapping[str, float],
    chosen: int,
    shares: Sequence[float],
    share: float,
) -> dict[NameT, Moved]:
    """Pull and variance per row, times a share of them; without those that say nothing."""
    said: dict[NameT, Moved] = {}
    for name, row in rows.items():
        mean = math.fsum(part * value for part, value in zip(shares, row, strict=True))
        variance = math.fsum(part * (value - mean) ** 2 for part, value in zip(shares, row, strict=True))
        curved = _fixed(share * variance, _MOST_VARIANCE)
        slope = _fixed(share * (row[chosen] - mean), _MOST_SLOPE)
        if slope or curved:
            said[name] = (slope + round(curved * at[name]), curved)
    return said


def _fixed(value: float, most: int) -> int:
    """In 1/1024, at most so much."""
    return max(-most, min(most, round(value * FEATURE_ONE)))
