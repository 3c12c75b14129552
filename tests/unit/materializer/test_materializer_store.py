"""The DuckDB file: idempotent by key, never older over newer, all or nothing."""

import duckdb
import pytest

from schemas import BadRecord, encode
from streams.analytics import MaterializerError
from streams.analytics.dead_letters import dead_letter
from streams.analytics.store import DuckDBStore, Progress
from tests.unit.materializer.materializer_builders import (
    NOON,
    batch_of,
    derived,
    diff,
    interaction,
    item,
    ranking,
    raw,
    record,
    rows,
    selection,
    skill,
    slim,
    tombstone,
    write,
)


def count(store, table):
    return rows(store, f"SELECT count(*) FROM {table}")[0][0]


def test_an_event_delivered_twice_is_one_row_in_one_batch_and_over_two(store):
    assert write(store, record(interaction(), 1), record(interaction(), 2))["interactions"] == 1
    assert write(store, record(interaction(), 3))["interactions"] == 0
    assert rows(store, "SELECT event_id, kafka_offset FROM interactions") == [("x1", 1)]


def test_the_first_diff_of_a_version_is_kept_with_its_changes(store):
    write(store, diff(1, "first"))
    written = {"skill_diffs": 1, "skill_changes": 2, "skill_refusals": 1, "skill_places": 1, "statement_changes": 0}
    assert write(store, diff(1, "second"), diff(2)) == written
    assert rows(store, "SELECT version, event_id FROM skill_diffs ORDER BY 1") == [(1, "first"), (2, "c2")]
    assert rows(store, "SELECT DISTINCT event_id FROM skill_changes ORDER BY 1") == [("c2",), ("first",)]
    assert count(store, "skill_changes") == 5


def test_an_older_skill_never_overwrites_a_newer_one(store):
    newest = record(skill(3))
    write(store, record(skill(1)), newest, record(skill(2)))
    assert write(store, skill(2, values=("crime",)))["skills"] == 0
    assert rows(store, "SELECT version, document FROM skills") == [(3, (newest.value or b"").decode())]
    assert rows(store, "SELECT DISTINCT version FROM skill_attributes") == [(3,)]


def test_an_older_slim_skill_never_overwrites_a_newer_one_and_an_equal_one_does(store):
    write(store, slim(2, "likes: sf"))
    write(store, slim(1, "likes: crime"))
    write(store, slim(2, "likes: noir"))
    assert rows(store, "SELECT skill_version, text FROM slim_skills") == [(2, "likes: noir")]


def test_a_tombstone_deletes_the_skill_and_its_attributes_and_a_new_life_starts_at_version_one(store):
    write(store, skill(5), skill(5, user="bob"), slim(5))
    write(store, tombstone(skill()), tombstone(slim()))
    assert rows(store, "SELECT user_id FROM skills") == rows(store, "SELECT DISTINCT user_id FROM skill_attributes")
    assert count(store, "slim_skills") == 0
    write(store, skill(1))
    assert rows(store, "SELECT version FROM skills WHERE user_id = 'ann'") == [(1,)]


def test_a_tombstone_within_a_batch_counts_in_log_order(store):
    write(store, skill(5))
    write(store, skill(6), tombstone(skill()), skill(1), skill(2))
    assert rows(store, "SELECT version FROM skills") == [(2,)]
    write(store, skill(3), tombstone(skill()))
    assert (count(store, "skills"), count(store, "skill_attributes")) == (0, 0)


def test_a_dead_letter_of_a_recreated_topic_is_another_one(store):
    refused = BadRecord("invalid", "x")
    letters = [dead_letter(raw("skills", b"x", offset=5), refused, "sager.", NOON) for _ in range(2)]
    later = letters[0].source.model_copy(update={"timestamp_ms": letters[0].source.timestamp_ms + 1})
    letters.append(letters[0].model_copy(update={"source": later}))
    write(store, *(raw("dead-letters", encode(letter), offset=n) for n, letter in enumerate(letters)))
    assert count(store, "dead_letters") == 2


def test_a_failure_on_the_way_leaves_neither_rows_nor_offsets(store, monkeypatch):
    write(store, skill(1), skills=1)

    def fail(offsets):
        raise duckdb.IOException("disk full")

    monkeypatch.setattr(store, "move_offsets", fail)
    with pytest.raises(duckdb.IOException):
        write(store, skill(2), diff(2), skills=2)
    monkeypatch.undo()
    assert (rows(store, "SELECT version FROM skills"), count(store, "skill_diffs")) == ([(1,)], 0)
    assert store.offsets() == {("sager.skills", 0): Progress(1, "id-1")}
    write(store, skill(2), diff(2), skills=2)
    assert (rows(store, "SELECT version FROM skills"), count(store, "skill_diffs")) == ([(2,)], 1)


def test_reading_everything_again_changes_nothing(store):
    events = [item(), interaction(), ranking(), selection(), diff(1), diff(2), skill(1), skill(2), slim(1)]
    store.write(batch_of(*events), {})
    before = {table: rows(derived(store), f"FROM {table} ORDER BY ALL") for table in _tables(store)}
    for event in events:
        store.write(batch_of(event), {})
    derived(store)
    assert {table: rows(store, f"FROM {table} ORDER BY ALL") for table in _tables(store)} == before


def test_a_file_of_another_prefix_is_refused(path):
    DuckDBStore(path, "sager.").close()
    with pytest.raises(MaterializerError, match="SAGER_DATA_DIR"):
        DuckDBStore(path, "other.")


@pytest.mark.parametrize("layout", [0, 99])
def test_a_file_of_another_layout_is_refused(path, layout):
    with DuckDBStore(path, "sager.") as store:
        rows(store, f"UPDATE meta SET schema_version = {layout}")
    with pytest.raises(MaterializerError, match="sager rebuild --duckdb"):
        DuckDBStore(path, "sager.")


def _tables(store):
    return [name for (name,) in rows(store, "SELECT table_name FROM duckdb_tables()")]
