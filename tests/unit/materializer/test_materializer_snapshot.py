"""The published snapshot: always whole, always readable, never the live file."""

import subprocess
import sys

import duckdb
import pytest

from streams.materializer import read
from streams.materializer.exceptions import AnotherDeployment, MaterializerError
from streams.materializer.snapshot import Publisher
from streams.materializer.store import Store
from streams.settings import Settings
from tests.unit.materializer.materializer_builders import at, diff, rows, skill, write

NO_CP = "streams.materializer.snapshot.shutil.which"


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def settings(tmp_path):
    return Settings(data_dir=tmp_path / "data", duckdb=tmp_path / "public" / "sager.duckdb")


@pytest.fixture
def store(settings):
    with Store(settings.data_dir / "live.duckdb", "sager.") as opened:
        yield opened


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def publisher(store, settings, clock):
    return Publisher(store, settings.duckdb_file, 15.0, clock)


def publishes(publisher):
    """True if it publishes now; waits for the copy."""
    publisher.publish_if_due()
    return publisher.finish()


def versions(settings):
    with read.connect(settings) as con:
        return con.execute("SELECT version FROM skills ORDER BY 1").fetchall()


def test_it_publishes_at_the_start_then_when_something_changed_and_time_has_passed(store, publisher, clock, settings):
    assert publishes(publisher)
    assert versions(settings) == []
    write(store, skill(1))
    publisher.note(at(1).replace(tzinfo=None))
    clock.now = 14.9
    assert not publishes(publisher)
    clock.now = 15.0
    assert publishes(publisher)
    assert versions(settings) == [(1,)]
    clock.now = 100.0
    assert not publishes(publisher)


def test_after_a_long_publication_three_quarters_of_the_time_belong_to_rows(store, publisher, clock, monkeypatch):
    checkpoint = store.checkpoint

    def slow(*moments):
        clock.now += 20.0
        checkpoint(*moments)

    monkeypatch.setattr(store, "checkpoint", slow)
    assert publishes(publisher)
    publisher.note()
    clock.now = 79.9
    assert not publishes(publisher)
    clock.now = 80.0
    assert publishes(publisher)


def test_the_last_publication_does_not_wait_also_after_a_failed_one(store, publisher, settings, monkeypatch, caplog):
    monkeypatch.setattr(NO_CP, lambda _: "/bin/false")
    assert not publishes(publisher)
    assert publisher.is_failing
    assert "could not publish" in caplog.text
    assert list(settings.duckdb_file.parent.iterdir()) == []
    monkeypatch.undo()
    write(store, skill(1))
    publisher.note()
    publisher.publish_if_changed()
    assert versions(settings) == [(1,)]


def test_a_failed_copy_is_tried_again_when_the_next_one_is_due(publisher, clock, monkeypatch):
    monkeypatch.setattr(NO_CP, lambda _: "/bin/false")
    assert not publishes(publisher)
    monkeypatch.undo()
    assert not publishes(publisher)
    clock.now = 15.0
    assert publishes(publisher)


def test_a_large_write_ahead_log_makes_a_publication_due(store, publisher, clock, monkeypatch):
    assert publishes(publisher)
    write(store, skill(1))
    publisher.note()
    assert not publishes(publisher)
    monkeypatch.setattr("streams.materializer.snapshot.LOG_BYTES", 0)
    assert publishes(publisher)
    assert clock.now == 0


def test_the_snapshot_knows_how_fresh_it_is_also_after_a_restart(store, publisher, settings):
    write(store, skill(1), skills=5, items=2)
    publisher.note(at(3).replace(tzinfo=None))
    publisher.publish()
    Publisher(store, settings.duckdb_file, 15.0).publish()
    query = "SELECT newest_record_at, records, now()::TIMESTAMP - published_at < INTERVAL 1 HOUR FROM snapshot_info"
    with read.connect(settings) as con:
        assert con.execute(query).fetchall()[0][:2] == (at(3).replace(tzinfo=None), 7)


def test_the_snapshot_is_read_only_and_nothing_stays_beside_it(store, publisher, settings):
    publisher.publish()
    assert settings.duckdb_file.stat().st_mode & 0o777 == 0o440
    settings.duckdb_file.with_name("sager.duckdb.wal").write_bytes(b"left by a client that was killed")
    write(store, skill(1))
    publisher.publish()
    assert versions(settings) == [(1,)]
    assert list(settings.duckdb_file.parent.iterdir()) == [settings.duckdb_file]
    with read.connect(settings) as con, pytest.raises(duckdb.Error, match="read-only"):
        con.execute("DELETE FROM skills")


def test_an_open_reader_keeps_its_state_and_a_new_one_in_the_same_process_sees_the_new(store, publisher, settings):
    write(store, skill(1))
    publisher.publish()
    with read.connect(settings) as old:
        write(store, skill(2))
        publisher.publish()
        assert old.execute("SELECT version FROM skills").fetchall() == [(1,)]
        assert versions(settings) == [(2,)]


def test_publishing_keeps_the_live_file_locked(store, publisher, settings):
    publisher.publish()
    code = f"import duckdb; duckdb.connect({str(store.path)!r})"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "Could not set lock" in other.stderr
    write(store, skill(1))
    assert rows(store, "SELECT version FROM skills") == [(1,)]
    publisher.publish()
    assert versions(settings) == [(1,)]


def test_the_live_file_is_no_target(store):
    with pytest.raises(MaterializerError, match="SAGER_DUCKDB"):
        Publisher(store, store.path.parent / ".." / store.path.parent.name / store.path.name, 15.0)


def test_a_missing_snapshot_and_one_of_another_tenant_are_refused(publisher, settings):
    with pytest.raises(MaterializerError, match="sager materialize"):
        read.connect(settings)
    publisher.publish()
    with pytest.raises(AnotherDeployment, match=r"belongs to the prefix 'sager\.', not 'acme\.'"):
        read.connect(settings.model_copy(update={"prefix": "acme."}))
    read.connect(settings).close()


def test_skills_and_diffs_come_back_as_they_were(store, publisher, settings):
    write(store, skill(2), skill(1, user="bob"), diff(2), diff(1), diff(1, user="bob"))
    publisher.publish()
    with read.connect(settings) as con:
        assert read.skill(con, "ann") == read.skill(con, "ann", "books") == [skill(2)]
        assert read.skill(con, "ann", "films") == read.skill(con, "' OR true --") == []
        assert read.diffs(con, "ann") == read.diffs(con, "ann", "books") == [diff(1), diff(2)]
