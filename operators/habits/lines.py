"""Which habits are sure, and how sure: with hysteresis, so that a line does not come and go with each choice."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from operators.habits.axes import BY, PLACE_OF, POLES, Pole
from operators.habits.counts import nats, proves_less, seen_from
from schemas import ONE, HabitCounts, Tier

APPEARS, RISES, FALLS, VANISHES = 7.0, 15.0, 10.0, 3.5
"""Nats from which a habit is a line at medium, and at high; under which a line is medium again, and goes."""
ASKED = 8
"""In so many choices, with decay, an axis must have been asked before a line goes that another source brought in."""
MOST = 6
"""At most so many habits are lines; those that are stay, and the surest come in."""


@dataclass(frozen=True)
class Sure:
    """A habit that is sure."""

    pole: Pole
    tier: Tier
    counts: HabitCounts
    proof: float


def lines_of(habits: Mapping[str, HabitCounts], held: Mapping[str, Tier]) -> dict[str, Sure]:
    """The habits that are lines of a skill now, by attribute id; those that `held` has and these lack are over.

    Of the dimensions by which somebody decides one is a line: the one that proves most, unless the one that is held
    proves two thirds as much.
    """
    found: dict[str, Sure] = {}
    for pole in _poles(frozenset(habits)):
        counts = habits[pole.axis]
        if proves_less(counts, VANISHES):
            continue
        before, seen = held.get(pole.attribute_id), seen_from(counts, pole.up)
        proof = nats(seen)
        tier = _tier(proof, before)
        if tier is not None:
            found[pole.attribute_id] = Sure(pole, tier, seen, proof)
    return _chosen(found, held)


@lru_cache(maxsize=256)
def _poles(axes: frozenset[str]) -> tuple[Pole, ...]:
    # The users of a domain have nearly the same axes.
    return tuple(pole for pole in POLES if pole.axis in axes)


def stays(line_id: str, habits: Mapping[str, HabitCounts]) -> bool:
    """Whether too few choices have asked about a line that another source brought in."""
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
