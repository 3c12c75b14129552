"""InstructRec: histories with the instruction and the candidates of each user's last visit."""

import pytest

from streams.importers import DataSetError, Format, detect, load
from tests.unit.importers.importers_builders import write_lines

ANN = {"asin": [3, 1, 2], "instruction": "Something calm, please.", "ranked_lists": [4, 2, 0], "persona": "reader"}
BOB = {"asin": [0, 4], "instruction": None, "ranked_lists": [1, 4]}


def write_mapping(folder, name="books", items=5):
    rows = "".join(f"{n},A{n},Title {n},\"['Text, {n}']\"\n" for n in range(items))
    (folder / f"combined_{name}_asin_mapping.csv").write_text("index,asin,title,description\n" + rows)
    return folder


def write(folder, *users, name="books", items=5):
    write_lines(folder / f"{name}All_recagent.jsonl", *users)
    return write_mapping(folder, name, items)


def test_users_are_numbered_and_keep_the_order_of_their_items(tmp_path):
    data = load(write(tmp_path, ANN, BOB))

    assert detect(tmp_path) is Format.INSTRUCTREC
    assert {user: [visit.item_id for visit in visits] for user, visits in data.histories.items()} == {
        "0": ["3", "1", "2"],
        "1": ["0", "4"],
    }


def test_the_last_visit_has_its_instruction_and_candidates(tmp_path):
    data = load(write(tmp_path, ANN, BOB))

    assert data.instructions == {"0": "Something calm, please."}
    assert data.candidates == {"0": ("4", "2", "0"), "1": ("1", "4")}


def test_only_kept_users_have_them(tmp_path):
    data = load(write(tmp_path, ANN, BOB), limit_users=1)

    assert set(data.instructions) == set(data.candidates) == set(data.histories) == {"0"}


@pytest.mark.parametrize("user", [{**ANN, "ranked_lists": [2, 9]}, {**ANN, "asin": [3, 1, 9]}])
def test_candidates_that_are_of_no_known_visit_are_left_out(tmp_path, user):
    assert load(write(tmp_path, user)).candidates == {}


def test_items_are_named_by_their_number_in_the_lists(tmp_path):
    item = load(write(tmp_path, ANN)).items["3"]

    assert (item.title, item.description, item.metadata) == ("Title 3", "['Text, 3']", {"asin": "A3"})


def test_descriptions_may_be_longer_than_the_csv_modules_limit(tmp_path):
    write(tmp_path, {**ANN, "asin": [0], "ranked_lists": [0]})
    (tmp_path / "combined_books_asin_mapping.csv").write_text(f"index,title,description\n0,Long,{'x' * 200_000}\n")

    assert len(load(tmp_path).items["0"].description) == 4_000


@pytest.mark.parametrize(("name", "domain"), [("reads", "goodreads"), ("movietv", "movietv"), ("yelp", "yelp")])
def test_the_domain_follows_from_the_set(tmp_path, name, domain):
    assert load(write(tmp_path, ANN, name=name)).domain == domain


def test_a_pickled_table_is_not_opened_and_the_error_names_the_page_that_converts_it(tmp_path):
    (write_mapping(tmp_path) / "booksAll_recagent.pkl").write_bytes(b"cos\nsystem\n(S'false'\ntR.")

    with pytest.raises(DataSetError, match=r"docs/datasets\.md for \.pkl"):
        load(tmp_path)


@pytest.mark.parametrize("broken", [{"asin": None}, {"asin": [1.5]}, {"ranked_lists": 4}])
def test_a_broken_user_is_named_by_file_and_line(tmp_path, broken):
    write(tmp_path, ANN, {**BOB, **broken})

    with pytest.raises(DataSetError, match=r"booksAll_recagent\.jsonl, line 2: needs asin"):
        load(tmp_path)
