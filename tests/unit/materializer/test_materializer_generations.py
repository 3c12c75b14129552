"""A published file never changes under a reader, and is used again once nobody reads it."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from streams.materializer import generations, patch, read
from streams.materializer.generations import Generations
from streams.materializer.snapshot import Publisher
from streams.materializer.store import Store
from streams.settings import Settings
from tests.unit.materializer.materializer_builders import diff, interaction, write

ROOT = Path(__file__).parents[3]
READER = f"""
import hashlib, sys, time
sys.path.insert(0, {str(ROOT)!r})
from pathlib import Path
from streams.materializer import read
from streams.settings import Settings

settings = Settings(data_dir=Path(sys.argv[1]))

def digest(file):
    file.seek(0)
    return hashlib.sha256(file.read()).digest()

for _ in range(int(sys.argv[2])):
    with settings.duckdb_file.open("rb") as file:
        before = digest(file)
        con = read.connect(settings)
        [(rows, ids, at)] = con.execute(
            "SELECT count(*), count(DISTINCT event_id), (SELECT sum(next_offset) FROM sink_offsets) FROM interactions"
        ).fetchall()
        assert rows == ids == at, (rows, ids, at)
        [(diffs, changes)] = con.execute(
            "SELECT (SELECT count(*) FROM skill_diffs), (SELECT count(*) FROM skill_changes)").fetchall()
        assert changes == 2 * diffs + 1, (diffs, changes)
        time.sleep(0.05)
        con.close()
        assert digest(file) == before, "the file was changed under its reader"
"""


@pytest.fixture(autouse=True)
def no_file_is_small(monkeypatch):
    monkeypatch.setattr(generations, "SMALL", 0)


@pytest.fixture
def settings(tmp_path):
    return Settings(data_dir=tmp_path)


@pytest.fixture
def store(settings):
    with Store(settings.data_dir / "live.duckdb", "sager.") as opened:
        yield opened


@pytest.fixture
def publisher(store, settings):
    made = Publisher(store, settings.duckdb_file, 0.0)
    yield made
    made.close()


def add(store, number):
    """One more interaction and one more version."""
    write(store, interaction(f"x{number}"), diff(number), interactions=number)


def inode(settings):
    return settings.duckdb_file.stat().st_ino


def same_as_live(store, settings):
    """By another process: a descriptor closed here would drop DuckDB's lock."""
    done = subprocess.run(["cmp", store.path, settings.duckdb_file], capture_output=True, check=False)
    return done.returncode == 0


def test_a_file_is_used_again_with_the_blocks_that_differ_and_is_the_live_one_to_the_byte(store, publisher, settings):
    used = []
    for number in range(1, 6):
        add(store, number)
        publisher.publish()
        used.append(inode(settings))
        assert same_as_live(store, settings)
    assert len(set(used)) == 2, "two files take turns where nobody reads"
    assert len(Generations(store.path, settings.duckdb_file).spares()) <= generations.SPARES
    assert {each.stat().st_mode & 0o777 for each in settings.data_dir.glob("sager.duckdb*")} <= {0o440, 0o600}


def test_what_an_earlier_process_has_published_is_not_used_again(store, publisher, settings):
    """It may hold what was forgotten since."""
    for number in (1, 2, 3):
        add(store, number)
        publisher.publish()
    held = [path.open("rb") for path in settings.data_dir.glob("sager.duckdb*")]
    assert len(held) == 2
    Publisher(store, settings.duckdb_file, 0.0).publish()
    assert [os.fstat(file.fileno()).st_nlink for file in held] == [0, 0]
    for file in held:
        file.close()


def test_what_somebody_has_open_stays_as_it_is(store, publisher, settings):
    add(store, 1)
    publisher.publish()
    with settings.duckdb_file.open("rb") as held:
        before = hashlib.sha256(held.read()).digest()
        for number in range(2, 8):
            add(store, number)
            publisher.publish()
            assert same_as_live(store, settings)
        held.seek(0)
        assert hashlib.sha256(held.read()).digest() == before


def test_three_readers_see_whole_files_only_while_they_are_replaced(store, publisher, settings):
    add(store, 1)
    publisher.publish()
    readers = [
        subprocess.Popen([sys.executable, "-c", READER, settings.data_dir, "20"], stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    number, used = 1, []
    while any(reader.poll() is None for reader in readers):
        number += 1
        add(store, number)
        publisher.publish()
        used.append(inode(settings))
    assert [reader.communicate()[1].decode() for reader in readers] == ["", "", ""]
    assert len(set(used)) < len(used), "none was patched: this was no test"


@pytest.mark.parametrize("names", [1, 2])
def test_a_spare_with_another_name_is_left_alone(tmp_path, names):
    """After a kill between link and rename the spare is the published file itself."""
    live, spare = tmp_path / "live", tmp_path / "spare"
    live.write_bytes(os.urandom(3 * patch.BLOCK + 5))
    spare.write_bytes(b"as it was")
    if names == 2:
        os.link(spare, tmp_path / "published")
    code = subprocess.run([sys.executable, "-I", "-S", patch.__file__, live, spare], check=False).returncode
    assert code == (patch.IN_USE if names == 2 else 0)
    assert spare.read_bytes() == (b"as it was" if names == 2 else live.read_bytes())


def test_what_a_stranger_put_among_the_spares_is_passed_over(tmp_path):
    """In a folder that is open to others: neither is a link followed nor another's file published."""
    live, theirs, spare = tmp_path / "live", tmp_path / "theirs", tmp_path / "spare-3"
    for path in (live, theirs, spare):
        path.write_bytes(path.name.encode())
    theirs.chmod(0o644)
    (tmp_path / "spare-1").symlink_to(theirs)
    (tmp_path / "spare-2").mkdir()
    spares = [tmp_path / f"spare-{number}" for number in (1, 2, 3)]
    done = subprocess.run(
        [sys.executable, "-I", "-S", patch.__file__, live, *spares], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "2", "")
    assert (theirs.read_bytes(), theirs.stat().st_mode & 0o777) == (b"theirs", 0o644)
    assert spare.read_bytes() == live.read_bytes()


def test_where_the_file_system_cannot_tell_who_reads_every_file_is_copied_whole(
    store, publisher, settings, tmp_path, monkeypatch
):
    nothing_local = tmp_path / "patch.py"
    text = Path(patch.__file__).read_text().replace('"ext4", ', "").replace('"xfs", ', "").replace(', "tmpfs"', "")
    nothing_local.write_text(text)
    monkeypatch.setattr(patch, "__file__", str(nothing_local))
    for number in range(1, 5):
        add(store, number)
        publisher.publish()
        assert same_as_live(store, settings)
    assert Generations(store.path, settings.duckdb_file).spares() == []


def test_a_small_file_is_copied_whole_and_nothing_lies_beside_it(store, publisher, settings, monkeypatch):
    for number in range(1, 4):
        add(store, number)
        publisher.publish()
    assert Generations(store.path, settings.duckdb_file).spares()
    monkeypatch.setattr(generations, "SMALL", 1 << 30)
    add(store, 4)
    publisher.publish()
    assert sorted(path.name for path in settings.data_dir.glob("sager*")) == ["sager.duckdb"]
    read.connect(settings).close()
