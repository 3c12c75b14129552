"""The DuckDB file: idempotent by key, never older over newer, all or nothing."""

import logging
import shutil
import subprocess
import sys
from contextlib import nullcontext
from unittest.mock import MagicMock

import duckdb
import pytest
from confluent_kafka import KafkaError

from schemas import BadRecord, encode
from streams.analytics import Damaged, MaterializerError
from streams.analytics.files import cannot_write
from streams.analytics.run import DeadLetterSender, dead_letter
from streams.analytics.snapshot import Publisher
from streams.analytics.store import DuckDBStore, Progress, live_file, open_store, remove_live
from streams.settings import Settings
from tests.shared_files import empty_store
from tests.unit.analytics.analytics_builders import (
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
    written = {"skill_diffs": 1, "skill_changes": 2, "skill_refusals": 1, "statement_changes": 0}
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


@pytest.mark.parametrize(("largest", "sent"), [(1_000_000, 1), (50_000, 2), (0, 2)])
def test_a_refused_dead_letter_is_clipped_and_then_stops_the_batch(monkeypatch, largest, sent):
    sizes = []

    class Broker:
        def __init__(self, *_, **__):
            pass

        def produce(self, topic, value, *_, on_delivery, **__):
            sizes.append(len(value))
            on_delivery(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE) if len(value) > largest else None, MagicMock())

        def poll(self, seconds):
            return 0

        def flush(self, seconds):
            return 0

    monkeypatch.setattr("streams.kafka.producer.Producer", Broker)
    refused = [(raw("skills", b"x" * 100_000), BadRecord("invalid", "x"))]
    with pytest.raises(MaterializerError, match="nothing of this batch") if largest == 0 else nullcontext():
        DeadLetterSender(Settings()).send(refused)
    assert len(sizes) == sent


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


DUPLICATE = 'Constraint Error: Duplicate key "topic: sager.slim-skills, kafka_partition: 3" violates primary key'


@pytest.fixture
def settings(tmp_path):
    return Settings(data_dir=tmp_path)


@pytest.fixture
def live(settings):
    """A live file with two skills, of which the snapshot has one; its log is not written into it."""
    path = live_file(settings)
    with empty_store(path) as store:
        write(store, skill(1), diff(1), skills=7)
        Publisher(store, settings.duckdb_file, 0.0).publish()
        write(store, skill(1, user="bob"), skills=8)
        for end in ("", ".wal"):
            shutil.copy(path.with_name(path.name + end), path.parent / f"killed{end}")
    for end in ("", ".wal"):
        (path.parent / f"killed{end}").replace(path.with_name(path.name + end))
    return path


def zero_tail(path):
    """What a loss of power leaves of a file: its length, without its last bytes."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 2)
        file.write(bytes(size - size // 2))


DAMAGES = {
    "garbage": lambda live: live.write_bytes(b"garbage" * 9_000),
    "nothing": lambda live: live.write_bytes(b""),
    "head": lambda live: live.write_bytes(live.read_bytes()[:20_000]),
    "log": lambda live: zero_tail(live.with_name("live.duckdb.wal")),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_filled_again_from_the_snapshot(live, settings, caplog, damage):
    DAMAGES[damage](live)

    with caplog.at_level(logging.WARNING), open_store(settings) as store:
        assert rows(store, "SELECT user_id, version FROM skills") == [("ann", 1)]
        assert store.offsets() == {("sager.skills", 0): Progress(7, "id-1")}
        assert rows(store, "FROM learning_curve") == []
        write(store, skill(1, user="bob"), skill(2), skills=9)

    [told] = caplog.messages
    assert str(live) in told
    assert f"is filled again from {settings.duckdb_file}" in told
    # No copy of the damaged file: an erasure could not reach the people in it.
    assert sorted(path.name for path in live.parent.iterdir()) == ["live.duckdb", "sager.duckdb"]


@pytest.mark.parametrize("snapshot", ["none", "garbage"])
def test_a_damaged_file_without_a_readable_snapshot_is_filled_from_kafka(live, settings, caplog, snapshot):
    live.write_bytes(b"garbage")
    settings.duckdb_file.unlink()
    if snapshot == "garbage":
        settings.duckdb_file.write_bytes(b"garbage")

    with open_store(settings) as store:
        assert store.offsets() == {}

    assert "is filled again from Kafka alone" in caplog.text


@pytest.mark.parametrize(
    ("text", "is_damaged"),
    [
        (DUPLICATE, True),
        ("Corrupt database file: computed checksum 1 does not match stored checksum 2 in block at location 3", True),
        ('IO Error: Could not write file "live.duckdb.wal": No space left on device', False),
        ('Failure while replaying WAL file "live.duckdb.wal": No space left on device', False),
        ("IO Error: Trying to read a database file with version number 99, but we can only read versions 64", False),
    ],
)
def test_only_a_damaged_file_is_replaced(path, text, is_damaged):
    assert isinstance(cannot_write(path, duckdb.Error(text)), Damaged) is is_damaged


def test_rebuild_removes_the_live_file_and_the_next_store_begins_empty(live, settings):
    remove_live(settings)

    assert not live.exists()
    with open_store(settings) as store:
        assert store.offsets() == {}
    assert settings.duckdb_file.exists(), "analysts read on until the new file is published"


def test_a_live_file_that_a_materializer_holds_is_left_and_has_no_second_writer(live, settings):
    held = "import sys, duckdb; con = duckdb.connect(sys.argv[1]); print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", held, live], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as materializer:
        materializer.stdout.readline()
        with pytest.raises(MaterializerError, match="another process holds"):
            remove_live(settings)
        with pytest.raises(MaterializerError, match="stop the other `sager materialize`"):
            DuckDBStore(live, "sager.")
        materializer.stdin.close()

    assert live.exists()
