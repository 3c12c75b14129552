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
    """Whether it publishes now; waits for the copy."""
    publisher.publish_if_due()
    return publisher.finish()


def versions(settings):
    con = read.connect(settings)
    try:
        return con.execute("SELECT version FROM skills ORDER BY 1").fetchall()
    finally:
        con.close()


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


@pytest.mark.parametrize(("is_behind", "pause"), [(False, 5.0), (True, 10.0)])
def test_after_a_long_stop_the_writer_has_some_time_for_rows_and_more_where_it_lags(
    store, publisher, clock, monkeypatch, is_behind, pause
):
    checkpoint = store.checkpoint

    def slow(*moments):
        clock.now += 20.0
        checkpoint(*moments)

    monkeypatch.setattr(store, "checkpoint", slow)
    assert publishes(publisher)
    publisher.note()
    clock.now = 19.9 + pause
    publisher.publish_if_due(is_behind=is_behind)
    assert not publisher.finish()
    clock.now = 20.0 + pause
    publisher.publish_if_due(is_behind=is_behind)
    assert publisher.finish()


def test_the_last_publication_does_not_wait(store, publisher, settings):
    publishes(publisher)
    write(store, skill(1))
    publisher.note()
    assert publisher.publish_if_changed()
    assert versions(settings) == [(1,)]


def test_the_last_publication_is_tried_also_where_an_earlier_one_has_failed(store, publisher, settings, monkeypatch):
    monkeypatch.setattr("streams.materializer.generations.shutil.which", lambda _: "/bin/false")
    assert not publishes(publisher)
    monkeypatch.undo()
    write(store, skill(1))
    publisher.note()
    assert publisher.publish_if_changed()
    assert versions(settings) == [(1,)]


def test_a_write_ahead_log_does_not_grow_until_a_publication_that_is_far_off(
    store, publisher, clock, settings, monkeypatch
):
    assert publishes(publisher)
    write(store, skill(1))
    publisher.note()
    assert not publishes(publisher)
    monkeypatch.setattr("streams.materializer.snapshot.LOG_BYTES", 0)
    assert publishes(publisher)
    assert clock.now == 0


def test_the_snapshot_says_how_fresh_it_is_and_remembers_it_over_restarts(store, publisher, settings):
    write(store, skill(1), skills=5, items=2)
    publisher.note(at(3).replace(tzinfo=None))
    publisher.publish()
    Publisher(store, settings.duckdb_file, 15.0).publish()
    con = read.connect(settings)
    query = "SELECT newest_record_at, records, now()::TIMESTAMP - published_at < INTERVAL 1 HOUR FROM snapshot_info"
    assert con.execute(query).fetchall()[0][:2] == (at(3).replace(tzinfo=None), 7)


def test_the_snapshot_is_read_only_and_a_stray_wal_beside_it_does_no_harm(store, publisher, settings):
    publisher.publish()
    assert settings.duckdb_file.stat().st_mode & 0o777 == 0o440
    stray = settings.duckdb_file.with_name("sager.duckdb.wal")
    stray.write_bytes(b"left by a client that was killed")
    write(store, skill(1))
    publisher.publish()
    assert not stray.exists()
    assert versions(settings) == [(1,)]
    assert list(settings.duckdb_file.parent.iterdir()) == [settings.duckdb_file]


def test_an_open_reader_keeps_its_state_and_a_new_one_in_the_same_process_sees_the_new(store, publisher, settings):
    write(store, skill(1))
    publisher.publish()
    old = read.connect(settings)
    write(store, skill(2))
    publisher.publish()
    assert old.execute("SELECT version FROM skills").fetchall() == [(1,)]
    assert versions(settings) == [(2,)]
    old.close()


def test_publishing_keeps_the_live_file_locked(store, publisher):
    publisher.publish()
    code = f"import duckdb; duckdb.connect({str(store.path)!r})"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "Could not set lock" in other.stderr
    write(store, skill(1))
    assert rows(store, "SELECT version FROM skills") == [(1,)]


def test_a_reader_cannot_write(publisher, settings):
    publisher.publish()
    con = read.connect(settings)
    with pytest.raises(duckdb.Error, match="read-only"):
        con.execute("DELETE FROM skills")
    con.close()


def test_a_failed_copy_is_counted_and_tried_again(store, publisher, clock, settings, monkeypatch, caplog):
    monkeypatch.setattr("streams.materializer.generations.shutil.which", lambda _: "/bin/false")
    assert not publishes(publisher)
    assert "could not publish" in caplog.text
    assert not settings.duckdb_file.exists()
    monkeypatch.undo()
    clock.now = 15.0
    assert publishes(publisher)


def test_without_cp_python_copies_in_a_child_process(store, publisher, settings, monkeypatch):
    monkeypatch.setattr("streams.materializer.generations.shutil.which", lambda _: None)
    write(store, skill(1))
    publisher.publish()
    assert versions(settings) == [(1,)]


def test_the_live_file_is_no_target(store):
    with pytest.raises(MaterializerError, match="SAGER_DUCKDB"):
        Publisher(store, store.path.parent / ".." / store.path.parent.name / store.path.name, 15.0)


def test_without_a_snapshot_the_reader_says_what_to_run(settings):
    with pytest.raises(MaterializerError, match="sager materialize"):
        read.connect(settings)


def test_skills_and_diffs_come_back_as_they_were(store, publisher, settings):
    write(store, skill(2), skill(1, user="bob"), diff(2), diff(1), diff(1, user="bob"))
    publisher.publish()
    con = read.connect(settings)
    assert read.skill(con, "ann") == read.skill(con, "ann", "books") == [skill(2)]
    assert read.skill(con, "ann", "films") == read.skill(con, "' OR true --") == []
    assert read.diffs(con, "ann") == read.diffs(con, "ann", "books") == [diff(1), diff(2)]
    con.close()


def test_a_snapshot_of_another_tenant_is_refused(store, publisher, settings):
    publishes(publisher)

    with pytest.raises(AnotherDeployment, match=r"belongs to the prefix 'sager\.', not 'acme\.'"):
        read.connect(settings.model_copy(update={"prefix": "acme."}))
    read.connect(settings).close()
