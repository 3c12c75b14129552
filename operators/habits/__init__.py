"""How a user decides, learned from choices without a model: criteria and patterns, tested against chance.

`sides_of` places each item of a list on every axis (cheaper or dearer, familiar or new, ...), `learn` counts a choice,
`fold` lets counts fade and grow, `lines_of` selects the habits that are sure enough for a skill, `habit_scores` ranks.
"""

from operators.habits.axes import POLE_OF, POLES, Pole, is_habit
from operators.habits.lines import Sure, fold, habit_scores, learn, lines_of, nats, seen_from, stays
from operators.habits.sides import Before, Sides, shown_of, sides_of

__all__ = ["POLES", "POLE_OF", "Before", "Pole", "Sides", "Sure", "fold", "habit_scores", "is_habit", "learn"]
__all__ += ["lines_of", "nats", "seen_from", "shown_of", "sides_of", "stays"]
