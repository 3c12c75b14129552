"""What counts how much in a domain's rankings, learned from its choices: decision 0021.

Where a person is known, a choice becomes an `outcome`: numbers without a person, an item or words. Whoever learns a
domain's weights folds outcomes, and a ranking goes by what came of them.

An outcome is the choice's log-likelihood as a parabola in each weight: the slope is the taken candidate's feature less
what was to be expected, the curvature the feature's variance over the list. The fold has integers only, so that one log
gives the same bytes. As in assumed-density filtering with a diagonal Gaussian, the variance adds to a weight's
precision, and the weight moves by the slope divided by it. The slope is taken where the weight stands now: of a
thousand choices made before the first was learned, each would push as far as the first otherwise.
"""

import hmac
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import TypeVar

from operators.applied import is_applied, with_applied
from operators.habits import POLES
from operators.rank.weights import DIMENSIONS, UNKNOWN, UNKNOWN_DIMENSION, RankWeights
from operators.seals import derived_key
from schemas import Contrast, Event, Position, derived_id
from schemas.weights import (
    FEATURE_ONE,
    MAX_WEIGHED_DIMENSIONS,
    WEIGHT_ONE,
    WIDEST,
    Features,
    Learned,
    Mix,
    Moved,
    Outcome,
    WeightAction,
    WeightCommand,
    Weights,
)


@dataclass(frozen=True)
class Start:
    """Where a weight begins, how sure that is, and how far it may go. Real numbers; `Bounds` has them in fixed point.

    Attributes:
        value: the start value.
        spread: standard deviation of the prior: how far from it domains are expected to be.
        low, high: the weight stays between them.
        step: the most that one choice moves it.
    """

    value: float
    spread: float
    low: float
    high: float
    step: float


@dataclass(frozen=True)
class Bounds:
    """A `Start` in fixed point: weights in 1/1048576, precisions in 1/1024."""

    begin: Learned
    low: int
    high: int
    step: int
    surest: int


MIX: Mapping[Mix, Start] = MappingProxyType(
    {
        Mix.SKILL: Start(1.0, 0.3, 0.0, 3.0, 0.05),
        Mix.COMPANIONS: Start(0.7, 0.3, 0.0, 3.0, 0.05),
        Mix.POPULARITY: Start(0.3, 0.5, -1.5, 1.5, 0.05),
        Mix.FACETS: Start(0.1, 0.3, -1.0, 1.0, 0.05),
    }
)


DIMENSION_SPREAD, DIMENSION_FACTOR, DIMENSION_STEP = 1 / 3, 4.0, 0.05
"""Of a dimension's weight, as parts of its start value: the prior's deviation, the range, the most a choice moves."""
SUREST = 1_500
"""Precisions stop growing at so many times the prior's: old choices fade then, as new ones come."""


@lru_cache(maxsize=16)
def of_mix(part: Mix) -> Bounds:
    """Start and bounds of a part of a ranking's sum."""
    return _bounds(MIX[part])


@lru_cache(maxsize=1_024)
def of_dimension(dimension: str) -> Bounds:
    """Start and bounds of a dimension's weight."""
    value = start_of(dimension)
    spread, step = DIMENSION_SPREAD * value, DIMENSION_STEP * value
    return _bounds(Start(value, spread, value / DIMENSION_FACTOR, value * DIMENSION_FACTOR, step))


def start_of(dimension: str) -> float:
    """The start value of a dimension."""
    return DIMENSIONS.get(dimension, UNKNOWN_DIMENSION)


def _bounds(start: Start) -> Bounds:
    precision = max(1, round(FEATURE_ONE / start.spread**2))
    low, high, step = (round(number * WEIGHT_ONE) for number in (start.low, start.high, start.step))
    begin = Learned(weight=round(start.value * WEIGHT_ONE), precision=precision)
    return Bounds(begin, low, high, step, SUREST * precision)


def in_use(weights: Weights | None) -> RankWeights:
    """Return a domain's weights, kept within their bounds; the start values for None.

    >>> in_use(None) == RankWeights()
    True
    """
    mix = {part.value: start.value for part, start in MIX.items()}
    dimensions = dict(DIMENSIONS)
    if weights is not None:
        mix |= {part.value: _value(held, of_mix(part)) for part, held in weights.mix.items()}
        dimensions |= {name: _value(held, of_dimension(name)) for name, held in weights.dimensions.items()}
    return RankWeights(**mix, dimensions=dimensions)


def _value(learned: Learned, bounds: Bounds) -> float:
    return min(max(learned.weight, bounds.low), bounds.high) / WEIGHT_ONE


def spread(learned: Learned) -> float:
    """How sure a weight is, as a standard deviation.

    >>> spread(Learned(weight=0, precision=4 * FEATURE_ONE))
    0.5
    """
    return math.sqrt(FEATURE_ONE / learned.precision)


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
    contrast: Contrast, weights: RankWeights, nth: int, secret: bytes, weights_version: int
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
    rows: Mapping[NameT, Sequence[float]], at: Mapping[str, float], chosen: int, shares: Sequence[float], share: float
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


MOST_SLOPE = 8
"""No choice pushes harder."""
LEAST_PART = 16
"""A choice adds at least its squared slope divided by this to the precision.

At the best weights the squared slope is as large as the variance on average, so honest choices seldom need it; a claim
of a slope without a curvature cannot push for ever.
"""


def start(domain: str, event: Event) -> Weights:
    """A domain's weights before anything was learned: version 0, all at their start values."""
    return Weights(event_id=_id(domain, 0), occurred_at=event.occurred_at, domain=domain, version=0)


def learned(weights: Weights, outcome: Outcome, source: Position | None = None) -> Weights:
    """The weights after one choice; the very same object where it was applied before. Frozen ones only note it."""
    if source is not None and is_applied(weights.applied, source):
        return weights
    if weights.frozen:
        # Else it would be learned after all where it is delivered once more, and they are not frozen any more.
        return weights.model_copy(update={"applied": with_applied(weights.applied, source), "seal": None})
    mix = dict(weights.mix)
    for part, moved in outcome.mix.items():
        bounds = of_mix(part)
        mix[part] = _moved(mix.get(part, bounds.begin), moved, bounds)
    dimensions = dict(weights.dimensions)
    for name, moved in _held(weights.dimensions, outcome.dimensions).items():
        bounds = of_dimension(name)
        dimensions[name] = _moved(dimensions.get(name, bounds.begin), moved, bounds)
    return _next(weights, outcome, source, mix=mix, dimensions=dimensions, choices=weights.choices + 1)


def commanded(weights: Weights, command: WeightCommand, source: Position | None = None) -> Weights:
    """The weights after an operator's command; the very same object where it was carried out before."""
    if source is not None and is_applied(weights.applied, source):
        return weights
    match command.action:
        case WeightAction.FREEZE | WeightAction.UNFREEZE:
            return _next(weights, command, source, frozen=command.action is WeightAction.FREEZE)
        case _:
            return _next(weights, command, source, mix={}, dimensions={}, choices=0)


def _next(weights: Weights, event: Event, source: Position | None, **changes: object) -> Weights:
    version = weights.version + 1
    envelope = {
        "event_id": _id(weights.domain, version),
        "occurred_at": event.occurred_at,
        "version": version,
        "applied": with_applied(weights.applied, source),
        "seal": None,
    }
    return weights.model_copy(update=envelope | changes)


def _id(domain: str, version: int) -> str:
    return derived_id("weights", domain, str(version))


def _held(known: Mapping[str, Learned], said: Mapping[str, Moved]) -> Mapping[str, Moved]:
    """What a choice says of dimensions that have, or get, a weight of their own; `unknown` speaks for the others."""
    room = MAX_WEIGHED_DIMENSIONS - 1 - len(known.keys() - {UNKNOWN})
    new = [name for name in said if name not in known and name != UNKNOWN]
    if len(new) <= room:
        return said
    others = new[max(0, room) :]
    kept = {name: moved for name, moved in said.items() if name not in others}
    together = [said[name] for name in (*others, UNKNOWN) if name in said]
    kept[UNKNOWN] = (sum(pull for pull, _ in together), sum(variance for _, variance in together))
    return kept


def _moved(held: Learned, moved: Moved, bounds: Bounds) -> Learned:
    pull, variance = moved
    slope = pull - _divided(variance * held.weight, WEIGHT_ONE)
    slope = max(-MOST_SLOPE * FEATURE_ONE, min(MOST_SLOPE * FEATURE_ONE, slope))
    least = slope * slope // (LEAST_PART * FEATURE_ONE)
    precision = min(held.precision + max(variance, least), bounds.surest)
    step = max(-bounds.step, min(bounds.step, _divided(slope * WEIGHT_ONE, precision)))
    return Learned(weight=max(bounds.low, min(bounds.high, held.weight + step)), precision=precision)


def _divided(number: int, by: int) -> int:
    """The quotient, rounded to the nearest whole number; halves away from 0, so that both signs are treated alike."""
    whole = (2 * abs(number) + by) // (2 * by)
    return whole if number >= 0 else -whole
