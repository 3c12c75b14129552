"""Which habits are sure, and how sure: with hysteresis, so that a line does not come and go with each choice."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from operators.habits.axes import BY, PLACE_OF, POLES, Pole
from operators.habits.counts import nats, proves_less, seen_from
from schemas import ONE, HabitCounts, Tier


@dataclass(frozen=True)
class Sureness:
    """From how many nats a habit is a line, and until when it stays one.

    Attributes:
        appears: a habit becomes a line at medium.
        rises, falls: a line becomes high, and medium again.
        vanishes: a line that proves less goes.
        asked: in how many choices, as they are still counted, the axis must have been asked before a line goes that
            something else brought in.
        most: at most so many habits are lines; those that are stay, and the surest come in.
    """

    appears: float = 7.0
    rises: float = 15.0
    falls: float = 10.0
    vanishes: float = 3.5
    asked: int = 8
    most: int = 6


DEFAULT: Final = Sureness()


@dataclass(frozen=True)
class Sure:
    """A habit that is sure.

    Attributes:
        pole: what the line says.
        tier: how sure it is.
        counts: what speaks for it, from its side.
        proof: in nats.
    """

    pole: Pole
    tier: Tier
    counts: HabitCounts
    proof: float


def lines_of(
    habits: Mapping[str, HabitCounts], held: Mapping[str, Tier], sureness: Sureness = DEFAULT
) -> dict[str, Sure]:
    """The habits that are lines of a skill now, by attribute id; those that `held` has and these lack are over.

    Of the dimensions by which somebody decides one is a line: the one that proves most, unless the one that is held
    proves two thirds as much.

    Args:
        habits: the counts of all axes.
        held: the tiers of the habit lines that the skill has.
        sureness: the thresholds.
    """
    found: dict[str, Sure] = {}
    for pole in _poles(frozenset(habits)):
        counts = habits[pole.axis]
        if proves_less(counts, sureness.vanishes):
            continue
        before, seen = held.get(pole.attribute_id), seen_from(counts, pole.up)
        proof = nats(seen)
        tier = _tier(proof, before, sureness)
        if tier is not None:
            found[pole.attribute_id] = Sure(pole, tier, seen, proof)
    return _chosen(found, held, sureness)


@lru_cache(maxsize=256)
def _poles(axes: frozenset[str]) -> tuple[Pole, ...]:
    # The users of a domain have nearly the same axes.
    return tuple(pole for pole in POLES if pole.axis in axes)


def stays(line_id: str, habits: Mapping[str, HabitCounts]) -> bool:
    """Whether too few choices have asked about a line that another source brought in."""
    counts = habits.get(POLES[PLACE_OF[line_id]].axis)
    return counts is None or counts.asked < DEFAULT.asked * ONE


def _tier(proof: float, before: Tier | None, sureness: Sureness) -> Tier | None:
    if proof >= (sureness.falls if before is Tier.HIGH else sureness.rises):
        return Tier.HIGH
    return Tier.MEDIUM if proof >= (sureness.appears if before is None else sureness.vanishes) else None


def _chosen(found: dict[str, Sure], held: Mapping[str, Tier], sureness: Sureness) -> dict[str, Sure]:
    def standing(sure: Sure) -> float:
        return sure.proof * (1.5 if sure.pole.attribute_id in held else 1.0)

    deciding = [sure for sure in found.values() if sure.pole.axis.startswith(BY)]
    for sure in sorted(deciding, key=standing, reverse=True)[1:]:
        del found[sure.pole.attribute_id]
    if len(found) <= sureness.most:
        return found
    ranked = sorted(found, key=lambda name: (name not in held, -found[name].proof, PLACE_OF[name]))
    kept = set(ranked[: sureness.most])
    return {name: sure for name, sure in found.items() if name in kept}
