"""Data sets: our own layout and public ones, and their events; little ones are written to disk."""

import gzip
import json
from datetime import UTC, datetime, timedelta

import duckdb
import pytest

from schemas import Candidate
from streams.importers.dataset import Dataset, Visit, catalogue, interactions, rankings
from streams.importers.loader import load
from streams.importers.mapping import DataSetError


def write_items(folder, *items):
    with gzip.open(folder / "items.jsonl.gz", "wt", encoding="utf-8") as out:
        out.writelines(
            json.dumps({"domain": "films", "title": item["item_id"].upper(), **item}) + "\n" for item in items
        )


def write_interactions(folder, *rows):
    with gzip.open(folder / "interactions.jsonl.gz", "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)


def write_movielens(folder):
    (folder / "movies.csv").write_text(
        'movieId,title,genres\n1,"American President, The (1995)",Comedy|Drama|Romance\n2,Untitled,(no genres listed)\n'
    )
    (folder / "ratings.csv").write_text(
        "userId,movieId,rating,timestamp\n7,2,4.0,1000\n7,1,1.5,900\n3,1,5.0,800\n3,99,5.0,801\n"
    )
    return folder


def write_lines(file, *rows):
    with gzip.open(file, "wt", encoding="utf-8") if file.suffix == ".gz" else file.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)


def test_unknown_fields_stay_raw_metadata(tmp_path):
    write_items(tmp_path, {"item_id": "a", "description": "Two boys.", "genres": "Crime|Drama", "year": 1994})
    write_interactions(tmp_path, {"user_id": "ann", "item_id": "a", "order": 0})

    data = load(tmp_path)

    assert data.domain == "films"
    assert data.items["a"].title == "A"
    assert data.items["a"].description == "Two boys."
    assert data.items["a"].metadata == {"genres": "Crime|Drama", "year": 1994}


def test_users_keep_file_order_and_visits_are_sorted_by_time(tmp_path):
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


def test_skipped_rows_are_counted(tmp_path):
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
    assert len(data.skipped) == 3
    assert "metadata" in data.errors[0], "of the item that is too large"


def test_long_texts_are_cut_to_the_schemas_limits(tmp_path):
    write_items(tmp_path, {"item_id": "a", "title": "t" * 600, "description": "d" * 5_000})
    write_interactions(tmp_path, {"user_id": "ann", "item_id": "a", "order": 0})

    item = load(tmp_path).items["a"]

    assert (len(item.title), len(item.description)) == (500, 4_000)


def test_errors_name_the_broken_line(tmp_path):
    write_items(tmp_path, {"item_id": "a"})
    write_interactions(tmp_path, {"user_id": "ann", "item_id": "a", "timestamp": "yesterday"})

    with pytest.raises(DataSetError, match="line 1"):
        load(tmp_path)


# --- InstructRec


INSTRUCTREC_ANN = {"asin": [3, 1, 2], "instruction": "Something calm, please.", "persona": "reader"}
INSTRUCTREC_BOB = {"asin": [0, 4], "instruction": None}


def write_mapping(folder, name="books", items=5):
    rows = "".join(f"{n},A{n},Title {n},\"['Text, {n}']\"\n" for n in range(items))
    (folder / f"combined_{name}_asin_mapping.csv").write_text("index,asin,title,description\n" + rows)
    return folder


def write_instructrec(folder, *users):
    write_lines(folder / "booksAll_recagent.jsonl", *users)
    return write_mapping(folder)


def test_instructrec_users_are_numbered_and_keep_the_order_of_their_items(tmp_path):
    data = load(write_instructrec(tmp_path, INSTRUCTREC_ANN, INSTRUCTREC_BOB))

    assert {user: [visit.item_id for visit in visits] for user, visits in data.histories.items()} == {
        "0": ["3", "1", "2"],
        "1": ["0", "4"],
    }


def test_a_pickled_instructrec_table_is_not_opened(tmp_path):
    (write_mapping(tmp_path) / "booksAll_recagent.pkl").write_bytes(b"cos\nsystem\n(S'false'\ntR.")

    with pytest.raises(DataSetError, match=r"docs/datasets\.md for \.pkl"):
        load(tmp_path)


# --- MovieLens


def test_movielens_films_keep_raw_genres_and_get_their_year(tmp_path):
    data = load(write_movielens(tmp_path))

    assert data.domain == "films"
    assert data.items["1"].title == "American President, The (1995)"
    assert data.items["1"].metadata == {"genres": "Comedy|Drama|Romance", "year": 1995}
    assert data.items["2"].metadata == {}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("userId,rating\n1,2\n", "movieId"),
        ("userId,movieId,rating,timestamp\n1\n", "line 2: item"),
        ("userId,movieId,rating,timestamp\n1,1,good,5\n", "line 2"),
    ],
)
def test_errors_name_the_broken_movielens_file(tmp_path, content, message):
    write_movielens(tmp_path)
    (tmp_path / "ratings.csv").write_text(content)

    with pytest.raises(DataSetError, match=message):
        load(tmp_path)


# --- all of them


def test_an_unknown_folder_gets_a_list_of_layouts(tmp_path):
    with pytest.raises(DataSetError, match=r"combined_.*movies\.csv"):
        load(tmp_path)


START = datetime(2024, 1, 1, tzinfo=UTC)


def dataset():
    catalogue_ = {f"i{n}": Candidate(item_id=f"i{n}", title=f"Item {n}") for n in range(40)}
    histories = {
        f"u{user}": [Visit(f"i{user * 6 + n}", START + n * timedelta(hours=1)) for n in range(6 - user % 2)]
        for user in range(5)
    }
    return Dataset("films", catalogue_, histories)


def test_equal_data_gives_equal_events():
    assert list(catalogue(dataset())) == list(catalogue(dataset()))
    assert list(interactions(dataset())) == list(interactions(dataset()))


def test_every_visit_is_an_interaction_in_order():
    data = dataset()

    found = list(interactions(data))

    assert len(found) == data.visits
    for user_id, visits in data.histories.items():
        assert [e.item.item_id for e in found if e.user_id == user_id] == [visit.item_id for visit in visits]


# --- lists


LISTS = [
    {"user_id": "ann", "n": 1, "shown": [{"item_id": "a", "metadata": {"price": 3}}, {"item_id": "b"}], "taken": 1},
    {"user_id": "ann", "n": 0, "shown": [{"item_id": "a", "metadata": {"price": 4}}, {"item_id": "b"}], "taken": 0},
]


def test_panel_lists_keep_each_users_order_and_the_items_as_shown(tmp_path):
    write_lines(tmp_path / "choices.jsonl.gz", *LISTS)

    data = load(tmp_path, domain="trips")

    assert [shown.taken for shown in data.lists["ann"]] == [("a",), ("b",)]
    assert [shown.candidates[0].metadata for shown in data.lists["ann"]] == [{"price": 4}, {"price": 3}]
    assert not data.has_times


def test_lists_become_rankings_and_selections_with_ids_of_their_own(tmp_path):
    write_lines(tmp_path / "choices.jsonl", *LISTS, {**LISTS[0], "n": 2, "taken": 9})

    events = list(rankings(load(tmp_path, domain="trips")))

    assert [type(event).__name__ for event in events] == ["Ranking", "Selection"] * 3
    assert [event.item_id for event in events[1::2]] == ["a", "b", None]
    assert events[5].none_taken
    assert len({event.event_id for event in events}) == 6


def test_metarank_events_give_a_catalogue_and_lists_with_their_clicks(tmp_path):
    event = {"timestamp": "1599391467000", "user": "ann"}
    fields = [{"name": "genres", "value": ["drama", "comedy"]}, {"name": "vote_avg", "value": 7.5}]
    write_lines(
        tmp_path / "events.jsonl.gz",
        {"event": "item", "id": "1", "timestamp": "1599391460000", "item": "m1", "fields": fields},
        {"event": "item", "id": "2", "timestamp": "1599391460000", "item": "m2", "fields": []},
        {**event, "event": "ranking", "id": "r1", "items": [{"id": "m1"}, {"id": "m2"}]},
        {**event, "event": "interaction", "id": "i1", "ranking": "r1", "type": "click", "item": "m2"},
    )

    data = load(tmp_path, domain="films")

    [shown] = data.lists["ann"]
    assert data.items["m1"].metadata == {"genres": ["drama", "comedy"], "vote_avg": 7.5}
    assert ([item.item_id for item in shown.candidates], shown.taken) == (["m1", "m2"], ("m2",))
    assert shown.at == datetime.fromtimestamp(1599391467, UTC)


BANDIT_ITEMS = """,item_id,item_feature_0,item_feature_1,item_feature_2,item_feature_3
0,007,-0.67,ceca,eb6f,7950
1,41,2.85,270d,eb6f,7950
"""
FEATURES = "user_feature_0,user_feature_1,user_feature_2,user_feature_3"
BANDIT = f""",timestamp,item_id,position,click,propensity_score,{FEATURES}
0,2019-11-24 00:00:20+00:00,007,2,0,0.0125,aa,bb,cc,dd
1,2019-11-24 00:00:10+00:00,41,1,1,0.0125,aa,bb,cc,dd
2,2019-11-24 00:00:30+00:00,41,1,maybe,0.0125,aa,bb,cc,ee
"""


def test_open_bandit_rows_are_lists_of_one_with_text_ids_and_broken_lines_are_named(tmp_path):
    (tmp_path / "item_context.csv").write_text(BANDIT_ITEMS)
    (tmp_path / "women.csv").write_text(BANDIT)

    data = load(tmp_path)

    [shown] = data.lists.values()
    assert [([item.item_id for item in each.candidates], each.taken) for each in shown] == [
        (["41"], ("41",)),
        (["007"], ()),
    ]
    facts = {"amount": 9.33, "feature_1": "ceca", "feature_2": "eb6f", "feature_3": "7950"}
    assert data.items["007"].metadata == facts
    assert data.errors == (
        "women.csv, line 4: taken: Input should be a valid boolean, unable to interpret input ('maybe')",
    )


def test_a_parquet_file_needs_no_conversion(tmp_path):
    duckdb.sql(
        "COPY (SELECT 'ann' AS who, [{'id': 'a', 'cost': 3}, {'id': 'b', 'cost': 5}] AS seen, 'b' AS took) "
        f"TO '{tmp_path / 'seen.parquet'}'"
    )
    (tmp_path / "seen.toml").write_text(
        'domain = "trips"\n[lists]\nfile = "*.parquet"\neach = "seen"\nuser = "who"\nitem = "each.id"\n'
        'taken = "each.id = took"\nmetadata = {price = "each.cost"}\n'
    )

    data = load(tmp_path / "seen.parquet", mapping=str(tmp_path / "seen.toml"))

    [shown] = data.lists["ann"]
    assert ([item.metadata for item in shown.candidates], shown.taken) == ([{"price": 3}, {"price": 5}], ("b",))


def test_unusual_columns_of_lists_are_read_cut_or_named(tmp_path):
    (tmp_path / "seen.csv").write_text("who,id,rank,cost,took\nann,a,1,NaN,1\nann,b,2,5,0\nbob,c,1,inf,1\n")
    columns = (
        'domain = "trips"\n[lists]\nfile = "*.csv"\nlist = "who"\nuser = "who"\nitem = "id"\nposition = "rank"\n'
        'taken = "took"\nmetadata = '
    )
    (tmp_path / "seen.toml").write_text(columns + '{price = "cost::DOUBLE"}\nrequest = "repeat(who, 999)"')
    (tmp_path / "bare.toml").write_text(columns + '"cost"')

    data = load(tmp_path, mapping=str(tmp_path / "seen.toml"))

    assert [item.metadata for item in data.lists["ann"][0].candidates] == [{}, {"price": 5.0}]
    assert "metadata: " in data.errors[0], "of infinity"
    assert len(next(rankings(data)).instruction) == 2_000, "a long request is cut, as titles are"
    with pytest.raises(DataSetError, match="metadata: Input should be a valid dictionary"):
        load(tmp_path, mapping=str(tmp_path / "bare.toml"))


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ("[lists]\nfile='*.csv'\nuser='who'\nitem='item_id'\ntaken='click'", "no column 'who' for `user`; it has"),
        ("[lists]\nfile='*.csv'\nuser='timestamp'\nitem='item_id'", "either a column `taken` or a table"),
        ("[lists]\nfile='*.csv'\nuser='timestamp'\nitem='nope + 1'\ntaken='click'", "nope"),
        ("[visits]\nfile='*.csv'\nuser='timestamp'\nitem='item_id'", "need a table"),
        ("[lists", "mapping .* is broken"),
    ],
)
def test_errors_of_a_mapping_name_their_cause(tmp_path, mapping, message):
    (tmp_path / "women.csv").write_text(BANDIT)
    (tmp_path / "own.toml").write_text('domain = "fashion"\n' + mapping)

    with pytest.raises(DataSetError, match=message):
        load(tmp_path, mapping=str(tmp_path / "own.toml"))
