"""Habits are a fold of the log, like all else of a skill; what a person says of them counts."""

import random
from itertools import count

import pytest

from operators.habit_directions import DIRECTIONS, Direction
from operators.learning.commands import resolve_command
from operators.learning.fold import fold, merge
from operators.learning.questions import Sides, TasteHistory, sides_of_items
from operators.redaction import redact_skill_log
from operators.slim.rules import slim
from schemas import Action, Attribute, PolicySkill, SkillDiff, decode, encode, line_digest
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.builders import a_command
from tests.unit.habits.habits_builders import User, blindly, by_habit, ever_found, found_after, play, set_of, shown

RARE = next(pole for pole in DIRECTIONS if pole.value == "picks what few others take")


def history(choices: int = 40, seed: int = 3) -> list[SkillDiff]:
    diffs = []
    for user in play(by_habit(RARE), "books", choices, seed):
        assert user.skill is not None
        assert user.skill.last_diff is not None
        diffs.append(user.skill.last_diff)
    return diffs


@pytest.fixture(scope="module")
def log() -> list[SkillDiff]:
    return history()


def skill_of(diffs: list[SkillDiff]) -> PolicySkill:
    [skill] = fold(diffs).values()
    return skill


def test_habits_are_the_fold_of_the_log(log: list[SkillDiff]) -> None:
    *_, user = play(by_habit(RARE), "books", 40, 3)
    assert user.skill is not None

    again = skill_of([decode(SkillDiff, encode(diff)) for diff in log])

    assert encode(again) == encode(user.skill)
    assert encode(decode(PolicySkill, encode(again))) == encode(again)
    assert again.habits["popularity"].asked > 20_000


def test_a_proven_habit_is_in_the_slim_skill(log: list[SkillDiff]) -> None:
    short = slim(skill_of(log), gate=OUTPUT_GATE)

    assert "picks what few others take" in short.style
    assert short.tokens <= 30


class TestPersons:
    def test_a_removed_habit_starts_from_zero(self, log: list[SkillDiff]) -> None:
        skill = skill_of(log)
        command = a_command(Action.REMOVE, attribute_id=RARE.attribute_id)

        after = merge(skill, resolve_command(skill, command, privacy=PRIVACY, gate=OUTPUT_GATE))

        assert "popularity" not in after.habits
        assert after.habits.keys() == skill.habits.keys() - {"popularity"}
        assert RARE.attribute_id not in lines(choose(after))

    def test_a_pinned_habit_stays(self, log: list[SkillDiff]) -> None:
        skill = skill_of(log)
        skill = merge(
            skill,
            resolve_command(
                skill, a_command(Action.PIN, attribute_id=RARE.attribute_id), privacy=PRIVACY, gate=OUTPUT_GATE
            ),
        )

        for seed in range(60):
            skill = choose(skill, popular=True, seed=seed)

        assert lines(skill)[RARE.attribute_id].pinned

    def test_an_erased_habit_is_in_no_diff(self, log: list[SkillDiff]) -> None:
        line = line_digest(log[0].user_id, log[0].domain, RARE.attribute_id)

        rewritten = redact_skill_log(log, line)

        raw = b"".join(encode(diff) for diff in rewritten)
        assert b"few others" not in raw
        assert all(diff.count_delta is None or "popularity" not in diff.count_delta.habits for diff in rewritten)
        assert skill_of(rewritten).habits == {
            axis: counts for axis, counts in skill_of(log).habits.items() if axis != "popularity"
        }


def lines(skill: PolicySkill) -> dict[str, Attribute]:
    return {line.attribute_id: line for line in skill.attributes}


def choose(skill: PolicySkill, *, popular: bool = False, seed: int = 1) -> PolicySkill:
    items = shown(random.Random(seed), "books", [])
    row = sides_of_items(items, TasteHistory.of(skill.attributes))["popularity"]
    user = User(skill.domain)
    user.skill = skill.model_copy(update={"recent": ()})
    user.takes(items, next(n for n, side in enumerate(row) if side is popular))
    assert user.skill is not None
    return user.skill


WITHIN = 100
"""docs/learning.md has what is usual; this is for the unluckiest of a few."""


@pytest.mark.parametrize("pole", DIRECTIONS, ids=lambda pole: pole.value)
def test_every_habit_is_found_with_a_fifth_of_noise(pole: Direction) -> None:
    found = [found_after(pole, seed) for seed in range(2)]

    assert min(number or WITHIN + 1 for number in found) <= WITHIN, found


def test_random_choices_prove_no_habit() -> None:
    # Fewer than two of a hundred ever have one, docs/learning.md: more than one of a dozen would be a bug.
    assert len([seed for seed in range(12) if ever_found(seed, choices=150)]) <= 1


def test_an_abandoned_habit_disappears() -> None:
    [rare] = [pole for pole in DIRECTIONS if pole.value == "picks what few others take"]
    steady, numbers = by_habit(rare), count()

    def choose(rng: random.Random, sides: Sides, size: int) -> int:
        return (steady if next(numbers) < 50 else blindly)(rng, sides, size)

    held = [rare.attribute_id in user.habits for user in play(choose, set_of(rare), 200, seed=1)]

    assert held[49]
    assert not held[-1]
