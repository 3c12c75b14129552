"""Counts, what they prove, and how lines come and go with them."""

from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.habits import POLES, fold, habit_scores, lines_of, log_odds, nats, seen_from, stays
from operators.habits.counts import proves_less
from operators.habits.lines import DEFAULT
from schemas import ONE, HabitCounts, Tier
from tests.builders import an_attribute

CHEAPER = next(pole for pole in POLES if pole.value == "picks cheaper than average")
ADDED = st.tuples(st.sampled_from([0, ONE]), st.integers(1, ONE - 1))
COUNTS = st.tuples(st.integers(0, 64 * ONE), st.integers(0, 64 * ONE), st.integers(0, 64 * ONE)).map(
    lambda parts: HabitCounts(min(parts[0], parts[2]), min(parts[1], parts[2]), parts[2])
)


def after(*choices: tuple[int, int]) -> HabitCounts:
    habits: dict[str, HabitCounts] = {}
    for choice in choices:
        habits = fold(habits, {"price": choice})
    return habits["price"]


@settings(max_examples=100, deadline=None)
@given(st.lists(ADDED, min_size=1, max_size=300))
def test_counts_stay_bounded_and_in_their_order(choices: list[tuple[int, int]]) -> None:
    taken, expected, asked = after(*choices)

    assert 0 <= taken <= asked <= 65 * ONE
    assert 0 < expected < asked


@settings(max_examples=300, deadline=None)
@given(COUNTS, st.floats(0.1, 20))
def test_the_cheap_bound_never_hides_a_proof(counts: HabitCounts, least: float) -> None:
    for up in (True, False):
        proof = nats(seen_from(counts, up))
        assert 0 <= proof <= 700
        if proves_less(counts, least):
            assert proof <= least
        assert 0 <= log_odds(seen_from(counts, up)) <= 3


def test_both_sides_are_seen_from_the_same_counts() -> None:
    counts = HabitCounts(2 * ONE, 5 * ONE, 10 * ONE)

    assert seen_from(counts, up=False) == HabitCounts(8 * ONE, 5 * ONE, 10 * ONE)
    assert nats(counts) == 0
    assert nats(seen_from(counts, up=False)) > 1.5


def test_a_habit_is_a_line_when_it_is_sure_and_stays_one_until_it_is_not() -> None:
    held: dict[str, Tier] = {}
    habits: dict[str, HabitCounts] = {}
    told = []
    for taken in [0] * 30 + [ONE] * 40:
        habits = fold(habits, {"price": (taken, 512)})
        found = lines_of(habits, held)
        held = {name: sure.tier for name, sure in found.items()}
        told.append(held.get(CHEAPER.attribute_id))

    came, rose = told.index(Tier.MEDIUM), told.index(Tier.HIGH)
    assert (came, rose) == (10, 26)
    assert set(told[came:30]) == {Tier.MEDIUM, Tier.HIGH}
    fell = told.index(Tier.MEDIUM, rose)
    gone = told.index(None, fell)
    assert rose < fell < gone
    # No coming and going on the way: each step once.
    assert told == [None] * came + [Tier.MEDIUM] * (rose - came) + [Tier.HIGH] * (fell - rose) + [Tier.MEDIUM] * (
        gone - fell
    ) + [None] * (len(told) - gone)


def test_of_dimensions_that_decide_only_the_surest_is_a_line() -> None:
    sure, surer = HabitCounts(20 * ONE, 8 * ONE, 22 * ONE), HabitCounts(21 * ONE, 8 * ONE, 22 * ONE)

    assert list(lines_of({"by_mood": sure, "by_genre": surer}, {})) == ["criterion:decision:decides-by-genre"]
    # One that is held stays, unless another proves much more.
    held = {"criterion:decision:decides-by-mood": Tier.MEDIUM}
    assert list(lines_of({"by_mood": sure, "by_genre": surer}, held)) == ["criterion:decision:decides-by-mood"]


def test_there_are_never_more_than_a_few() -> None:
    sure = HabitCounts(30 * ONE, 8 * ONE, 32 * ONE)
    habits = {pole.axis: sure for pole in POLES}

    found = lines_of(habits, {})

    assert len(found) == DEFAULT.most
    assert lines_of(habits, {name: sure.tier for name, sure in found.items()}).keys() == found.keys()


def test_line_from_elsewhere_has_some_choices_before_counts_decide() -> None:
    line = "pattern:exploration:stays-with-favourite-genres"

    assert stays(line, {})
    assert stays(line, {"known_genre": HabitCounts(0, 3 * ONE, 7 * ONE)})
    assert not stays(line, {"known_genre": HabitCounts(0, 3 * ONE, 9 * ONE)})


class TestScores:
    LINE = an_attribute("by price: picks cheaper than average", Tier.MEDIUM).model_copy(
        update={"attribute_id": CHEAPER.attribute_id}
    )
    HABITS: ClassVar = {"price": HabitCounts(3 * ONE, 15 * ONE, 30 * ONE)}

    def test_an_item_on_the_side_of_a_sure_habit_gains(self) -> None:
        gained = habit_scores({"price": [True, False, None]}, [self.LINE], self.HABITS)

        assert gained[0] == gained[2] == 0
        assert gained[1] == pytest.approx(0.5 * log_odds(seen_from(self.HABITS["price"], up=False)))

    def test_nothing_is_gained_without_a_line_a_choice_or_a_count(self) -> None:
        low = self.LINE.model_copy(update={"tier": Tier.LOW})

        assert habit_scores({"price": [True, False]}, [low, an_attribute("genre: noir")], self.HABITS) == []
        assert habit_scores({}, [self.LINE], self.HABITS) == []
        assert habit_scores({"price": [True, False]}, [self.LINE], {}) == []
