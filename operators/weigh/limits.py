"""Start values and bounds of learned weights, and the weights within them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from operators.rank.weights import DIMENSIONS, UNKNOWN_DIMENSION, RankWeights
from schemas.weights import FEATURE_ONE, WEIGHT_ONE, Learned, Mix, Weights


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
