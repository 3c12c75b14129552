"""Yelp's Open Dataset."""

from datetime import UTC, datetime

import pytest

from operators.statinit import parser_for
from streams.importers import DataSetError, Format, Visit, detect, load
from tests.unit.importers.importers_builders import write_lines

PLACE = {
    "business_id": "b1",
    "name": "The Copper Ladle",
    "address": "1 Made-up Street",
    "city": "Reno",
    "state": "NV",
    "stars": 4.5,
    "review_count": 812,
    "is_open": 1,
    "attributes": {"RestaurantsPriceRange2": "2", "Ambience": "{'romantic': True, 'casual': False}"},
    "categories": "Thai, Restaurants",
    "hours": None,
}


def review(user="ann", place="b1", date="2016-03-09 20:56:38", stars=4.0):
    return {"review_id": "r", "user_id": user, "business_id": place, "stars": stars, "date": date, "text": "Fine."}


def write(folder, *reviews, places=(PLACE,), ending=".json"):
    write_lines(folder / f"yelp_academic_dataset_business{ending}", *places)
    write_lines(folder / f"yelp_academic_dataset_review{ending}", *reviews)
    return folder


def test_places_keep_raw_facts_that_the_parser_reads(tmp_path):
    data = load(write(tmp_path, review()))

    assert detect(tmp_path) is Format.YELP
    assert data.domain == "yelp"
    assert data.items["b1"].title == "The Copper Ladle"
    facts = {(fact.dimension, fact.value) for fact in parser_for("yelp", {})(data.items["b1"])}
    assert facts == {("category", "thai"), ("price", "$$"), ("city", "Reno"), ("ambience", "romantic")}


def test_totals_that_count_later_visits_are_left_out(tmp_path):
    metadata = load(write(tmp_path, review())).items["b1"].metadata

    assert not {"stars", "review_count", "is_open"} & set(metadata)


def test_reviews_become_visits_oldest_first(tmp_path):
    other = {**PLACE, "business_id": "b2"}
    write(tmp_path, review(date="2018-01-01 00:00:00"), review(place="b2"), places=(PLACE, other), ending=".json.gz")

    assert load(tmp_path).histories == {
        "ann": [
            Visit("b2", datetime(2016, 3, 9, 20, 56, 38, tzinfo=UTC)),
            Visit("b1", datetime(2018, 1, 1, tzinfo=UTC)),
        ]
    }


def test_the_catalogue_holds_what_the_kept_users_met(tmp_path):
    write(tmp_path, review(), review("bob", "b2"), places=(PLACE, {**PLACE, "business_id": "b2"}))

    assert list(load(tmp_path, limit_users=1).items) == ["b1"]
    assert list(load(tmp_path).items) == ["b1", "b2"]


def test_low_ratings_and_unknown_places_are_left_out_and_counted(tmp_path):
    data = load(write(tmp_path, review(), review(stars=2.0), review(place="gone")), min_rating=3)

    assert data.visits == 1
    assert data.skipped == {"visits rated below 3": 1, "visits to items that are not in the catalogue": 1}


@pytest.mark.parametrize("broken", [{"user_id": None}, {"date": "yesterday"}, {"date": 5}, {"stars": "many"}])
def test_a_broken_review_is_named_by_file_and_line(tmp_path, broken):
    write(tmp_path, review(), {**review(), **broken})

    with pytest.raises(DataSetError, match=r"review\.json, line 2: needs user_id, business_id"):
        load(tmp_path)
