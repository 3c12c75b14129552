"""Counts, what they prove, and how lines come and go with them."""

import math
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from operators.habit_directions import DIRECTIONS
from operators.learning.habits import (
    count_choice,
    counts_for_side,
    evidence_nats,
    fold_habits,
    proven_habits,
    proves_less,
)
from operators.learning.questions import Side, TasteHistory, sides_of_items
from schemas import ONE, HabitCounts, ItemFacts, Tier
from tests.builders import an_attribute, facts, item_facts

RARE = next(pole for pole in DIRECTIONS if pole.value == "picks what few others take")
ADDED = st.tuples(st.sampled_from([0, ONE]), st.integers(1, ONE - 1))
COUNTS = st.tuples(st.integers(0, 64 * ONE), st.integers(0, 64 * ONE), st.integers(0, 64 * ONE)).map(
    lambda parts: HabitCounts(min(parts[0], parts[2]), min(parts[1], parts[2]), parts[2])
)


def after(*choices: tuple[int, int]) -> HabitCounts:
    habits: dict[str, HabitCounts] = {}
    for choice in choices:
        habits = fold_habits(habits, {"popularity": choice})
    return habits["popularity"]


@settings(max_examples=100, deadline=None)
@given(st.lists(ADDED, min_size=1, max_size=300))
def test_habit_counts_stay_bounded(choices: list[tuple[int, int]]) -> None:
    taken, expected, asked = after(*choices)

    assert 0 <= taken <= asked <= 65 * ONE
    assert 0 < expected < asked


@settings(max_examples=300, deadline=None)
@given(COUNTS, st.floats(0.1, 20))
def test_the_quadratic_bound_never_hides_evidence(counts: HabitCounts, least: float) -> None:
    for up in (True, False):
        proof = evidence_nats(counts_for_side(counts, up))
        assert 0 <= proof <= 700
        if proves_less(counts, least):
            assert proof <= least


def test_habit_lines_have_hysteresis() -> None:
    held: dict[str, Tier] = {}
    habits: dict[str, HabitCounts] = {}
    told = []
    for taken in [0] * 30 + [ONE] * 40:
        habits = fold_habits(habits, {"popularity": (taken, 512)})
        found = proven_habits(habits, held)
        held = {name: sure.tier for name, sure in found.items()}
        told.append(held.get(RARE.attribute_id))

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


def test_only_the_strongest_deciding_dimension_is_a_habit() -> None:
    weak, strong = HabitCounts(20 * ONE, 8 * ONE, 20 * ONE), HabitCounts(20 * ONE, 5 * ONE, 20 * ONE)

    found = proven_habits({"by_genre": weak, "by_mood": strong}, {})

    assert [sure.direction.axis for sure in found.values()] == ["by_mood"]


def priced(*prices: float | None) -> list[ItemFacts]:
    return [
        ItemFacts(item_id=f"i{n}", measures={} if price is None else {"popularity": price})
        for n, price in enumerate(prices)
    ]


NOTHING = TasteHistory()


def row(name: str, items: list[ItemFacts], before: TasteHistory = NOTHING, instruction: str = "") -> list[Side]:
    return list(sides_of_items(items, before, instruction, shown=False).get(name, ()))


def test_items_at_the_median_have_no_side() -> None:
    assert row("popularity", priced(1, 2, 3, 4, 5)) == [False, False, None, True, True]


def test_a_dimension_splits_items_by_taste_strength() -> None:
    lines = [an_attribute("mood: dark", taken=9 * ONE), an_attribute("mood: odd", taken=ONE, expected=ONE)]
    items = [item_facts("a", "mood: dark"), item_facts("b", "mood: odd"), item_facts("c", "mood: light")]

    assert row("by_mood", items, TasteHistory.of(lines)) == [True, False, False]


AMOUNT = st.floats(0, 1e9) | st.sampled_from([0.0, 1.0, 2.0, math.nextafter(1, 2), 1e9])
ITEM = st.builds(
    ItemFacts,
    item_id=st.sampled_from(["a", "b", "c", "d"]) | st.text(min_size=1, max_size=3).filter(str.isprintable),
    title=st.sampled_from(["", "Noir", "Light"]),
    facts=st.lists(
        st.sampled_from(facts("genre: noir", "genre: saga", "author: Jo Wick", "author: Bo Lind", "mood: dark")),
        max_size=4,
    ).map(tuple),
    measures=st.dictionaries(st.sampled_from(["popularity", "year", "rating", "weight"]), AMOUNT, max_size=3),
)
BEFORE = TasteHistory.of(
    [
        an_attribute("genre: noir", support=2, taken=4 * ONE),
        an_attribute("author: Jo Wick", support=1, taken=ONE),
        an_attribute("mood: dark", support=1, taken=ONE),
    ],
    ["a"],
)


@settings(max_examples=150, deadline=None)
@given(st.lists(ITEM, max_size=12), st.randoms(use_true_random=False))
def test_sides_do_not_depend_on_the_order(items: list[ItemFacts], rng: random.Random) -> None:
    known = sides_of_items(items, BEFORE, "noir", {"a": 3}, shown=False)
    order = list(range(len(items)))
    rng.shuffle(order)

    again = sides_of_items([items[place] for place in order], BEFORE, "noir", {"a": 3}, shown=False)

    assert {name: list(row) for name, row in again.items()} == {
        name: [row[place] for place in order] for name, row in known.items()
    }
    for sides in known.values():
        assert {True, False} <= set(sides)


@settings(max_examples=150, deadline=None)
@given(st.lists(ITEM, min_size=1, max_size=12), st.data())
def test_a_random_choice_adds_no_evidence_on_average(items: list[ItemFacts], data: st.DataObject) -> None:
    sides = sides_of_items(items, BEFORE, "noir")

    added = count_choice(sides, data.draw(st.integers(0, len(items) - 1)))

    assert all(taken in (0, ONE) and 0 < expected < ONE for taken, expected in added.values())
    for name, row in sides.items():
        told = [count_choice({name: row}, place)[name] for place, side in enumerate(row) if side is not None]
        # Had each been taken once: as often as expected, but for the rounding.
        assert abs(sum(taken - expected for taken, expected in told)) <= len(told)
