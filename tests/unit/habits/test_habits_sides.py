"""Where the items of a list stand: by measures, by what was taken before, by the request, by place."""

import math
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from operators.habits import Before, learn, sides_of
from operators.habits.sides import Side
from schemas import ONE, Evidence, ItemFacts, Tier
from tests.builders import an_attribute, facts, item_facts


def priced(*prices: float | None) -> list[ItemFacts]:
    return [
        ItemFacts(item_id=f"i{n}", measures={} if price is None else {"price": price}) for n, price in enumerate(prices)
    ]


NOTHING = Before()


def row(name: str, items: list[ItemFacts], before: Before = NOTHING, instruction: str = "") -> list[Side]:
    return list(sides_of(items, before, instruction, shown=False).get(name, ()))


class TestMeasures:
    def test_items_are_above_or_below_the_median_and_those_at_it_are_neither(self) -> None:
        assert row("price", priced(1, 2, 3, 4, 5)) == [False, False, None, True, True]


class TestBefore:
    def test_a_dimension_decides_by_how_much_of_the_taste_an_item_has(self) -> None:
        lines = [an_attribute("mood: dark", taken=9 * ONE), an_attribute("mood: odd", Tier.SILENT, taken=9 * ONE)]
        items = [item_facts("a", "mood: dark"), item_facts("b", "mood: odd"), item_facts("c", "mood: light")]

        assert row("by_mood", items, Before.of(lines)) == [True, False, False]


AMOUNT = st.floats(0, 1e9) | st.sampled_from([0.0, 1.0, 2.0, math.nextafter(1, 2), 1e9])
ITEM = st.builds(
    ItemFacts,
    item_id=st.sampled_from(["a", "b", "c", "d"]) | st.text(min_size=1, max_size=3).filter(str.isprintable),
    title=st.sampled_from(["", "Noir", "Light"]),
    facts=st.lists(
        st.sampled_from(facts("genre: noir", "genre: saga", "author: Jo Wick", "author: Bo Lind", "mood: dark")),
        max_size=4,
    ).map(tuple),
    measures=st.dictionaries(st.sampled_from(["price", "year", "rating", "weight"]), AMOUNT, max_size=3),
)
BEFORE = Before.of(
    [
        an_attribute("genre: noir", support=2, taken=4 * ONE, evidence=(Evidence(event_id="e", item_id="a"),)),
        an_attribute("author: Jo Wick", support=1, taken=ONE),
        an_attribute("mood: dark", support=1, taken=ONE),
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(ITEM, max_size=12), st.randoms(use_true_random=False))
def test_sides_are_the_items_own_whatever_their_order(items: list[ItemFacts], rng: random.Random) -> None:
    known = sides_of(items, BEFORE, "noir", {"a": 3}, shown=False)
    order = list(range(len(items)))
    rng.shuffle(order)

    again = sides_of([items[place] for place in order], BEFORE, "noir", {"a": 3}, shown=False)

    assert {name: list(row) for name, row in again.items()} == {
        name: [row[place] for place in order] for name, row in known.items()
    }
    for sides in known.values():
        assert {True, False} <= set(sides)


@settings(max_examples=150, deadline=None)
@given(st.lists(ITEM, min_size=1, max_size=12), st.data())
def test_what_a_choice_adds_is_bounded_and_averages_to_nothing(items: list[ItemFacts], data: st.DataObject) -> None:
    sides = sides_of(items, BEFORE, "noir")

    added = learn(sides, data.draw(st.integers(0, len(items) - 1)))

    assert all(taken in (0, ONE) and 0 < expected < ONE for taken, expected in added.values())
    for name, row in sides.items():
        told = [learn({name: row}, place)[name] for place, side in enumerate(row) if side is not None]
        # Had each been taken once: as often as expected, but for the rounding.
        assert abs(sum(taken - expected for taken, expected in told)) <= len(told)
