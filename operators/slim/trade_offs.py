"""Trade-offs between numbers in words, of a person or of a domain's people.

Only a clear one has words: its ratio is a view of weights with known errors, and a false one misleads more than none.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from operators.habit_directions import BY_PREFIX, NUMBER_ENDING, is_number_line, number_words
from operators.language.output_policy import MIN_ITEMS, OutputGate
from operators.learning.evidence import signed_strength
from operators.learning.none_taken import NOTHING
from operators.learning.number_lines import number_line_id
from operators.learning.tradeoffs import MAX_VARIANCE, PERSONAL_PRECISION, personal_weights
from operators.numbers import Numbers
from operators.slim.statements import phrase
from operators.stated import avoided_ids, lasting_statements
from operators.weights import RankWeights, number_dimension
from schemas import Attribute, AttributeKind, Measure, PolicySkill, Tier
from schemas.diffs import NumberSums, TradeOff
from schemas.weights import FEATURE_ONE

# The greatest standard deviation of a ratio's logarithm: then the ratio is mostly true within a factor of two.
MAX_DEVIATION = 0.5
# A taste that is worth so many times a number comes before it.
_TASTE_FIRST = 1.5
# A sentence stays while both of its amounts are within this factor of the estimate.
_KEPT_WITHIN = 1.5
# From here on, the greatest variances of lists are clipped (prices in millions): a ratio would be wrong.
_CLIPPED = MAX_VARIANCE / FEATURE_ONE / 4
_ROUND = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0)
_COMMON = "most people here "
_PRICE = Measure.PRICE.value


class _Estimate(NamedTuple):
    """Weights of numbers, and the covariance of each pair's weights."""

    weights: Mapping[str, float]
    covariances: Mapping[tuple[str, str], float]

    def deviation(self, one: str, other: str) -> float:
        """Return the standard deviation of the logarithm of two weights' ratio (delta method)."""
        first, second = self.weights[one], self.weights[other]
        shared = self.covariances.get((one, other), 0.0) / (first * second)
        apart = self.covariances[one, one] / first**2 + self.covariances[other, other] / second**2
        return math.sqrt(max(0.0, apart - 2 * shared))


def number_weights(skill: PolicySkill, weights: RankWeights) -> dict[str, float]:
    """Return the person's weight of each number; empty without a sure line about one."""
    if skill.numbers is None or not any(map(_is_sure, skill.attributes)):
        return {}
    return personal_weights(sorted(skill.numbers.pulls), weights.numbers, skill.numbers)


def trade_off_of(
    skill: PolicySkill, mine: Mapping[str, float], weights: RankWeights, numbers: Numbers, gate: OutputGate
) -> TradeOff:
    """Return the person's trade-off, else the domain's; without words if none is clear.

    `mine` are the person's weights, `numbers` the declared ones. The sentence of before stays while it is about right:
    it is in prompts.
    """
    if mine and skill.numbers is not None:
        sure = [name for name in _sure_numbers(skill, gate) if _agrees(skill, name, mine.get(name, 0.0))]
        sure.sort(key=lambda name: (-abs(mine[name]), name))
        found = None
        if len(sure) > 1:
            person = _Estimate(mine, _covariances(skill.numbers))
            found = _between_numbers(person, sure, weights, numbers, skill.trade_off, "")
        if found is None and sure:
            found = _taste_first(skill, sure[0], mine, weights, numbers, gate)
        # Most people's would contradict a person with a sure direction of their own.
        return found or TradeOff()
    allowed = [
        name
        for name, weight in weights.numbers.items()
        if weight
        and name in weights.number_variances
        and name != NOTHING
        # Many items have it where its weight is sure.
        and gate.rejection(number_dimension(name), number_words(name, weight > 0, numbers), MIN_ITEMS) is None
    ]
    domain = _Estimate(weights.numbers, {(name, name): weights.number_variances[name] for name in allowed})
    return _between_numbers(domain, allowed, weights, numbers, skill.trade_off, _COMMON) or TradeOff()


def _sure_numbers(skill: PolicySkill, gate: OutputGate) -> list[str]:
    return [line.dimension.removeprefix(BY_PREFIX) for line in gate.allowed_lines(filter(_is_sure, skill.attributes))]


def _is_sure(line: Attribute) -> bool:
    return line.tier >= Tier.MEDIUM and is_number_line(line.attribute_id)


def _agrees(skill: PolicySkill, name: str, weight: float) -> bool:
    line_id = number_line_id(name, weight > 0)
    return bool(weight) and any(line.attribute_id == line_id for line in skill.attributes)


def _covariances(sums: NumberSums) -> dict[tuple[str, str], float]:
    # The inverse of the matrix that `personal_weights` solves, column by column.
    names, curves = sorted(sums.pulls), sums.model_copy(update={"pulls": {}})
    columns = {name: personal_weights(names, {name: 1 / PERSONAL_PRECISION}, curves) for name in names}
    return {(one, other): column[one] for other, column in columns.items() for one in names}


def _between_numbers(
    of: _Estimate, names: Sequence[str], weights: RankWeights, numbers: Numbers, held: TradeOff, who: str
) -> TradeOff | None:
    units = {name: math.sqrt(variance) for name, (_, variance) in weights.usual.items() if variance < _CLIPPED}
    known = sorted((name for name in names if units.get(name)), key=lambda name: (-abs(of.weights[name]), name))
    for strong, weak in combinations(known, 2):
        if of.deviation(strong, weak) > MAX_DEVIATION:
            continue
        give, get = (strong, weak) if strong == _PRICE else (weak, strong)
        per_unit = {name: of.weights[name] / units[name] for name in (give, get)}
        rate = abs(per_unit[get] / per_unit[give])
        options = [
            TradeOff(_sentence((give, less), (get, more), of.weights, numbers, who), () if who else (give, get))
            for more in _round_numbers(units[get])
            for less in _round_numbers(more * rate)
        ]
        return held if held in options else options[0]
    return None


def _round_numbers(about: float) -> list[float]:
    """Return the round numbers near a positive one, the nearest first.

    >>> _round_numbers(27), _round_numbers(0.55)
    ([30.0, 20.0, 40.0], [0.6, 0.5, 0.4, 0.8])
    """
    scale = 10.0 ** math.floor(math.log10(about))
    found = [float(f"{step * size:.6g}") for size in (scale / 10, scale, scale * 10) for step in _ROUND]
    near = [each for each in found if 1 / _KEPT_WITHIN <= each / about <= _KEPT_WITHIN]
    return sorted(near, key=lambda each: abs(math.log(each / about)))


def _sentence(
    given: tuple[str, float], got: tuple[str, float], weights: Mapping[str, float], numbers: Numbers, who: str
) -> str:
    (give, less), (get, more) = given, got
    is_paid, is_saved = give == _PRICE and weights[give] < 0, weights[get] < 0
    parts = [
        who + ("pay" if is_paid else "take") + ("" if who else "s"),
        f"about {less:.10g}",
        _unit(give, numbers),
        "less" if weights[give] > 0 else "more",
        "" if is_paid or _unit(give, numbers) else _named(give),
        f"to save {more:.10g}" if is_saved else f"for {more:.10g}",
        _unit(get, numbers),
        "" if is_saved else "more",
        "" if _unit(get, numbers) else _named(get),
    ]
    return " ".join(filter(None, parts))


def _unit(name: str, numbers: Numbers) -> str:
    declared = numbers.get(name)
    return (declared.unit if declared else "") or (name.replace("_", " ") if name.endswith("s") else "")


def _named(name: str) -> str:
    return f"in {name.replace('_', ' ')}"


def _taste_first(
    skill: PolicySkill,
    number: str,
    mine: Mapping[str, float],
    weights: RankWeights,
    numbers: Numbers,
    gate: OutputGate,
) -> TradeOff | None:
    """Return the strongest taste before the strongest number, if it is worth clearly more."""
    silent = avoided_ids(lasting_statements(skill.stated)) if skill.stated else ()
    tastes = [
        (weights.skill * weights.of(line.dimension) * signed_strength(line), line)
        for line in skill.attributes
        if line.kind is AttributeKind.PREFERENCE and line.tier >= Tier.MEDIUM and line.attribute_id not in silent
    ]
    for worth, line in sorted(tastes, key=lambda taste: (-taste[0], taste[1].attribute_id)):
        if worth < _TASTE_FIRST * abs(mine[number]):
            break
        if gate.line_rejection(line) is None and (words := phrase(line.dimension, line.value)):
            own = number_words(number, mine[number] > 0, numbers).removesuffix(NUMBER_ENDING)
            return TradeOff(f"{words} before {own}", (number,))
    return None
