"""Amazon's reviews of 2018."""

from datetime import UTC, datetime

import pytest

from operators.statinit import parser_for
from streams.importers import DataSetError, Format, Visit, detect, load
from tests.unit.importers.importers_builders import write_lines

DAY = 1_514_764_800
BOOK = {
    "asin": "a1",
    "title": "The Glass Orchard",
    "category": ["Books", "Mystery, Thriller &amp; Suspense"],
    "description": ["A gripping story.", "", "Told twice."],
    "brand": "Visit Amazon's Ines Varga Page",
    "rank": "3,872,855 in Books (",
    "also_buy": ["a2"],
    "price": "$7.99",
}


def review(user="ann", item="a1", at=DAY, overall=5.0):
    return {"reviewerID": user, "asin": item, "overall": overall, "unixReviewTime": at, "reviewText": "Good."}


def write(folder, *reviews, items=(BOOK,), meta="meta_Books.json.gz", name="Books_5.json.gz"):
    write_lines(folder / meta, *items)
    write_lines(folder / name, *reviews)
    return folder


def test_books_keep_raw_facts_that_the_parser_reads(tmp_path):
    data = load(write(tmp_path, review()))
    book = data.items["a1"]

    assert detect(tmp_path) is Format.AMAZON
    assert data.domain == "books"
    assert (book.title, book.description) == ("The Glass Orchard", "A gripping story.\nTold twice.")
    assert book.metadata == {"categories": BOOK["category"], "authors": ["Ines Varga"], "price": "$7.99"}
    assert {"mystery", "Ines Varga"} <= {fact.value for fact in parser_for("books", {})(book)}


@pytest.mark.parametrize(
    ("meta", "domain"),
    [
        ("meta_Movies_and_TV.json.gz", "movietv"),
        ("meta_Home_and_Kitchen.json", "home_and_kitchen"),
        ("meta_AMAZON FASHION.jsonl", "amazon_fashion"),
    ],
)
def test_the_domain_follows_from_the_name_of_the_file(tmp_path, meta, domain):
    assert load(write(tmp_path, review(), meta=meta)).domain == domain


def test_reviews_become_visits_oldest_first_and_in_file_order_within_a_day(tmp_path):
    items = [{**BOOK, "asin": asin} for asin in ("a1", "a2", "a3")]
    write(tmp_path, review(item="a3", at=DAY + 86_400), review(item="a2"), review(item="a1"), items=items)

    first = datetime(2018, 1, 1, tzinfo=UTC)
    assert load(tmp_path).histories["ann"][:2] == [Visit("a2", first), Visit("a1", first)]
    assert load(tmp_path).histories["ann"][2].item_id == "a3"


def test_what_a_page_left_in_a_field_is_no_title_and_no_price(tmp_path):
    spoiled = {**BOOK, "title": "var aPageStart = (new Date()).getTime();", "price": ".a-box-inner{" + "x" * 90}
    item = load(write(tmp_path, review(), items=[spoiled])).items["a1"]

    assert item.title == ""
    assert "price" not in item.metadata


def test_brands_and_nested_categories_are_read(tmp_path):
    old = {"asin": "a1", "title": "Kettle", "categories": [["Home", "Kettles"]], "brand": "Okapi", "price": 9.5}

    metadata = load(write(tmp_path, review(), items=[old])).items["a1"].metadata
    assert metadata == {"categories": ["Home", "Kettles"], "brand": "Okapi"}


def test_the_catalogue_holds_what_the_kept_users_met_and_liked(tmp_path):
    items = [{**BOOK, "asin": asin} for asin in ("a1", "a2", "a3", "unmet")]
    write(tmp_path, review(), review(item="a2", overall=1.0), review("bob", "a3"), items=items)

    assert list(load(tmp_path, 1, min_rating=4).items) == ["a1"]


def test_several_categories_in_a_folder_are_told(tmp_path):
    write_lines(write(tmp_path, review()) / "meta_Toys.json.gz", BOOK)

    with pytest.raises(DataSetError, match=r"meta_Books\.json\.gz, meta_Toys\.json\.gz.*leave one"):
        load(tmp_path)


@pytest.mark.parametrize("broken", [{"unixReviewTime": None}, {"unixReviewTime": 10**20}, {"asin": ["a1"]}])
def test_a_broken_review_is_named_by_file_and_line(tmp_path, broken):
    write(tmp_path, review(), {**review(), **broken})

    with pytest.raises(DataSetError, match=r"Books_5\.json\.gz, line 2: needs reviewerID"):
        load(tmp_path)
