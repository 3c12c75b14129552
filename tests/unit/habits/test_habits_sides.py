"""Where the items of a list stand: by measures, by what was taken before, by the request, by place."""

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.habits import POLE_OF, POLES, Before, is_habit, learn, shown_of, sides_of
from operators.habits.sides import Side
from operators.vouch import is_closed
from schemas import ONE, Evidence, ItemFacts, Tier
from tests.builders import a_contrast, an_attribute, facts, item_facts


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

    def test_where_none_is_below_the_median_those_at_it_are(self) -> None:
        assert row("price", priced(1, 1, 1, 2)) == [False, False, False, True]
        assert row("price", priced(2, 2, 2, 1)) == [True, True, True, False]

    def test_one_absurd_price_does_not_make_all_others_cheap(self) -> None:
        assert row("price", priced(1, 2, 3, 1e9)) == [False, False, True, True]

    def test_items_without_the_measure_are_on_neither_side(self) -> None:
        assert row("price", priced(None, 1, 2, 3, 4)) == [None, False, False, True, True]

    @pytest.mark.parametrize("prices", [(), (1,), (1, 2), (None, 1, 2), (3, 3, 3)])
    def test_list_that_leaves_no_choice_asks_nothing(self, prices: tuple[float | None, ...]) -> None:
        assert row("price", priced(*prices)) == []

    def test_popularity_is_what_items_say_else_what_the_worker_knows(self) -> None:
        items = priced(1, 2, 3, 4)
        known = {"i0": 90, "i2": 7}

        assert sides_of(items, popularity=known)["popularity"] == [True, False, True, False]
        told = [item.model_copy(update={"measures": {"popularity": n}}) for n, item in enumerate(items)]
        assert sides_of(told, popularity=known)["popularity"] == [False, False, True, True]


class TestBefore:
    def test_returning_is_to_items_in_the_evidence_of_lines(self) -> None:
        line = an_attribute("genre: noir", evidence=(Evidence(event_id="e", item_id="i1"), Evidence(event_id="said")))

        assert row("again", priced(1, 2, 3), Before.of([line])) == [False, True, False]

    def test_creators_are_familiar_if_there_is_a_line_of_any_of_them(self) -> None:
        items = [
            item_facts("a", "author: Mina Sorel", "author: Jo Wick"),
            item_facts("b", "author: Bo Lind"),
            item_facts("c", "genre: noir"),
            item_facts("d", "author: Jo Wick"),
        ]

        assert row("known_author", items, Before.of([an_attribute("author: Jo Wick", support=1)])) == [
            True, False, None, True,
        ]  # fmt: skip

    def test_of_genres_the_first_counts_and_the_three_taken_most_are_familiar(self) -> None:
        lines = [an_attribute(f"genre: g{n}", support=1, taken=n * ONE) for n in range(5)]
        items = [
            item_facts("a", "genre: g4", "genre: g0"),
            item_facts("b", "genre: g0", "genre: g4"),
            item_facts("c", "genre: g3"),
        ]

        assert row("known_genre", items, Before.of(lines)) == [True, False, True]

    def test_what_only_the_population_likes_is_not_familiar(self) -> None:
        assert Before.of([an_attribute("author: Jo Wick", support=0)]).familiar == {}

    def test_a_dimension_decides_by_how_much_of_the_taste_an_item_has(self) -> None:
        lines = [an_attribute("mood: dark", taken=9 * ONE), an_attribute("mood: odd", Tier.SILENT, taken=9 * ONE)]
        items = [item_facts("a", "mood: dark"), item_facts("b", "mood: odd"), item_facts("c", "mood: light")]

        assert row("by_mood", items, Before.of(lines)) == [True, False, False]

    def test_habit_lines_tell_nothing_about_items(self) -> None:
        [pole] = [pole for pole in POLES if pole.axis == "price" and pole.up]
        line = an_attribute("genre: x").model_copy(
            update={"attribute_id": pole.attribute_id, "evidence": (Evidence(event_id="e", item_id="i1"),)}
        )

        assert is_habit(line)
        assert Before.of([line]) == Before()


class TestShown:
    def test_contrast_gives_back_the_list_as_it_was_shown(self) -> None:
        contrast = a_contrast(item_facts("c"), [["genre: x"]] * 3, chosen_rank=2)

        items, place = shown_of(contrast)

        assert [item.item_id for item in items] == ["left2", "c", "left1", "left0"]
        assert place == 1

    def test_place_beyond_the_list_is_the_last_and_an_item_counts_once(self) -> None:
        twice = a_contrast(item_facts("c"), [["genre: x"]] * 2, chosen_rank=99)
        twice = twice.model_copy(update={"unchosen": (*twice.unchosen, *twice.unchosen, item_facts("c"))})

        items, place = shown_of(twice)

        assert ([item.item_id for item in items], place) == (["left1", "left0", "c"], 2)

    def test_upper_half_stands_first_and_the_middle_is_neither(self) -> None:
        assert sides_of(priced(*[None] * 5))["position"] == [True, True, None, False, False]
        assert sides_of(priced(*[None] * 4))["position"] == [True, True, False, False]


def test_request_is_followed_by_items_with_its_words() -> None:
    items = [
        item_facts("a", "genre: film noir"),
        item_facts("b", "genre: saga", title="Noir"),
        item_facts("c", "mood: light"),
    ]

    assert row("request", items, instruction="some film noir") == [True, True, False]
    assert row("request", items, instruction="a western") == []


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


def test_two_hundred_candidates_are_no_matter() -> None:
    items = [item_facts(f"i{n}", "genre: noir").model_copy(update={"measures": {"price": n}}) for n in range(200)]

    assert learn(sides_of(items), 199) == {"price": (ONE, 512), "position": (0, 512)}


def test_all_words_are_closed_distinct_and_short() -> None:
    assert len(POLE_OF) == len(POLES) == len({(pole.dimension, pole.value) for pole in POLES})
    for pole in POLES:
        assert len(pole.value) <= 40
        assert is_closed(pole.dimension, pole.value)
