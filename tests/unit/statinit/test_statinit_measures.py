"""What can be measured of an item, in every spelling, and nothing from what is no measure."""

import math
from typing import Any

import pytest
from hypothesis import given, settings

from operators.statinit import facts_of, parser_for
from operators.statinit.measures import measures_of
from schemas import MAX_MEASURE, Candidate, ItemFacts, Measure, decode, encode
from tests.unit.statinit.test_statinit_any_input import candidates


def measured(**metadata: Any) -> dict[str, float]:
    return measures_of(Candidate(item_id="i1", metadata=metadata))


@pytest.mark.parametrize(
    ("said", "amount"),
    [
        (12.5, 12.5),
        (3, 3.0),
        ("$$$", 3.0),
        ("12,99 €", 12.99),
        ("$1,299.00", 1_299.0),
        ("EUR 7", 7.0),
        ("$10-$20", 10.0),
    ],
)
def test_price_is_a_tier_or_the_first_number(said: object, amount: float) -> None:
    assert measured(price=said) == {"price": amount}


@pytest.mark.parametrize("attributes", [{"RestaurantsPriceRange2": "2"}, {"RestaurantsPriceRange2": "u'2'"}])
def test_price_tier_of_a_place_is_found_where_yelp_keeps_it(attributes: dict[str, str]) -> None:
    assert measured(attributes=attributes) == {"price": 2.0}


@pytest.mark.parametrize(("said", "minutes"), [("1h 38m", 98.0), ("98 min.", 98.0), ("2 hours", 120.0), (98, 98.0)])
def test_length_is_in_minutes_where_the_unit_is_given(said: object, minutes: float) -> None:
    assert measured(runtime=said) == {"length": minutes}


def test_distance_is_in_kilometres_where_the_unit_is_given() -> None:
    assert measured(distance="800 m") == measured(distance_m=800) == measured(distance=0.8) == {"distance": 0.8}
    assert measured(distance="0.5 mi") == {"distance": 0.804}


def test_a_better_key_comes_before_a_poorer_one_whatever_their_order() -> None:
    assert measured(score=9, stars=4) == measured(stars=4, score=9) == {"rating": 4.0}


def test_year_is_that_of_the_facts() -> None:
    film = Candidate(item_id="i1", title="Salt Harbour (1996)")

    assert facts_of(film, parser_for("films", {})).measures == {"year": 1996.0}


@pytest.mark.parametrize(
    "said", [True, None, "free", "-5", -5, 2**64 - 1, 1e10, [3], {"amount": 3}, "", "NaN", "inf", "not rated"]
)
def test_what_is_no_number_within_bounds_says_nothing(said: object) -> None:
    assert measured(price=said, stars=said, distance=said, length=said, votes=said) == {}


@pytest.mark.parametrize("said", [math.nan, math.inf, -math.inf])
def test_parser_does_not_rely_on_what_a_topic_lets_in(said: float) -> None:
    assert measures_of(Candidate.model_construct(item_id="i1", title="", metadata={"price": said})) == {}


@settings(max_examples=150, deadline=None)
@given(candidates())
def test_any_item_has_few_bounded_measures_that_a_record_can_hold(item: Candidate) -> None:
    found = measures_of(item)

    assert set(found) <= {measure.value for measure in Measure}
    assert all(0 <= amount <= MAX_MEASURE for amount in found.values())
    kept = ItemFacts(item_id="i1", measures=found)
    assert decode(ItemFacts, encode(kept)) == kept


def test_records_from_before_measures_and_of_newer_workers_are_read() -> None:
    assert decode(ItemFacts, b'{"item_id":"i1"}').measures == {}
    assert decode(ItemFacts, b'{"item_id":"i1","measures":{"weight":3.0}}').measures == {"weight": 3.0}
