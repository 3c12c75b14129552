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
from dataclasses import dataclass, field, replace
from functools import lru_cache

from operators.admission import is_applied, with_applied
from operators.habit_directions import BY_PREFIX
from operators.seals import derived_key
from schemas import FEATURE_ONE, MAX_WEIGHED_DIMENSIONS, WEIGHT_ONE, Event, Position, derived_id
from schemas.weights import (
    MAX_WEIGHED_FACTS,
    MAX_WEIGHED_NUMBERS,
    LearnedWeight,
    Mix,
    RankingOutcome,
    UsualNumbers,
    WeightAction,
    WeightCommand,
    WeightEvidence,
    Weights,
)

# How much a dimension decides, over everybody; fitted on five data sets (docs/quality.md).
DIMENSIONS: Mapping[str, float] = {
    "city": 3.4, "author": 2.0, "director": 1.4, "area": 1.0, "year": 1.0, "rating": 0.8, "actor": 0.7, "genre": 0.65,
    "category": 0.5, "country": 0.5, "era": 0.4, "ambience": 0.4, "price": 0.3, "qualifier": 0.3, "keyword": 0.25,
    "meal": 0.2, "mood": 0.15,
    "by_price": 1.0, "by_year": 1.0, "by_rating": 1.0, "by_popularity": 1.0, "by_distance": 1.0, "by_length": 1.0,
    "exploration": 1.0, "by_nothing": 0.3,
}  # fmt: skip
UNKNOWN_DIMENSION = 0.5
# Name of the weight of all dimensions without one of their own.
UNKNOWN = "unknown"
NUMBER_PREFIX = BY_PREFIX
# Choices by chance that a fact's counts begin with: two lucky ones are no taste of a domain.
_FACT_PRIOR = 4 * FEATURE_ONE
# From this many expected choices on, a fact's counts are halved, so that a domain may change its taste.
_MOST_EXPECTED = 1_024 * FEATURE_ONE
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


@dataclass(frozen=True)
class RankWeights:
    """The weights of a ranking's sum; docs/quality.md has how they were found.

    `skill` weighs log-odds, on one scale for all lists; companions, popularity and facets weigh standard deviations
    inside a list. `dimensions` are factors on the skill's lines; a dimension without one has that of `unknown`.
    `numbers` are the domain's own weights of numbers, with `number_variances` of those learned, `usual` the numbers'
    means and variances. `tastes` weighs the domain's tastes, which follow from `fact_counts`, by digests under
    `secret`.
    """

    skill: float = 1.0
    companions: float = 0.7
    popularity: float = 0.3
    facets: float = 0.1
    tastes: float = 0.7
    dimensions: Mapping[str, float] = field(default_factory=lambda: DIMENSIONS, hash=False)
    numbers: Mapping[str, float] = field(default_factory=dict, hash=False)
    number_variances: Mapping[str, float] = field(default_factory=dict, hash=False)
    usual: UsualNumbers = field(default_factory=dict, hash=False)
    fact_counts: Mapping[str, tuple[int, int]] = field(default_factory=dict, hash=False)
    secret: bytes = b""

    def of(self, dimension: str) -> float:
        """Return the factor on the lines of a dimension."""
        factor = self.dimensions.get(dimension)
        if factor is None:
            factor = 1.0 if dimension.startswith(NUMBER_PREFIX) else self.dimensions.get(UNKNOWN, UNKNOWN_DIMENSION)
        return factor

    def tastes_of(self, facts: Iterable[str]) -> dict[str, float]:
        """Return how much more often the domain takes each known fact than it is shown, in nats."""
        found, known, secret = {}, self.fact_counts, self.secret
        for fact in facts:
            counts = known.get(fact_digest(fact, secret))
            if counts is not None:
                found[fact] = math.log((counts[0] + _FACT_PRIOR) / (counts[1] + _FACT_PRIOR))
        return found


DEFAULT_WEIGHTS = RankWeights()


def number_dimension(name: str) -> str:
    """Return the name of the weight for how a person differs from the domain in a number."""
    return NUMBER_PREFIX + name


@lru_cache(maxsize=65_536)
def fact_digest(fact: str, secret: bytes) -> str:
    """Return the pseudonym of a fact's id on the topics of weights.

    Outcomes have no words: a rare fact may be one person's.
    """
    return hmac.digest(derived_key(secret, "facts"), fact.encode(), "sha256")[:6].hex()


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
    Mix.TASTES: WeightBounds.of(0.7, 0.5, -1.0, 3.0, 0.2),
}
NO_STARTS: Mapping[str, float] = {}
NUMBER = WeightBounds.of(0.0, 0.25, -4.0, 4.0, 0.25)
# A number's mean and variance follow the last lists.
MAX_MOMENT_LISTS = 500
# The prior's deviation, the range and the greatest step of a dimension's weight, as parts of its start value.
DIMENSION_SPREAD, DIMENSION_FACTOR, DIMENSION_STEP = 1 / 3, 4.0, 0.05


@lru_cache(maxsize=1_024)
def dimension_bounds(dimension: str) -> WeightBounds:
    """Return start and bounds of a dimension's weight."""
    value = DEFAULT_WEIGHTS.of(dimension)
    low, high = value / DIMENSION_FACTOR, value * DIMENSION_FACTOR
    return WeightBounds.of(value, DIMENSION_SPREAD * value, low, high, DIMENSION_STEP * value)


def rank_weights(weights: Weights | None, secret: bytes = b"", starts: Mapping[str, float] = NO_STARTS) -> RankWeights:
    """Return a domain's weights within their bounds; None: start values. `starts` are those of declared numbers."""
    if weights is None:
        return replace(DEFAULT_WEIGHTS, numbers=starts, secret=secret) if starts or secret else DEFAULT_WEIGHTS
    mix = {part.value: _value(held, MIX[part]) for part, held in weights.mix.items()}
    dimensions = {name: _value(held, dimension_bounds(name)) for name, held in weights.dimensions.items()}
    return RankWeights(
        **mix,
        dimensions={**DIMENSIONS, **dimensions},
        numbers={**starts, **{name: _value(held, NUMBER) for name, held in weights.numbers.items()}},
        number_variances={name: FEATURE_ONE / held.precision for name, held in weights.numbers.items()},
        usual={
            name: (mean / lists / FEATURE_ONE, float(f"{variance / lists / FEATURE_ONE:.6g}"))
            for name, (variance, mean, lists) in weights.moments.items()
        },
        fact_counts=weights.tastes,
        secret=secret,
    )


def _value(learned: LearnedWeight, bounds: WeightBounds) -> float:
    return min(max(learned.weight, bounds.low), bounds.high) / WEIGHT_ONE


def softmax(scores: Sequence[float]) -> list[float]:
    """Return the chances of items with these scores."""
    best = max(scores)
    parts = [math.exp(score - best) for score in scores]
    total = math.fsum(parts)
    return [part / total for part in parts]


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


def apply_outcome(
    weights: Weights,
    outcome: RankingOutcome,
    source: Position | None = None,
    starts: Mapping[str, float] = NO_STARTS,
) -> Weights:
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
    return _next(
        weights,
        outcome,
        source,
        mix=mix,
        dimensions=dimensions,
        numbers=_numbers_after(weights.numbers, outcome.numbers, starts),
        moments=_moments_after(weights.moments, outcome.moments),
        tastes=_tastes_after(weights.tastes, outcome.tastes),
        choices=weights.choices + 1,
    )


def apply_command(weights: Weights, command: WeightCommand, source: Position | None = None) -> Weights:
    """Apply an operator's command; return the same object for a repeat."""
    if source is not None and is_applied(weights.applied, source):
        return weights
    if command.action is WeightAction.RESET:
        return _next(weights, command, source, mix={}, dimensions={}, numbers={}, moments={}, tastes={}, choices=0)
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


def _numbers_after(
    held: Mapping[str, LearnedWeight], evidence: Mapping[str, WeightEvidence], starts: Mapping[str, float]
) -> dict[str, LearnedWeight]:
    after = dict(held)
    for name, moved in evidence.items():
        # An app can name any number of numbers: later ones get no weight.
        if name in after or len(after) < MAX_WEIGHED_NUMBERS:
            begin = LearnedWeight.trusted(
                weight=round(starts.get(name, 0.0) * WEIGHT_ONE), precision=NUMBER.begin.precision
            )
            after[name] = _moved(after.get(name, begin), moved, NUMBER)
    return after


def _moments_after(
    held: Mapping[str, tuple[int, int, int]], moments: Mapping[str, tuple[int, int]]
) -> dict[str, tuple[int, int, int]]:
    after = dict(held)
    for name, (variance, mean) in moments.items():
        if name not in after and len(after) == MAX_WEIGHED_NUMBERS:
            continue
        variances, means, lists = after.get(name, (0, 0, 0))
        if lists == MAX_MOMENT_LISTS:
            variances, means, lists = variances - variances // lists, means - means // lists, lists - 1
        after[name] = (variances + variance, means + mean, lists + 1)
    return after


def _tastes_after(
    held: Mapping[str, tuple[int, int]], counts: Mapping[str, tuple[int, int]]
) -> dict[str, tuple[int, int]]:
    after = dict(held)
    for digest, (taken, expected) in counts.items():
        before = after.get(digest, (0, 0))
        after[digest] = total = (before[0] + taken, before[1] + expected)
        if total[1] > _MOST_EXPECTED:
            after[digest] = (total[0] // 2, total[1] // 2)
    if len(after) > MAX_WEIGHED_FACTS:
        # A quarter of the room at once, so that a new fact has many choices to become common.
        rarest = sorted([(expected, digest) for digest, (_, expected) in after.items()])
        for _, digest in rarest[: len(after) - MAX_WEIGHED_FACTS * 3 // 4]:
            del after[digest]
    return after


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
    return LearnedWeight.trusted(weight=max(bounds.low, min(bounds.high, held.weight + step)), precision=precision)


def _rounded_division(number: int, by: int) -> int:
    # Round halves away from 0, so that both signs are treated alike.
    whole = (2 * abs(number) + by) // (2 * by)
    return whole if number >= 0 else -whole
