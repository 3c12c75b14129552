from collections.abc import Callable
from typing import Any

import pytest

from operators.statinit import yelp

Read = Callable[..., dict[str, list[str]]]

SPELLINGS: list[dict[str, Any]] = [
    {"Ambience.casual": "True", "Ambience.divey": "False", "GoodForMeal.latenight": "True"},
    {"Ambience": "{'romantic': False, 'casual': True}", "GoodForMeal": "{u'latenight': True, u'lunch': False}"},
    {"Ambience": {"romantic": False, "casual": True}, "GoodForMeal": {"latenight": True}},
    {"Ambience": "Ambience_casual", "GoodForMeal": "GoodForMeal_latenight", "Flags": "GoodForKids OutdoorSeating"},
]


@pytest.mark.parametrize("attributes", SPELLINGS)
def test_all_four_spellings_of_attributes_say_the_same(read: Read, attributes: dict[str, Any]) -> None:
    expected = {"ambience": ["casual"], "meal": ["late night"]}

    assert read(yelp.parse, attributes=attributes) == expected
    assert read(yelp.parse, attributes=str(attributes)) == expected or "'{" in str(attributes)
    assert read(yelp.parse, **attributes) == expected, "the attributes may stand in the metadata itself"


def test_several_joined_words_are_all_read(read: Read) -> None:
    found = read(yelp.parse, attributes={"Ambience": "Ambience_casual Ambience_divey", "GoodForMeal": "None"})

    assert found == {"ambience": ["divey", "casual"]}, "the rarest first"


def test_plain_lists_are_read_too(read: Read) -> None:
    assert read(yelp.parse, ambience=["Casual", "lovely"], meals="late night, brunch") == {
        "ambience": ["casual"],
        "meal": ["late night", "brunch"],
    }


@pytest.mark.parametrize("categories", ["Restaurants, Ramen, Bars, Food", ["Restaurants", "Ramen", "Bars", "Food"]])
def test_categories_lose_the_words_that_all_places_share(read: Read, categories: object) -> None:
    assert read(yelp.parse, categories=categories) == {"category": ["ramen", "bars"]}


def test_a_category_torn_at_its_comma_is_joined_again(read: Read) -> None:
    assert read(yelp.parse, categories="Wine & Spirits, Tapas, Beer") == {"category": ["beer, wine & spirits", "tapas"]}


@pytest.mark.parametrize(
    ("price", "tier"), [("2", ["$$"]), (3, ["$$$"]), ("'1'", ["$"]), ("u'4'", ["$$$$"]), ("$$", ["$$"])]
)
def test_price_is_a_tier_of_dollar_signs(read: Read, price: object, tier: list[str]) -> None:
    assert read(yelp.parse, attributes={"RestaurantsPriceRange2": price}) == {"price": tier}
    assert read(yelp.parse, price=price) == {"price": tier}


@pytest.mark.parametrize("price", ["None", 0, 5, True, "cheap", "12", None, 2**64 - 1, [2]])
def test_what_is_no_price_tier_is_left_out(read: Read, price: object) -> None:
    assert read(yelp.parse, attributes={"RestaurantsPriceRange2": price}) == {}


def test_the_state_stands_in_for_an_unknown_city(read: Read) -> None:
    assert read(yelp.parse, city="Port  Varga", state="VA") == {"city": ["Port Varga"]}
    assert read(yelp.parse, city="", state="VA") == {"city": ["VA"]}


@pytest.mark.parametrize(("stars", "rated"), [(4, True), ("4.5", True), (3.9, False), ("five", False), (99, False)])
def test_four_stars_are_highly_rated(read: Read, stars: object, rated: bool) -> None:
    assert read(yelp.parse, stars=stars) == ({"rating": ["highly rated"]} if rated else {})
