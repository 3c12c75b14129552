"""What a person's habits say for each candidate of a list: the ranker adds it to what the other lines say."""

from collections.abc import Mapping, Sequence
from typing import Final

from operators.evidence import strength
from operators.habits.axes import BY, POLE_OF, POSITION, REQUEST, Pole
from operators.habits.sides import Before, sides_of
from schemas import Attribute, ItemFacts, Tier

_OUTSIDE: Final = frozenset({POSITION, REQUEST})
"""Where something stands is what a ranking is to find out, and what was asked for comes before any sum."""


def habit_scores(
    items: Sequence[ItemFacts], lines: Sequence[Attribute], popularity: Mapping[str, int] | None
) -> dict[str, list[float]]:
    """By the dimension of the line, how much the sure habits speak for each item of a list; nothing for who has none.

    An item on the side that a line names gains what the line's evidence says; one on the other side, or on neither,
    gains nothing. Which dimension decides is in the tastes' own weights already.
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
