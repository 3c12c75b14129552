"""Learned weights as a ranking goes by them."""

import math

from operators.rank.weights import RankWeights
from operators.weigh.limits import DEFAULT_LIMITS, Bounds, WeighLimits
from schemas.weights import FEATURE_ONE, WEIGHT_ONE, Learned, Weights


def in_use(weights: Weights | None, limits: WeighLimits = DEFAULT_LIMITS) -> RankWeights:
    """What counts how much by these weights, whatever the record says: never beyond the bounds.

    Args:
        weights: a domain's; None where nothing was learned.
        limits: start values and bounds.

    >>> in_use(None) == RankWeights()
    True
    """
    mix = {part.value: start.value for part, start in limits.mix.items()}
    dimensions = dict(limits.dimensions)
    if weights is not None:
        mix |= {part.value: _value(held, limits.of_mix(part)) for part, held in weights.mix.items()}
        dimensions |= {name: _value(held, limits.of_dimension(name)) for name, held in weights.dimensions.items()}
    return RankWeights(**mix, dimensions=dimensions)


def _value(learned: Learned, bounds: Bounds) -> float:
    return min(max(learned.weight, bounds.low), bounds.high) / WEIGHT_ONE


def spread(learned: Learned) -> float:
    """How sure a weight is, as a standard deviation.

    >>> spread(Learned(weight=0, precision=4 * FEATURE_ONE))
    0.5
    """
    return math.sqrt(FEATURE_ONE / learned.precision)
