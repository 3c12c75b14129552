"""MovieLens' own layout."""

from datetime import UTC, datetime

import pytest

from operators.statinit import parser_for
from streams.importers import DataSetError, Format, Visit, detect, load
from tests.unit.importers.importers_builders import write_movielens


def test_films_keep_raw_genres_and_get_their_year(tmp_path):
    data = load(write_movielens(tmp_path))

    assert detect(tmp_path) is Format.MOVIELENS
    assert data.domain == "films"
    assert data.items["1"].title == "American President, The (1995)"
    assert data.items["1"].metadata == {"genres": "Comedy|Drama|Romance", "year": 1995}
    assert data.items["2"].metadata == {}


def test_the_domains_parser_reads_them(tmp_path):
    facts = parser_for("films", {})(load(write_movielens(tmp_path)).items["1"])

    assert {"comedy", "drama", "romance", "1990s"} <= {fact.value for fact in facts}


def test_ratings_become_visits_oldest_first(tmp_path):
    data = load(write_movielens(tmp_path))

    assert list(data.histories) == ["7", "3"]
    assert data.histories["7"] == [
        Visit("1", datetime.fromtimestamp(900, UTC)),
        Visit("2", datetime.fromtimestamp(1000, UTC)),
    ]
    assert data.skipped == {"visits to items that are not in the catalogue": 1}


def test_low_ratings_can_be_left_out(tmp_path):
    histories = load(write_movielens(tmp_path), min_rating=3.5).histories

    assert [visit.item_id for visit in histories["7"]] == ["2"]


def test_a_tag_counts_when_two_users_gave_it(tmp_path):
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
def test_a_broken_file_is_named(tmp_path, content, told):
    write_movielens(tmp_path)
    (tmp_path / "ratings.csv").write_text(content)

    with pytest.raises(DataSetError, match=told):
        load(tmp_path)
