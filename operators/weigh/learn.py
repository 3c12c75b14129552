"""The fold of outcomes and commands into a domain's weights: integers only, so that one log gives the same bytes.

A choice's log-likelihood is, near the weights at which it was taken, a parabola with a slope and a curvature, the
variance. As in assumed-density filtering with a diagonal Gaussian, the variance adds to a weight's precision, and the
weight moves by the slope divided by it. The slope is taken from the parabola where the weight stands now: of a thousand
choices that were made before anybody had heard of the first, each would push as far as the first one otherwise.
"""

from collections.abc import Mapping

from operators.applied import is_applied, with_applied
from operators.rank.weights import UNKNOWN
from operators.weigh.limits import Bounds, of_dimension, of_mix
from schemas import Event, Position, derived_id
from schemas.weights import (
    FEATURE_ONE,
    MAX_WEIGHED_DIMENSIONS,
    WEIGHT_ONE,
    Learned,
    Moved,
    Outcome,
    WeightAction,
    WeightCommand,
    Weights,
)

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
