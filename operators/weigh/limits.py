"""Start values and bounds of learned weights, and the weights within them."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import MappingProxyType

from operators.rank.weights import DIMENSIONS, UNKNOWN_DIMENSION, RankWeights
from schemas.weights import FEATURE_ONE, MAX_WEIGHED_DIMENSIONS, WEIGHT_ONE, Learned, Mix, Weights


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


@dataclass(frozen=True)
class WeighLimits:
    """How weights are learned.

    Attributes:
        mix: start values of the parts that a ranking adds up.
        dimensions: start values of what a line counts, by its dimension; for all others it is `UNKNOWN_DIMENSION`.
        dimension_spread: standard deviation of a dimension's prior, as a part of its start value.
        dimension_factor: a dimension's weight stays between its start value divided by this, and times this.
        dimension_step: the most that one choice moves a dimension's weight, as a part of its start value.
        full_choices: so many choices of a person count fully, and the k-th one behind them `full_choices / k`.
        surest: precisions stop growing at so many times the prior's: old choices fade then, as new ones come.
        most_slope: no choice pushes harder.
        least_part: a choice adds at least its squared slope divided by this to the precision. At the best weights the
            squared slope is as large as the variance on average, so that honest choices seldom need it; what claims a
            slope and no curvature cannot push for ever.
        most_dimensions: dimensions with a weight of their own; what comes then counts as `unknown`.
    """

    mix: Mapping[Mix, Start] = field(default_factory=lambda: MIX, hash=False)
    dimensions: Mapping[str, float] = field(default_factory=lambda: DIMENSIONS, hash=False)
    dimension_spread: float = 1 / 3
    dimension_factor: float = 4.0
    dimension_step: float = 0.05
    full_choices: int = 32
    surest: int = 1_500
    most_slope: int = 8
    least_part: int = 16
    most_dimensions: int = MAX_WEIGHED_DIMENSIONS

    def of_mix(self, part: Mix) -> Bounds:
        """Start and bounds of a part."""
        return _bounds(self.mix[part], self.surest)

    def start_of(self, dimension: str) -> float:
        """The start value of a dimension."""
        return self.dimensions.get(dimension, UNKNOWN_DIMENSION)

    def of_dimension(self, dimension: str) -> Bounds:
        """Start and bounds of a dimension."""
        value = self.start_of(dimension)
        factor = self.dimension_factor
        spread, step = self.dimension_spread * value, self.dimension_step * value
        return _bounds(Start(value, spread, value / factor, value * factor, step), self.surest)


DEFAULT_LIMITS = WeighLimits()


@lru_cache(maxsize=1_024)
def _bounds(start: Start, surest: int) -> Bounds:
    precision = max(1, round(FEATURE_ONE / start.spread**2))
    low, high, step = (round(number * WEIGHT_ONE) for number in (start.low, start.high, start.step))
    return Bounds(
        Learned(weight=round(start.value * WEIGHT_ONE), precision=precision), low, high, step, surest * precision
    )


def in_use(weights: Weights | None) -> RankWeights:
    """Return a domain's weights, kept within their bounds; the start values for None.

    >>> in_use(None) == RankWeights()
    True
    """
    mix = {part.value: start.value for part, start in DEFAULT_LIMITS.mix.items()}
    dimensions = dict(DEFAULT_LIMITS.dimensions)
    if weights is not None:
        mix |= {part.value: _value(held, DEFAULT_LIMITS.of_mix(part)) for part, held in weights.mix.items()}
        dimensions |= {
            name: _value(held, DEFAULT_LIMITS.of_dimension(name)) for name, held in weights.dimensions.items()
        }
    return RankWeights(**mix, dimensions=dimensions)


def _value(learned: Learned, bounds: Bounds) -> float:
    return min(max(learned.weight, bounds.low), bounds.high) / WEIGHT_ONE


def spread(learned: Learned) -> float:
    """How sure a weight is, as a standard deviation.

    >>> spread(Learned(weight=0, precision=4 * FEATURE_ONE))
    0.5
    """
    return math.sqrt(FEATURE_ONE / learned.precision)
