"""How a user decides, learned from choices without a model: criteria and patterns, tested against chance.

`sides_of` tells where each item of a list stands on every axis (cheaper or dearer, familiar or new, ...), `learn` what a
choice adds, `fold` how counts fade and grow, `lines_of` which habits are sure enough to be lines of a skill, and
`habit_scores` how they rank.
"""

from operators.habits.axes import POLE_OF, POLES, Pole, is_habit
from operators.habits.counts import fold, learn, nats, seen_from
from operators.habits.lines import Sure, habit_scores, lines_of, stays
from operators.habits.sides import Before, Sides, shown_of, sides_of

__all__ = ["POLES", "POLE_OF", "Before", "Pole", "Sides", "Sure", "fold", "habit_scores", "is_habit", "learn"]
__all__ += ["lines_of", "nats", "seen_from", "shown_of", "sides_of", "stays"]
