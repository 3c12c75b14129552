"""A damaged live file is replaced: by the rows of the snapshot, or by an empty file that Kafka fills."""

import logging
import shutil
import subprocess
import sys

import duckdb
import pytest

from streams.analytics import Damaged, MaterializerError
from streams.analytics.files import cannot_write
from streams.analytics.snapshot import Publisher
from streams.analytics.store import DuckDBStore, Progress, live_file, open_store, remove_live
from streams.settings import Settings
from tests.unit.materializer.materializer_builders import diff, rows, skill, write

DUPLICATE = 'Constraint Error: Duplicate key "topic: sager.slim-skills, kafka_partition: 3" violates primary key'


@pytest.fixture
def settings(tmp_path):
    return Settings(data_dir=tmp_path)


@pytest.fixture
def live(settings):
    """A live file with two skills, of which the snapshot has one; its log is not written into it."""
    path = live_file(settings)
    with DuckDBStore(path, "sager.") as store:
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
def test_only_a_damaged_file_is_replaced(live, text, is_damaged):
    assert isinstance(cannot_write(live, duckdb.Error(text)), Damaged) is is_damaged


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
