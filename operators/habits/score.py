"""What a person's habits say for each candidate of a list: the ranker adds it to the skill's part."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from operators.habits.axes import BY, POLE_OF, POSITION, REQUEST
from operators.habits.counts import log_odds, seen_from
from operators.habits.sides import Sides
from schemas import Attribute, HabitCounts, Tier

_OUTSIDE: Final = frozenset({POSITION, REQUEST})
"""Where something stands is what a ranking is to find out, and what was asked for comes before any sum."""


@dataclass(frozen=True)
class HabitWeights:
    """How much a habit counts in a ranking, beside a line of a skill.

    Attributes:
        usual: of an axis that is not in `axes`.
        axes: by the axis's name.
    """

    usual: float = 0.5
    axes: Mapping[str, float] = field(default_factory=dict)


DEFAULT: Final = HabitWeights()


def habit_scores(
    sides: Sides,
    lines: Iterable[Attribute],
    habits: Mapping[str, HabitCounts],
    weights: HabitWeights = DEFAULT,
) -> Sequence[float]:
    """By the place in the list: how many natural units of log odds the sure habits speak for an item.

    An item on the side that a line names gains the line's log odds times the axis's weight, one on the other side or on
    neither gains nothing. Which dimension decides is in the tastes' own weights already.

    Args:
        sides: of the candidates, without `position`: `sides_of(..., shown=False)`.
        lines: the skill's; those that are no habits are passed over.
        habits: the skill's counts.
        weights: what counts how much.
    """
    scores: list[float] = []
    for line in lines:
        pole = POLE_OF.get(line.attribute_id)
        if pole is None or line.tier < Tier.MEDIUM or pole.axis in _OUTSIDE or pole.axis.startswith(BY):
            continue
        row, counts = sides.get(pole.axis), habits.get(pole.axis)
        if row is None or counts is None:
            continue
        gain = weights.axes.get(pole.axis, weights.usual) * log_odds(seen_from(counts, pole.up))
        scores = scores or [0.0] * len(row)
        scores = [score + (gain if side is pole.up else 0.0) for score, side in zip(scores, row, strict=True)]
    return scores
