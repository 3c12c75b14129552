"""Users with a known way to decide are found out, and those without one are left in peace (docs/learning.md)."""

import random
from itertools import count

import pytest

from operators.habit_directions import DIRECTIONS, Direction
from operators.learning.questions import Sides
from tests.unit.habits.habits_planted import blindly, by_habit, ever_found, found_after, play, set_of

WITHIN = 100
"""docs/learning.md has what is usual; this is for the unluckiest of a few."""


@pytest.mark.parametrize("pole", DIRECTIONS, ids=lambda pole: pole.value)
def test_every_habit_is_found_behind_a_fifth_of_noise(pole: Direction) -> None:
    found = [found_after(pole, seed) for seed in range(2)]

    assert min(number or WITHIN + 1 for number in found) <= WITHIN, found


def test_who_chooses_blindly_has_no_habit() -> None:
    # Fewer than two of a hundred ever have one, docs/learning.md: more than one of a dozen would be a bug.
    assert len([seed for seed in range(12) if ever_found(seed, choices=150)]) <= 1


def test_habit_that_is_given_up_is_forgotten() -> None:
    [cheaper] = [pole for pole in DIRECTIONS if pole.value == "picks cheaper than average"]
    steady, numbers = by_habit(cheaper), count()

    def choose(rng: random.Random, sides: Sides, size: int) -> int:
        return (steady if next(numbers) < 50 else blindly)(rng, sides, size)

    held = [cheaper.attribute_id in user.habits for user in play(choose, set_of(cheaper), 200, seed=1)]

    assert held[49]
    assert not held[-1]
