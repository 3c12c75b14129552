"""Goodreads as the UCSD Book Graph hands it out."""

from datetime import UTC, datetime

import pytest

from operators.statinit import parser_for
from streams.importers import DataSetError, Format, Visit, detect, load
from tests.unit.importers.importers_builders import write_lines

BOOK = {
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


def visit(user="ann", book="77", date="Sun Jul 30 07:44:10 -0700 2017", rating=4, is_read=True):
    return {"user_id": user, "book_id": book, "is_read": is_read, "rating": rating, "date_added": date, "read_at": ""}


def write(folder, *visits, books=(BOOK,)):
    write_lines(folder / "goodreads_books_poetry.json.gz", *books)
    write_lines(folder / "goodreads_interactions_poetry.json.gz", *visits)
    return folder


def test_books_have_genres_and_authors_from_the_other_files(tmp_path):
    write(tmp_path, visit())
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


def test_without_the_other_files_and_with_empty_fields_there_are_fewer_facts(tmp_path):
    bare = {
        "book_id": "77",
        "title": "Untold",
        "authors": BOOK["authors"],
        "publication_year": "",
        "popular_shelves": [],
    }

    assert load(write(tmp_path, visit(), books=[bare])).items["77"].metadata == {}


def test_books_that_were_read_become_visits_in_utc(tmp_path):
    write(tmp_path, visit(), visit(date="Fri Apr 19 08:15:15 +0200 2013"), visit(is_read=False, rating=0))

    data = load(tmp_path)

    assert data.histories["ann"] == [
        Visit("77", datetime(2013, 4, 19, 6, 15, 15, tzinfo=UTC)),
        Visit("77", datetime(2017, 7, 30, 14, 44, 10, tzinfo=UTC)),
    ]
    assert data.skipped == {"rows whose is_read is false": 1}


def test_a_rating_of_zero_is_none(tmp_path):
    assert load(write(tmp_path, visit(rating=0), visit(rating=2)), min_rating=3).visits == 1


@pytest.mark.parametrize("date", ["", "2017-07-30", "Sun Jux 30 07:44:10 -0700 2017", "Sun Feb 30 07:44:10 -0700 2017"])
def test_a_broken_date_is_named_by_file_and_line(tmp_path, date):
    write(tmp_path, visit(), visit(date=date))

    with pytest.raises(DataSetError, match=r"poetry\.json\.gz, line 2: needs .* date_added"):
        load(tmp_path)
