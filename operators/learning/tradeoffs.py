"""How a person weighs numbers against each other, such as price and time.

An item's number counts as its distance from the list's mean, in units of the list's and the domain's usual spread. A
choice adds to a person's sums: the slope of its log-likelihood in each weight (`pulls`), the curvature for each pair of
numbers (`curves`), and the bet that each number alone has won or lost (`proofs`). The weights are a view of these sums,
a Gaussian estimate around the domain's weights: they follow the domain as it learns, and the log stays exact.
"""

import math
import re
from collections.abc import Mapping, Sequence
from operator import add, mul
from typing import NamedTuple

from operators.habit_directions import BY_PREFIX, is_number_line
from operators.learning.evidence import proof_for_tier
from operators.learning.none_taken import NONE_ID, NOTHING
from schemas import ONE, Attribute, ItemFacts, SkillChange, SkillChangeKind
from schemas.diffs import MAX_NUMBERS, CountDelta, NumberSums, PolicySkill
from schemas.weights import MAX_OUTCOME_NUMBERS, Features, UsualNumbers

# How many choices the domain's weight counts for.
PERSONAL_PRECISION = 8.0
# Bet on more than the estimated weight, which its prior holds back. Any factor is fair to blind people.
BOLDNESS = 2.0
# A single outlier must not decide.
MAX_DISTANCE = 4.0
MAX_VARIANCE = 1 << 50
# Counts of other people's votes: the popularity of a list has a weight of its own.
_LEFT_OUT = frozenset({"popularity"})
_NO_SUMS = NumberSums()
# Changes by a person, after which the evidence is gone too.
REMOVALS = frozenset({SkillChangeKind.REMOVED, SkillChangeKind.REWORDED, SkillChangeKind.FORGOTTEN})
_NUMBER_NAME = re.compile("[a-z][a-z_]{0,19}")
_BY_PERSON = REMOVALS | {SkillChangeKind.SET}


class NumberRow(NamedTuple):
    """A number in a list: its unit, its mean and variance, and each item's distance from the mean."""

    unit: float
    mean: float
    variance: float
    distances: Sequence[float]


def number_rows(items: Sequence[ItemFacts], usual: UsualNumbers) -> dict[str, NumberRow]:
    """Return the numbers that distinguish items, in units of the usual spread of the list and of the domain's lists.

    A number that all items share, or only one has, is left out.

    >>> cheap, dear = (ItemFacts(item_id=name, measures={"price": price}) for name, price in (("a", 10), ("b", 30)))
    >>> number_rows([cheap, dear], {})
    {'price': NumberRow(unit=10.0, mean=20.0, variance=100.0, distances=[-1.0, 1.0])}
    >>> number_rows([cheap, dear], {"price": (20.0, 700.0)})["price"].distances
    [-0.5, 0.5]
    """
    found: dict[str, NumberRow] = {}
    names = {name for item in items for name in item.measures} - _LEFT_OUT
    for name in sorted(names, key=lambda name: (name != NOTHING, name)):
        values = [item.measures.get(name) for item in items]
        known = [value for value in values if value is not None]
        if min(known) == max(known):
            continue
        mean, variance = _moments(known)
        _, in_domain = usual.get(name, (0.0, variance))
        # Six digits are short in the log, and the same in every process. Of tiny differences nothing is left.
        if unit := float(f"{math.sqrt((variance + in_domain) / 2):.6g}"):
            found[name] = NumberRow(unit, mean, variance, _distances(values, mean, unit))
        if len(found) == MAX_OUTCOME_NUMBERS:
            break
    return found


def distances(items: Sequence[ItemFacts], name: str, unit: float) -> list[float]:
    """Return a number's distances from the list's mean, one per item; 0 where an item has none."""
    values = [item.measures.get(name) for item in items]
    known = [value for value in values if value is not None]
    return _distances(values, math.fsum(known) / len(known), unit)


def _distances(values: Sequence[float | None], mean: float, unit: float) -> list[float]:
    return [0.0 if value is None else max(-MAX_DISTANCE, min(MAX_DISTANCE, (value - mean) / unit)) for value in values]


def _moments(values: Sequence[float]) -> tuple[float, float]:
    mean = math.fsum(values) / len(values)
    return mean, math.fsum([(value - mean) ** 2 for value in values]) / len(values)


def personal_weights(
    names: Sequence[str], domain: Mapping[str, float], sums: NumberSums | None = None
) -> dict[str, float]:
    """Return a person's weights: `(curves + K I)^-1 (pulls + K w)`, with the domain's weights w.

    >>> personal_weights(["price"], {"price": -0.5})
    {'price': -0.5}
    >>> sums = NumberSums(pulls={"price": -8 * ONE}, curves={"price price": 8 * ONE})
    >>> personal_weights(["price"], {"price": 0.0}, sums)
    {'price': -0.5}
    """
    if sums is None:
        return {name: domain.get(name, 0.0) for name in names}
    # A number's pull by single items may be due to how picky the person is.
    known = [*names, *({NOTHING} & sums.pulls.keys() - set(names))]
    rows = [
        [sums.curves.get(pair(one, other), 0) / ONE + (PERSONAL_PRECISION if one == other else 0.0) for other in known]
        + [sums.pulls.get(one, 0) / ONE + PERSONAL_PRECISION * domain.get(one, 0.0)]
        for one in known
    ]
    # Gauss-Jordan without pivoting: the matrix is positive definite. Each step drops the first column.
    for at in range(len(known)):
        first, *rest = rows[at]
        solved = [value / first for value in rest]
        rows = [
            solved if row == at else [value - factor * above for value, above in zip(other, solved, strict=True)]
            for row, (factor, *other) in enumerate(rows)
        ]
    return {name: value for name, (value,) in zip(names, rows[: len(names)], strict=True)}


class NumberEvidence(NamedTuple):
    """The additions of a choice to a person's sums, in 1/1024, and the weights that predicted it."""

    sums: NumberSums
    weights: Mapping[str, float]


def number_evidence(
    items: Sequence[ItemFacts], chosen: int, predicted: Features, picky: float = 0.0
) -> NumberEvidence | None:
    """Return the evidence of a choice; None for a list without numbers.

    `picky` is the weight of taking none for a person who does not look at items.
    """
    known = {name for item in items for name in item.measures}
    numbers = {name: number for name, number in predicted.numbers.items() if name in known}
    total = sum(predicted.chances)
    if not numbers or not total:
        return None
    rows = {name: distances(items, name, unit) for name, (_, unit) in numbers.items()}
    weights = {name: weight / ONE for name, (weight, _) in numbers.items()}
    chances = [chance / total for chance in predicted.chances]
    centred: dict[str, list[float]] = {}
    for name, row in rows.items():
        mean = math.fsum(map(mul, chances, row))
        centred[name] = [value - mean for value in row]
    names = sorted(rows)
    exact: dict[str, float] = {}
    for place, one in enumerate(names):
        expected = list(map(mul, chances, centred[one]))
        for other in names[place:]:
            exact[pair(one, other)] = math.fsum(map(mul, expected, centred[other]))
    blind = [picky * value for value in rows.get(NOTHING, [0.0] * len(items))]
    # How often a blind person leaves a longer list is unknown.
    is_left = NOTHING not in rows and items[chosen].item_id == NONE_ID
    pulls, proofs = {}, {}
    for one in names:
        curved = math.fsum([exact[pair(one, other)] * weights[other] for other in names])
        pulls[one] = round(ONE * (centred[one][chosen] + curved))
        proofs[one] = 0 if is_left else round(ONE * _bet(rows[one], weights[one], chosen, blind))
    curves = {name: round(ONE * value) for name, value in exact.items()}
    sums = NumberSums.trusted(pulls=_nonzero(pulls), curves=_nonzero(curves), proofs=_nonzero(proofs))
    return NumberEvidence(sums, weights)


def _bet(row: Sequence[float], weight: float, chosen: int, blind: Sequence[float]) -> float:
    """Return the nats that the number alone wins against blind choice, which has the scores `blind`.

    For a person who chooses blindly, the exponential of the sum of all bets is a martingale: it exceeds e^3 at any time
    with a chance of at most 5 %.
    """
    scores = [BOLDNESS * weight * value for value in row]
    return scores[chosen] + _log_sum(blind) - _log_sum(list(map(add, blind, scores)))


def _log_sum(scores: Sequence[float]) -> float:
    best = max(scores)
    return best + math.log(math.fsum([math.exp(score - best) for score in scores]))


def numbers_after(
    skill: PolicySkill, delta: CountDelta | None, changes: Sequence[SkillChange] = ()
) -> NumberSums | None:
    """Return a skill's sums after an event; those of a removed line start again, a tier that is set is proven."""
    held = skill.numbers
    if delta is not None and delta.numbers is not None:
        before, more, forget = held or _NO_SUMS, delta.numbers, delta.numbers_forget
        held = NumberSums.trusted(
            pulls=_added(before.pulls, more.pulls, forget),
            curves=_added(before.curves, more.curves, forget),
            proofs=_added(before.proofs, more.proofs, forget),
        )
        # An app can name any number of numbers: those with the least evidence leave.
        curves, known = held.curves, {*held.pulls, *held.proofs}.union(*map(str.split, held.curves))
        for name in sorted(known, key=lambda name: (curves.get(pair(name, name), 0), name))[:-MAX_NUMBERS]:
            held = without_number(held, name)
    by_person = {change.attribute_id: change for change in changes if change.kind in _BY_PERSON}
    if held is not None and by_person:
        for line in skill.attributes:
            change = by_person.get(line.attribute_id)
            if change is None or not is_number_line(line.attribute_id):
                continue
            name = line.dimension.removeprefix(BY_PREFIX)
            if change.kind is SkillChangeKind.SET:
                held = _with_proof(held, name, proof_for_tier(change.after or line.tier))
            elif change.after is None:
                held = without_number(held, name)
    for change in changes:
        restored = change.discovered if change.kind is SkillChangeKind.RESTORED else None
        if restored is not None and is_number_line(restored.attribute_id):
            held = _with_proof(held or _NO_SUMS, restored.dimension.removeprefix(BY_PREFIX), restored.proof)
    return held


def _with_proof(sums: NumberSums, name: str, proof: int) -> NumberSums:
    # An import's lines may have any dimensions.
    if not _NUMBER_NAME.fullmatch(name) or len(sums.proofs.keys() | {name}) > MAX_NUMBERS:
        return sums
    return NumberSums.trusted(pulls=sums.pulls, curves=sums.curves, proofs={**sums.proofs, name: proof})


def without_number(sums: NumberSums, name: str) -> NumberSums:
    """Return the sums without those of a number."""
    return NumberSums.trusted(
        pulls={other: value for other, value in sums.pulls.items() if other != name},
        curves={both: value for both, value in sums.curves.items() if name not in both.split()},
        proofs={other: value for other, value in sums.proofs.items() if other != name},
    )


def with_proofs(lines: Sequence[Attribute], sums: NumberSums) -> tuple[Attribute, ...]:
    """Update the proofs of lines about numbers."""
    found = list(lines)
    for place, line in enumerate(lines):
        if is_number_line(line.attribute_id):
            proof = sums.proofs.get(line.dimension.removeprefix(BY_PREFIX), 0)
            if proof != line.proof:
                found[place] = line.model_copy(update={"proof": proof})
    return tuple(found)


def pair(one: str, other: str) -> str:
    """Return the key of a curve.

    >>> pair("price", "changes")
    'changes price'
    """
    return f"{one} {other}" if one <= other else f"{other} {one}"


def _added(held: Mapping[str, int], more: Mapping[str, int], forget: int) -> dict[str, int]:
    after = dict(held)
    if forget:  # towards nought from both sides
        after = {name: value - int(value / forget) for name, value in held.items()}
    for name, value in more.items():
        after[name] = after.get(name, 0) + value
    return after


def _nonzero(sums: Mapping[str, int]) -> dict[str, int]:
    return {name: value for name, value in sums.items() if value}
