"""Public data sets, each in the layout of its publisher."""

from datetime import UTC, datetime

import pytest

from operators.statinit import parser_for
from streams.importers import DataSetError, Format, Visit, detect, load
from tests.unit.importers.importers_builders import write_lines, write_movielens

# --- Yelp


YELP_PLACE = {
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


def yelp_review(user="ann", place="b1", date="2016-03-09 20:56:38", stars=4.0):
    return {"review_id": "r", "user_id": user, "business_id": place, "stars": stars, "date": date, "text": "Fine."}


def write_yelp(folder, *reviews, places=(YELP_PLACE,), ending=".json"):
    write_lines(folder / f"yelp_academic_dataset_business{ending}", *places)
    write_lines(folder / f"yelp_academic_dataset_review{ending}", *reviews)
    return folder


def test_yelp_places_keep_raw_facts_that_the_parser_reads(tmp_path):
    data = load(write_yelp(tmp_path, yelp_review()))

    assert detect(tmp_path) is Format.YELP
    assert data.domain == "yelp"
    assert data.items["b1"].title == "The Copper Ladle"
    facts = {(fact.dimension, fact.value) for fact in parser_for("yelp", {})(data.items["b1"])}
    assert facts == {("category", "thai"), ("price", "$$"), ("city", "Reno"), ("ambience", "romantic")}


def test_yelp_reviews_become_visits_oldest_first(tmp_path):
    other = {**YELP_PLACE, "business_id": "b2"}
    write_yelp(
        tmp_path,
        yelp_review(date="2018-01-01 00:00:00"),
        yelp_review(place="b2"),
        places=(YELP_PLACE, other),
        ending=".json.gz",
    )

    assert load(tmp_path).histories == {
        "ann": [
            Visit("b2", datetime(2016, 3, 9, 20, 56, 38, tzinfo=UTC)),
            Visit("b1", datetime(2018, 1, 1, tzinfo=UTC)),
        ]
    }


def test_yelp_low_ratings_and_unknown_places_are_left_out_and_counted(tmp_path):
    data = load(write_yelp(tmp_path, yelp_review(), yelp_review(stars=2.0), yelp_review(place="gone")), min_rating=3)

    assert data.visits == 1
    assert data.skipped == {"visits rated below 3": 1, "visits to items that are not in the catalogue": 1}


@pytest.mark.parametrize("broken", [{"user_id": None}, {"date": "yesterday"}, {"date": 5}, {"stars": "many"}])
def test_yelp_a_broken_review_is_named_by_file_and_line(tmp_path, broken):
    write_yelp(tmp_path, yelp_review(), {**yelp_review(), **broken})

    with pytest.raises(DataSetError, match=r"review\.json, line 2: needs user_id, business_id"):
        load(tmp_path)


# --- InstructRec


INSTRUCTREC_ANN = {
    "asin": [3, 1, 2],
    "instruction": "Something calm, please.",
    "ranked_lists": [4, 2, 0],
    "persona": "reader",
}
INSTRUCTREC_BOB = {"asin": [0, 4], "instruction": None, "ranked_lists": [1, 4]}


def write_mapping(folder, name="books", items=5):
    rows = "".join(f"{n},A{n},Title {n},\"['Text, {n}']\"\n" for n in range(items))
    (folder / f"combined_{name}_asin_mapping.csv").write_text("index,asin,title,description\n" + rows)
    return folder


def write_instructrec(folder, *users, name="books", items=5):
    write_lines(folder / f"{name}All_recagent.jsonl", *users)
    return write_mapping(folder, name, items)


def test_instructrec_users_are_numbered_and_keep_the_order_of_their_items(tmp_path):
    data = load(write_instructrec(tmp_path, INSTRUCTREC_ANN, INSTRUCTREC_BOB))

    assert detect(tmp_path) is Format.INSTRUCTREC
    assert {user: [visit.item_id for visit in visits] for user, visits in data.histories.items()} == {
        "0": ["3", "1", "2"],
        "1": ["0", "4"],
    }


def test_instructrec_the_last_visit_has_its_instruction_and_candidates(tmp_path):
    data = load(write_instructrec(tmp_path, INSTRUCTREC_ANN, INSTRUCTREC_BOB))

    assert data.instructions == {"0": "Something calm, please."}
    assert data.candidates == {"0": ("4", "2", "0"), "1": ("1", "4")}


def test_instructrec_only_kept_users_have_them(tmp_path):
    data = load(write_instructrec(tmp_path, INSTRUCTREC_ANN, INSTRUCTREC_BOB), limit_users=1)

    assert set(data.instructions) == set(data.candidates) == set(data.histories) == {"0"}


@pytest.mark.parametrize("user", [{**INSTRUCTREC_ANN, "ranked_lists": [2, 9]}, {**INSTRUCTREC_ANN, "asin": [3, 1, 9]}])
def test_instructrec_candidates_that_are_of_no_known_visit_are_left_out(tmp_path, user):
    assert load(write_instructrec(tmp_path, user)).candidates == {}


def test_instructrec_items_are_named_by_their_number_in_the_lists(tmp_path):
    item = load(write_instructrec(tmp_path, INSTRUCTREC_ANN)).items["3"]

    assert (item.title, item.description, item.metadata) == ("Title 3", "['Text, 3']", {"asin": "A3"})


def test_instructrec_descriptions_may_be_longer_than_the_csv_modules_limit(tmp_path):
    write_instructrec(tmp_path, {**INSTRUCTREC_ANN, "asin": [0], "ranked_lists": [0]})
    (tmp_path / "combined_books_asin_mapping.csv").write_text(f"index,title,description\n0,Long,{'x' * 200_000}\n")

    assert len(load(tmp_path).items["0"].description) == 4_000


@pytest.mark.parametrize(("name", "domain"), [("reads", "goodreads"), ("movietv", "movietv"), ("yelp", "yelp")])
def test_instructrec_the_domain_follows_from_the_set(tmp_path, name, domain):
    assert load(write_instructrec(tmp_path, INSTRUCTREC_ANN, name=name)).domain == domain


def test_instructrec_a_pickled_table_is_not_opened_and_the_error_names_the_page_that_converts_it(tmp_path):
    (write_mapping(tmp_path) / "booksAll_recagent.pkl").write_bytes(b"cos\nsystem\n(S'false'\ntR.")

    with pytest.raises(DataSetError, match=r"docs/datasets\.md for \.pkl"):
        load(tmp_path)


@pytest.mark.parametrize("broken", [{"asin": None}, {"asin": [1.5]}, {"ranked_lists": 4}])
def test_instructrec_a_broken_user_is_named_by_file_and_line(tmp_path, broken):
    write_instructrec(tmp_path, INSTRUCTREC_ANN, {**INSTRUCTREC_BOB, **broken})

    with pytest.raises(DataSetError, match=r"booksAll_recagent\.jsonl, line 2: needs asin"):
        load(tmp_path)


# --- MovieLens


def test_movielens_films_keep_raw_genres_and_get_their_year(tmp_path):
    data = load(write_movielens(tmp_path))

    assert detect(tmp_path) is Format.MOVIELENS
    assert data.domain == "films"
    assert data.items["1"].title == "American President, The (1995)"
    assert data.items["1"].metadata == {"genres": "Comedy|Drama|Romance", "year": 1995}
    assert data.items["2"].metadata == {}


def test_movielens_ratings_become_visits_oldest_first(tmp_path):
    data = load(write_movielens(tmp_path))

    assert list(data.histories) == ["7", "3"]
    assert data.histories["7"] == [
        Visit("1", datetime.fromtimestamp(900, UTC)),
        Visit("2", datetime.fromtimestamp(1000, UTC)),
    ]
    assert data.skipped == {"visits to items that are not in the catalogue": 1}


def test_movielens_a_tag_counts_when_two_users_gave_it(tmp_path):
    tags = "1,1,Witty,1\n2,1,witty ,2\n1,1,private note,3\n1,1,private note,4\n"

    assert load(write_movielens(tmp_path, tags=tags)).items["1"].metadata["tags"] == ["witty"]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("userId,rating\n1,2\n", "movieId"),
        ("userId,movieId,rating,timestamp\n1,1\n", "line 2"),
        ("userId,movieId,rating,timestamp\n1,1,good,5\n", "line 2"),
    ],
)
def test_movielens_a_broken_file_is_named(tmp_path, content, told):
    write_movielens(tmp_path)
    (tmp_path / "ratings.csv").write_text(content)

    with pytest.raises(DataSetError, match=told):
        load(tmp_path)


# --- all of them


def test_a_folder_of_none_is_told_which_files_make_one(tmp_path):
    with pytest.raises(DataSetError, match=r"movies\.csv.*yelp_academic.*combined_"):
        detect(tmp_path)


@pytest.mark.parametrize("layout", Format)
def test_a_folder_that_lacks_the_named_layouts_files_is_told(tmp_path, layout):
    with pytest.raises(DataSetError, match="has no "):
        load(tmp_path, format=layout)
