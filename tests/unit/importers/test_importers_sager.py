"""Our own layout of data sets."""

from datetime import UTC, datetime

import pytest

from streams.importers import DataSetError, Format, Visit, detect, load
from tests.unit.importers.importers_builders import write_interactions, write_items


def test_everything_but_the_own_fields_stays_raw_metadata(tmp_path):
    write_items(tmp_path, {"item_id": "a", "description": "Two boys.", "genres": "Crime|Drama", "year": 1994})
    write_interactions(tmp_path, {"user_id": "ann", "item_id": "a", "order": 0})

    data = load(tmp_path)

    assert detect(tmp_path) is Format.SAGER
    assert data.domain == "films"
    assert data.items["a"].title == "A"
    assert data.items["a"].description == "Two boys."
    assert data.items["a"].metadata == {"genres": "Crime|Drama", "year": 1994}


def test_users_are_in_file_order_and_visits_oldest_first(tmp_path):
    write_items(tmp_path, {"item_id": "a"}, {"item_id": "b"})
    write_interactions(
        tmp_path,
        {"user_id": "zoe", "item_id": "a", "timestamp": 20},
        {"user_id": "zoe", "item_id": "b", "timestamp": 10},
        {"user_id": "ann", "item_id": "b", "timestamp": 5},
    )

    data = load(tmp_path)

    assert list(data.histories) == ["zoe", "ann"]
    assert data.histories["zoe"] == [
        Visit("b", datetime.fromtimestamp(10, UTC)),
        Visit("a", datetime.fromtimestamp(20, UTC)),
    ]


def test_what_is_left_out_is_counted(tmp_path):
    write_items(tmp_path, {"item_id": "a"}, {"item_id": "big", "facts": "x" * 40_000})
    write_interactions(
        tmp_path,
        {"user_id": "ann", "item_id": "a", "order": 0},
        {"user_id": "ann", "item_id": "big", "order": 1},
        {"user_id": "ann", "item_id": "a", "order": 2, "rating": 1},
        {"user_id": "a\nb", "item_id": "a", "order": 0},
    )

    data = load(tmp_path, min_rating=3)

    assert data.visits == 1
    assert sum(data.skipped.values()) == 4
    assert len(data.skipped) == 4


def test_overlong_texts_are_cut_to_what_the_schema_allows(tmp_path):
    write_items(tmp_path, {"item_id": "a", "title": "t" * 600, "description": "d" * 5_000})
    write_interactions(tmp_path, {"user_id": "ann", "item_id": "a", "order": 0})

    item = load(tmp_path).items["a"]

    assert (len(item.title), len(item.description)) == (500, 4_000)


@pytest.mark.parametrize(
    ("row", "told"),
    [({"user_id": "ann"}, "line 1"), ({"user_id": "ann", "item_id": "a", "timestamp": "yesterday"}, "line 1")],
)
def test_a_broken_line_is_named(tmp_path, row, told):
    write_items(tmp_path, {"item_id": "a"})
    write_interactions(tmp_path, row)

    with pytest.raises(DataSetError, match=told):
        load(tmp_path)
