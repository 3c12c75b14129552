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


@pytest.mark.parametrize("categories", ["Restaurants, Ramen, Bars, Food", ["Restaurants", "Ramen", "Bars", "Food"]])
def test_categories_lose_the_words_that_all_places_share(read: Read, categories: object) -> None:
    assert read(yelp.parse, categories=categories) == {"category": ["ramen", "bars"]}
