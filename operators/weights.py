"""The weights of a domain's rankings, learned from its choices: decision 0021.

A choice becomes an `outcome`: numbers without a person, an item or words. A domain's weights are a fold of outcomes.

An outcome is the choice's log-likelihood as a parabola in each weight: the slope is the taken candidate's feature less
its expectation, the curvature the feature's variance over the list. As in assumed-density filtering with a diagonal
Gaussian, the variance adds to a weight's precision, and the weight moves by the slope divided by it. The slope is taken
at the weight's current value: otherwise each of a thousand choices made before the first was learned would push as far.
"""

import hmac
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeVar

from operators.admission import is_applied, with_applied
from operators.habit_directions import DIRECTIONS
from operators.seals import derived_key
from schemas import FEATURE_ONE, MAX_FEATURE, MAX_WEIGHED_DIMENSIONS, WEIGHT_ONE, Event, Features, Position, derived_id
from schemas.events import Contrast
from schemas.weights import LearnedWeight, Mix, RankingOutcome, WeightAction, WeightCommand, WeightEvidence, Weights

# How much a dimension decides, over everybody; fitted on five data sets (docs/quality.md).
DIMENSIONS: Mapping[str, float] = {
    "city": 3.4, "author": 2.0, "director": 1.4, "area": 1.0, "year": 1.0, "rating": 0.8, "actor": 0.7, "genre": 0.65,
    "category": 0.5, "country": 0.5, "era": 0.4, "ambience": 0.4, "price": 0.3, "qualifier": 0.3, "keyword": 0.25,
    "meal": 0.2, "mood": 0.15,
    "by_price": 1.0, "by_year": 1.0, "by_rating": 1.0, "by_popularity": 1.0, "by_distance": 1.0, "by_length": 1.0,
    "exploration": 1.0,
}  # fmt: skip
UNKNOWN_DIMENSION = 0.5
# Name of the weight of all dimensions without one of their own.
UNKNOWN = "unknown"
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


@dataclass(frozen=True)
class RankWeights:
    """The weights of a ranking's sum; docs/quality.md has how they were found.

    `skill` weighs log-odds, on one scale for all lists; companions, popularity and facets weigh standard deviations
    inside a list. `dimensions` are factors on the skill's lines; a dimension without one has that of `unknown`.
    """

    skill: float = 1.0
    companions: float = 0.7
    popularity: float = 0.3
    facets: float = 0.1
    dimensions: Mapping[str, float] = field(default_factory=lambda: DIMENSIONS, hash=False)

    def of(self, dimension: str) -> float:
        """Return the factor on the lines of a dimension."""
        factor = self.dimensions.get(dimension)
        return self.dimensions.get(UNKNOWN, UNKNOWN_DIMENSION) if factor is None else factor


DEFAULT_WEIGHTS = RankWeights()


@lru_cache(maxsize=4_096)
def weighed_as(dimension: str) -> str:
    """Return the name of a dimension's weight; odd names share `unknown`."""
    return dimension if _NAME.fullmatch(dimension) else UNKNOWN


@dataclass(frozen=True)
class WeightBounds:
    """Start and bounds of a weight, in fixed point."""

    begin: LearnedWeight
    low: int
    high: int
    # The most that one choice moves the weight.
    step: int
    # The precision stops growing here: old choices fade then, as new ones come.
    surest: int

    @classmethod
    def of(cls, value: float, deviation: float, low: float, high: float, step: float) -> "WeightBounds":
        """Convert real numbers; `deviation` is the prior's standard deviation."""
        precision = max(1, round(FEATURE_ONE / deviation**2))
        fixed_low, fixed_high, fixed_step = (round(number * WEIGHT_ONE) for number in (low, high, step))
        begin = LearnedWeight(weight=round(value * WEIGHT_ONE), precision=precision)
        return cls(begin, fixed_low, fixed_high, fixed_step, MAX_PRECISION_RATIO * precision)


# The greatest precision, as a multiple of the prior's.
MAX_PRECISION_RATIO = 1_500
MIX: Mapping[Mix, WeightBounds] = {
    Mix.SKILL: WeightBounds.of(1.0, 0.3, 0.0, 3.0, 0.05),
    Mix.COMPANIONS: WeightBounds.of(0.7, 0.3, 0.0, 3.0, 0.05),
    Mix.POPULARITY: WeightBounds.of(0.3, 0.5, -1.5, 1.5, 0.05),
    Mix.FACETS: WeightBounds.of(0.1, 0.3, -1.0, 1.0, 0.05),
}
# The prior's deviation, the range and the greatest step of a dimension's weight, as parts of its start value.
DIMENSION_SPREAD, DIMENSION_FACTOR, DIMENSION_STEP = 1 / 3, 4.0, 0.05


@lru_cache(maxsize=1_024)
def dimension_bounds(dimension: str) -> WeightBounds:
    """Return start and bounds of a dimension's weight."""
    value = DIMENSIONS.get(dimension, UNKNOWN_DIMENSION)
    low, high = value / DIMENSION_FACTOR, value * DIMENSION_FACTOR
    return WeightBounds.of(value, DIMENSION_SPREAD * value, low, high, DIMENSION_STEP * value)


def rank_weights(weights: Weights | None) -> RankWeights:
    """Return a domain's weights within their bounds; None: start values."""
    if weights is None:
        return DEFAULT_WEIGHTS
    mix = {part.value: _value(held, MIX[part]) for part, held in weights.mix.items()}
    dimensions = {name: _value(held, dimension_bounds(name)) for name, held in weights.dimensions.items()}
    return RankWeights(**mix, dimensions={**DIMENSIONS, **dimensions})


def _value(learned: LearnedWeight, bounds: WeightBounds) -> float:
    return min(max(learned.weight, bounds.low), bounds.high) / WEIGHT_ONE


NameT = TypeVar("NameT", bound=str)

# So many choices of a person count fully, and the k-th one after them `FULL_CHOICES / k`.
FULL_CHOICES = 32
_HABIT_DIMENSIONS = frozenset({UNKNOWN, *(direction.dimension for direction in DIRECTIONS)})
_MAX_FIXED_SLOPE, _MAX_FIXED_VARIANCE = 2 * MAX_FEATURE * FEATURE_ONE, MAX_FEATURE * MAX_FEATURE * FEATURE_ONE


def evidence_of(
    features: Features, chosen: int, weights: RankWeights, nth: int
) -> tuple[dict[Mix, WeightEvidence], dict[str, WeightEvidence]]:
    """Compute a choice's evidence for the mix and the dimensions."""
    if not 0 <= chosen < features.candidates:
        return {}, {}
    dimensions = {name: _real(row) for name, row in features.dimensions.items()}
    skill = _sum((weights.of(name), row) for name, row in dimensions.items())
    rows: dict[Mix, list[float]] = {Mix.SKILL: skill} if dimensions else {}
    rows |= {part: _real(row) for part, row in features.mix.items() if part is not Mix.SKILL}
    at: dict[str, float] = {part: getattr(weights, part.value) for part in rows}
    shares = softmax(_sum((at[part], row) for part, row in rows.items()))
    share = min(1.0, FULL_CHOICES / max(1, nth))
    # A dimension's feature is its lines' strength times the skill's weight.
    scaled = {name: [weights.skill * value for value in row] for name, row in dimensions.items()}
    within = _gradients(scaled, {name: weights.of(name) for name in scaled}, chosen, shares, share)
    return _gradients(rows, at, chosen, shares, share), within


def outcome_of(
    contrast: Contrast, weights: RankWeights, nth: int, secret: bytes, weights_version: int
) -> RankingOutcome | None:
    """Compute a contrast's outcome; None if it teaches no weights.

    Only dimensions of the list's items and of habits count: an app cannot name others.
    """
    features = contrast.features
    if features is None or features.candidates != 1 + len(contrast.unchosen):
        return None
    items = (contrast.chosen, *contrast.unchosen)
    listed = _HABIT_DIMENSIONS.union(fact.dimension for item in items for fact in item.facts)
    named = {name: row for name, row in features.dimensions.items() if name in listed}
    features = features.model_copy(update={"dimensions": named})
    mix, dimensions = evidence_of(features, contrast.chosen_rank - 1, weights, nth)
    if not mix and not dimensions:
        return None
    # A repeat gets the same id, which only the secret computes.
    digest = hmac.digest(derived_key(secret, RankingOutcome.TOPIC), contrast.event_id.encode(), "sha256")
    return RankingOutcome(
        event_id=digest.hex()[:32],
        occurred_at=contrast.occurred_at.replace(minute=0, second=0, microsecond=0),
        domain=contrast.domain,
        weights_version=weights_version,
        mix=mix,
        dimensions=dimensions,
    )


def _real(row: Sequence[int]) -> list[float]:
    return [value / FEATURE_ONE for value in row]


def _sum(weighed: Iterable[tuple[float, Sequence[float]]]) -> list[float]:
    parts = [[weight * value for value in row] for weight, row in weighed]
    return [math.fsum(values) for values in zip(*parts, strict=True)]


def softmax(scores: Sequence[float]) -> list[float]:
    """Return the chances of candidates with these scores."""
    best = max(scores)
    parts = [math.exp(score - best) for score in scores]
    total = math.fsum(parts)
    return [part / total for part in parts]


def _gradients(
    rows: Mapping[NameT, Sequence[float]], at: Mapping[str, float], chosen: int, shares: Sequence[float], share: float
) -> dict[NameT, WeightEvidence]:
    # Rows whose slope and variance are both 0 are left out.
    evidence: dict[NameT, WeightEvidence] = {}
    for name, row in rows.items():
        mean = math.fsum(part * value for part, value in zip(shares, row, strict=True))
        variance = math.fsum(part * (value - mean) ** 2 for part, value in zip(shares, row, strict=True))
        curved = _fixed(share * variance, _MAX_FIXED_VARIANCE)
        slope = _fixed(share * (row[chosen] - mean), _MAX_FIXED_SLOPE)
        if slope or curved:
            evidence[name] = (slope + round(curved * at[name]), curved)
    return evidence


def _fixed(value: float, most: int) -> int:
    return max(-most, min(most, round(value * FEATURE_ONE)))


# The greatest slope of one choice.
MAX_SLOPE = 8
# A choice adds at least its squared slope divided by this to the precision.
#
# At the best weights the squared slope is as large as the variance on average, so honest choices seldom need it; a
# forged slope without a curvature cannot push for ever.
MIN_PRECISION_DIVISOR = 16


def initial_weights(domain: str, event: Event) -> Weights:
    """Return a domain's first weights: version 0, all at their start values."""
    return Weights(event_id=_weights_id(domain, 0), occurred_at=event.occurred_at, domain=domain, version=0)


def apply_outcome(weights: Weights, outcome: RankingOutcome, source: Position | None = None) -> Weights:
    """Apply one outcome; frozen weights only move the fence."""
    if source is not None and is_applied(weights.applied, source):
        return weights
    if weights.frozen:
        # Else a second delivery would be learned once they are not frozen any more.
        return weights.model_copy(update={"applied": with_applied(weights.applied, source), "seal": None})
    mix, dimensions = dict(weights.mix), dict(weights.dimensions)
    for part, moved in outcome.mix.items():
        mix[part] = _moved(mix.get(part), moved, MIX[part])
    for name, moved in _within_limit(weights.dimensions, outcome.dimensions).items():
        dimensions[name] = _moved(dimensions.get(name), moved, dimension_bounds(name))
    return _next(weights, outcome, source, mix=mix, dimensions=dimensions, choices=weights.choices + 1)


def apply_command(weights: Weights, command: WeightCommand, source: Position | None = None) -> Weights:
    """Apply an operator's command; return the same object for a repeat."""
    if source is not None and is_applied(weights.applied, source):
        return weights
    if command.action is WeightAction.RESET:
        return _next(weights, command, source, mix={}, dimensions={}, choices=0)
    return _next(weights, command, source, frozen=command.action is WeightAction.FREEZE)


def _next(weights: Weights, event: Event, source: Position | None, **changes: object) -> Weights:
    version = weights.version + 1
    envelope = {
        "event_id": _weights_id(weights.domain, version),
        "occurred_at": event.occurred_at,
        "version": version,
        "applied": with_applied(weights.applied, source),
        "seal": None,
    }
    return weights.model_copy(update=envelope | changes)


def _weights_id(domain: str, version: int) -> str:
    return derived_id("weights", domain, str(version))


def _within_limit(
    known: Mapping[str, LearnedWeight], evidence: Mapping[str, WeightEvidence]
) -> Mapping[str, WeightEvidence]:
    # An app can name any number of dimensions: those without room share the weight `unknown`.
    room = MAX_WEIGHED_DIMENSIONS - 1 - len(known.keys() - {UNKNOWN})
    new = [name for name in evidence if name not in known and name != UNKNOWN]
    if len(new) <= room:
        return evidence
    others = new[max(0, room) :]
    kept = {name: moved for name, moved in evidence.items() if name not in others}
    together = [evidence[name] for name in (*others, UNKNOWN) if name in evidence]
    kept[UNKNOWN] = (sum(pull for pull, _ in together), sum(variance for _, variance in together))
    return kept


def _moved(held: LearnedWeight | None, moved: WeightEvidence, bounds: WeightBounds) -> LearnedWeight:
    held, (pull, variance) = held or bounds.begin, moved
    slope = pull - _rounded_division(variance * held.weight, WEIGHT_ONE)
    slope = max(-MAX_SLOPE * FEATURE_ONE, min(MAX_SLOPE * FEATURE_ONE, slope))
    least = slope * slope // (MIN_PRECISION_DIVISOR * FEATURE_ONE)
    precision = min(held.precision + max(variance, least), bounds.surest)
    step = max(-bounds.step, min(bounds.step, _rounded_division(slope * WEIGHT_ONE, precision)))
    return LearnedWeight(weight=max(bounds.low, min(bounds.high, held.weight + step)), precision=precision)


def _rounded_division(number: int, by: int) -> int:
    # Round halves away from 0, so that both signs are treated alike.
    whole = (2 * abs(number) + by) // (2 * by)
    return whole if number >= 0 else -whole
