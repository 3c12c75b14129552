"""Public data sets, each in the layout of its publisher."""

import pytest

from streams.importers import DataSetError, Format, detect, load
from tests.unit.importers.importers_builders import write_lines, write_movielens

# --- InstructRec


INSTRUCTREC_ANN = {"asin": [3, 1, 2], "instruction": "Something calm, please.", "persona": "reader"}
INSTRUCTREC_BOB = {"asin": [0, 4], "instruction": None}


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
    with pytest.raises(DataSetError, match=r"movies\.csv.*combined_"):
        detect(tmp_path)
