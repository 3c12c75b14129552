"""Public data sets, each in the layout of its publisher."""

from datetime import UTC, datetime

import pytest

from operators.statinit import parser_for
from streams.importers import DataSetError, Format, Visit, detect, load
from tests.unit.importers.importers_builders import write_lines, write_movielens

# --- Amazon


AMAZON_DAY = 1_514_764_800
AMAZON_BOOK = {
    "asin": "a1",
    "title": "The Glass Orchard",
    "category": ["Books", "Mystery, Thriller &amp; Suspense"],
    "description": ["A gripping story.", "", "Told twice."],
    "brand": "Visit Amazon's Ines Varga Page",
    "rank": "3,872,855 in Books (",
    "also_buy": ["a2"],
    "price": "$7.99",
}


def amazon_review(user="ann", item="a1", at=AMAZON_DAY, overall=5.0):
    return {"reviewerID": user, "asin": item, "overall": overall, "unixReviewTime": at, "reviewText": "Good."}


def write_amazon(folder, *reviews, items=(AMAZON_BOOK,), meta="meta_Books.json.gz", name="Books_5.json.gz"):
    write_lines(folder / meta, *items)
    write_lines(folder / name, *reviews)
    return folder


def test_amazon_books_keep_raw_facts_that_the_parser_reads(tmp_path):
    data = load(write_amazon(tmp_path, amazon_review()))
    book = data.items["a1"]

    assert detect(tmp_path) is Format.AMAZON
    assert data.domain == "books"
    assert (book.title, book.description) == ("The Glass Orchard", "A gripping story.\nTold twice.")
    assert book.metadata == {"categories": AMAZON_BOOK["category"], "authors": ["Ines Varga"], "price": "$7.99"}
    assert {"mystery", "Ines Varga"} <= {fact.value for fact in parser_for("books", {})(book)}


@pytest.mark.parametrize(
    ("meta", "domain"),
    [
        ("meta_Movies_and_TV.json.gz", "movietv"),
        ("meta_Home_and_Kitchen.json", "home_and_kitchen"),
        ("meta_AMAZON FASHION.jsonl", "amazon_fashion"),
    ],
)
def test_amazon_the_domain_follows_from_the_name_of_the_file(tmp_path, meta, domain):
    assert load(write_amazon(tmp_path, amazon_review(), meta=meta)).domain == domain


def test_amazon_reviews_become_visits_oldest_first_and_in_file_order_within_a_day(tmp_path):
    items = [{**AMAZON_BOOK, "asin": asin} for asin in ("a1", "a2", "a3")]
    write_amazon(
        tmp_path,
        amazon_review(item="a3", at=AMAZON_DAY + 86_400),
        amazon_review(item="a2"),
        amazon_review(item="a1"),
        items=items,
    )

    first = datetime(2018, 1, 1, tzinfo=UTC)
    assert load(tmp_path).histories["ann"][:2] == [Visit("a2", first), Visit("a1", first)]
    assert load(tmp_path).histories["ann"][2].item_id == "a3"


@pytest.mark.parametrize("broken", [{"unixReviewTime": None}, {"unixReviewTime": 10**20}, {"asin": ["a1"]}])
def test_amazon_a_broken_review_is_named_by_file_and_line(tmp_path, broken):
    write_amazon(tmp_path, amazon_review(), {**amazon_review(), **broken})

    with pytest.raises(DataSetError, match=r"Books_5\.json\.gz, line 2: needs reviewerID"):
        load(tmp_path)


# --- Goodreads


GOODREADS_BOOK = {
    "book_id": "77",
    "title": "The Salt Road (Harbour, #1)",
    "description": "Two sisters set out.",
    "authors": [{"author_id": "5", "role": "Illustrator"}, {"author_id": "4", "role": ""}],
    "popular_shelves": [{"count": "900", "name": "to-read"}, {"count": "12", "name": "sea-stories"}],
    "publication_year": "1987",
    "language_code": "eng",
    "average_rating": "4.10",
    "ratings_count": "1234",
}


def goodreads_visit(user="ann", book="77", date="Sun Jul 30 07:44:10 -0700 2017", rating=4, is_read=True):
    return {"user_id": user, "book_id": book, "is_read": is_read, "rating": rating, "date_added": date, "read_at": ""}


def write_goodreads(folder, *visits, books=(GOODREADS_BOOK,)):
    write_lines(folder / "goodreads_books_poetry.json.gz", *books)
    write_lines(folder / "goodreads_interactions_poetry.json.gz", *visits)
    return folder


def test_goodreads_books_have_genres_and_authors_from_the_other_files(tmp_path):
    write_goodreads(tmp_path, goodreads_visit())
    write_lines(
        tmp_path / "goodreads_book_genres_initial.json.gz",
        {"book_id": "77", "genres": {"romance": 3, "fantasy, paranormal": 40}},
        {"book_id": "1", "genres": {"poetry": 1}},
    )
    authors = ({"author_id": "4", "name": "Mirela Oak"}, {"author_id": "5", "name": "Bo Brush"})
    write_lines(tmp_path / "goodreads_book_authors.json.gz", *authors)

    data = load(tmp_path)

    assert detect(tmp_path) is Format.GOODREADS
    assert data.domain == "goodreads"
    assert data.items["77"].metadata == {
        "genres": ["fantasy, paranormal", "romance"],
        "authors": ["Mirela Oak"],
        "shelves": ["to-read", "sea-stories"],
        "year": 1987,
        "language": "eng",
    }
    facts = {fact.value for fact in parser_for("goodreads", {})(data.items["77"])}
    assert {"fantasy", "romance", "Mirela Oak", "1980s", "sea stories"} <= facts


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


def test_instructrec_a_pickled_table_is_not_opened_and_the_error_names_the_page_that_converts_it(tmp_path):
    (write_mapping(tmp_path) / "booksAll_recagent.pkl").write_bytes(b"cos\nsystem\n(S'false'\ntR.")

    with pytest.raises(DataSetError, match=r"docs/datasets\.md for \.pkl"):
        load(tmp_path)


# --- MovieLens


def test_movielens_films_keep_raw_genres_and_get_their_year(tmp_path):
    data = load(write_movielens(tmp_path))

    assert detect(tmp_path) is Format.MOVIELENS
    assert data.domain == "films"
    assert data.items["1"].title == "American President, The (1995)"
    assert data.items["1"].metadata == {"genres": "Comedy|Drama|Romance", "year": 1995}
    assert data.items["2"].metadata == {}


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
    with pytest.raises(DataSetError, match=r"movies\.csv.*goodreads_books.*yelp_academic.*combined_.*meta_"):
        detect(tmp_path)
