"""The published snapshot: always whole, always readable, never the live file."""

import subprocess
import sys

import duckdb
import pytest

from streams.analytics import MaterializerError, read
from streams.analytics.snapshot import Publisher
from streams.analytics.store import DuckDBStore
from streams.settings import Settings
from tests.unit.materializer.materializer_builders import at, rows, skill, write


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def settings(tmp_path):
    return Settings(data_dir=tmp_path / "data", duckdb=tmp_path / "public" / "sager.duckdb")


@pytest.fixture
def store(settings):
    with DuckDBStore(settings.data_dir / "live.duckdb", "sager.") as opened:
        yield opened


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def publisher(store, settings, clock):
    return Publisher(store, settings.duckdb_file, 15.0, clock)


def versions(settings):
    with read.connect(settings) as con:
        return con.execute("SELECT version FROM skills ORDER BY 1").fetchall()


def test_it_publishes_at_the_start_then_when_something_changed_and_time_has_passed(store, publisher, clock, settings):
    assert publisher.publish_if_due()
    assert versions(settings) == []
    write(store, skill(1))
    publisher.mark_changed(at(1).replace(tzinfo=None))
    clock.now = 14.9
    assert not publisher.publish_if_due()
    clock.now = 15.0
    assert publisher.publish_if_due()
    assert versions(settings) == [(1,)]
    clock.now = 100.0
    assert not publisher.publish_if_due()


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


def test_publishing_keeps_the_live_file_locked(store, publisher, settings):
    publisher.publish()
    code = f"import duckdb; duckdb.connect({str(store.path)!r})"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "Could not set lock" in other.stderr
    write(store, skill(1))
    assert rows(store, "SELECT version FROM skills") == [(1,)]
    publisher.publish()
    assert versions(settings) == [(1,)]


def test_a_missing_snapshot_and_one_of_another_tenant_are_refused(publisher, settings):
    with pytest.raises(MaterializerError, match="sager materialize"):
        read.connect(settings)
    publisher.publish()
    with pytest.raises(MaterializerError, match=r"belongs to the prefix 'sager\.', not 'acme\.'"):
        read.connect(settings.model_copy(update={"prefix": "acme."}))
    read.connect(settings).close()
