"""Sure habits as lines, with hysteresis so that lines do not come and go, and their part in a ranking."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from operators.evidence import strength
from operators.habits.axes import BY, PLACE_OF, POLE_OF, POLES, POSITION, REQUEST, Pole
from operators.habits.counts import nats, proves_less, seen_from
from operators.habits.sides import Before, sides_of
from schemas import ONE, Attribute, HabitCounts, ItemFacts, Tier

APPEARS, RISES, FALLS, VANISHES = 7.0, 15.0, 10.0, 3.5
"""Nats from which a habit is a line at medium, and at high; under which a line is medium again, and goes."""
ASKED = 8
"""Choices, with decay, that must have asked about an axis before a line from another source goes."""
MOST = 6
"""Most habits that are lines; those that are stay, and the surest come in."""


@dataclass(frozen=True)
class Sure:
    """A sure habit; `proof` in nats."""

    pole: Pole
    tier: Tier
    counts: HabitCounts
    proof: float


def lines_of(habits: Mapping[str, HabitCounts], held: Mapping[str, Tier]) -> dict[str, Sure]:
    """Return the habits that are lines of a skill now, by attribute id; other lines of `held` are over.

    Of the axes `by_...` only one is a line: the one that proves most, unless the one that is held proves two thirds as
    much.
    """
    found: dict[str, Sure] = {}
    for pole in _poles(frozenset(habits)):
        counts = habits[pole.axis]
        if proves_less(counts, VANISHES):
            continue
        seen = seen_from(counts, pole.up)
        proof = nats(seen)
        if (tier := _tier(proof, held.get(pole.attribute_id))) is not None:
            found[pole.attribute_id] = Sure(pole, tier, seen, proof)
    return _chosen(found, held)


@lru_cache(maxsize=256)
def _poles(axes: frozenset[str]) -> tuple[Pole, ...]:
    # The users of a domain have nearly the same axes.
    return tuple(pole for pole in POLES if pole.axis in axes)


def stays(line_id: str, habits: Mapping[str, HabitCounts]) -> bool:
    """True if too few choices have asked about a line from another source."""
    counts = habits.get(POLES[PLACE_OF[line_id]].axis)
    return counts is None or counts.asked < ASKED * ONE


def _tier(proof: float, before: Tier | None) -> Tier | None:
    if proof >= (FALLS if before is Tier.HIGH else RISES):
        return Tier.HIGH
    return Tier.MEDIUM if proof >= (APPEARS if before is None else VANISHES) else None


def _chosen(found: dict[str, Sure], held: Mapping[str, Tier]) -> dict[str, Sure]:
    def standing(sure: Sure) -> float:
        return sure.proof * (1.5 if sure.pole.attribute_id in held else 1.0)

    deciding = [sure for sure in found.values() if sure.pole.axis.startswith(BY)]
    for sure in sorted(deciding, key=standing, reverse=True)[1:]:
        del found[sure.pole.attribute_id]
    if len(found) <= MOST:
        return found
    ranked = sorted(found, key=lambda name: (name not in held, -found[name].proof, PLACE_OF[name]))
    kept = set(ranked[:MOST])
    return {name: sure for name, sure in found.items() if name in kept}


_OUTSIDE: Final = frozenset({POSITION, REQUEST})
"""A ranking decides positions itself, and the request precedes any sum."""


def habit_scores(
    items: Sequence[ItemFacts], lines: Sequence[Attribute], popularity: Mapping[str, int] | None
) -> dict[str, list[float]]:
    """Score each item of a list by the sure habits, by the dimension of their lines.

    An item on a line's side gains the strength of the line's evidence. The axes `by_...` do not rank: they are in the
    tastes' own weights already.
    """
    sure = [(pole, line) for line in lines if (pole := POLE_OF.get(line.attribute_id)) and _ranks(pole, line)]
    if not sure:
        return {}
    sides = sides_of(items, Before.of(lines), "", popularity, shown=False)
    scores: dict[str, list[float]] = {}
    for pole, line in sure:
        if pole.axis in sides:
            row, gain = scores.setdefault(line.dimension, [0.0] * len(items)), strength(line)
            for place, side in enumerate(sides[pole.axis]):
                if side is pole.up:
                    row[place] += gain
    return scores


def _ranks(pole: Pole, line: Attribute) -> bool:
    return line.tier >= Tier.MEDIUM and pole.axis not in _OUTSIDE and not pole.axis.startswith(BY)
