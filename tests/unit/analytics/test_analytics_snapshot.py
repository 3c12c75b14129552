"""The published snapshot: always whole, always readable, never the live file."""

import shutil
import subprocess
import sys
from types import SimpleNamespace

import duckdb
import pytest

from schemas import CardDiff
from streams.analytics import MaterializerError, read, schema
from streams.analytics.records import ChangeSet
from streams.analytics.snapshot import Publisher
from streams.analytics.store import DuckDBStore, Progress
from streams.settings import Settings
from tests.shared_files import empty_store
from tests.unit.analytics.analytics_builders import (
    abstention,
    at,
    batch_of,
    correction,
    diff,
    eves_log,
    eves_skill,
    interaction,
    item,
    ranking,
    rated,
    receipt,
    rows,
    selection,
    skill,
    tombstone,
    write,
)
from tests.waiting import until


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def settings(tmp_path):
    return Settings(data_dir=tmp_path / "data", duckdb=tmp_path / "public" / "sager.duckdb")


@pytest.fixture
def store(settings):
    with empty_store(settings.data_dir / "live.duckdb") as opened:
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


OFFSETS = {("sager.interactions", 0): Progress(5, "id-1")}


def erase(store, user):
    store.write(ChangeSet(), {}, [receipt(user)])


def fill(store):
    for user in ("ann", "bob", "cyd"):
        write(store, interaction(f"x-{user}", user), ranking(f"r-{user}", user), selection(f"r-{user}", user=user))
        write(store, diff(1, f"c-{user}", user), skill(1, user=user))
    write(store, item("dune", "Dune"), *eves_log(), eves_skill(), rated("f1"), correction("w1"), abstention("n1"))
    store.write(ChangeSet(), OFFSETS)


def holding(folder, word):
    return [path.name for path in folder.iterdir() if path.is_file() and word.encode() in path.read_bytes()]


@pytest.fixture
def live(tmp_path):
    with empty_store(tmp_path / "live.duckdb") as store:
        fill(store)
        yield store


def publisher_of(store):
    return Publisher(store, store.path.with_name("sager.duckdb"), 0.0)


def test_a_rewritten_file_has_every_row_view_comment_key_and_offset(live, tmp_path):
    names = [name for name in schema.all_tables() if name != "meta"]
    catalog = "table_name, column_name, comment FROM duckdb_columns() WHERE NOT internal AND table_name <> 'batch'"
    catalog = f"SELECT {catalog} ORDER BY ALL"
    publisher_of(live).publish()
    wanted, described = {name: rows(live, f"FROM {name} ORDER BY ALL") for name in names}, rows(live, catalog)

    live.rewrite()

    assert {name: rows(live, f"FROM {name} ORDER BY ALL") for name in names} == wanted
    assert rows(live, catalog) == described
    assert live.offsets() == OFFSETS
    assert write(live, interaction("x-bob", "bob"))["interactions"] == 0


def test_the_next_publication_rewrites_the_file_without_the_erased_rows(live, tmp_path):
    publisher = publisher_of(live)
    publisher.publish()
    erase(live, "ann")
    erase(live, "bob")
    publisher.mark_changed()
    until(publisher.publish_if_due, "a publication, which waits for a while after the one before")
    assert not live.is_stained()
    live.write(batch_of(interaction("late", "cyd")), {("sager.interactions", 0): Progress(6, "id-1")})
    publisher.mark_changed()
    publisher.publish_if_changed()

    assert holding(tmp_path, "x-ann") == holding(tmp_path, "x-bob") == []
    assert set(holding(tmp_path, "x-cyd")) == {"live.duckdb", "sager.duckdb"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["live.duckdb", "sager.duckdb"]


def test_a_rewritten_version_of_a_card_leaves_no_bytes_of_the_erased_one(live, tmp_path):
    about = {"user_id": "cyd", "event_id": "k1", "occurred_at": at(0), "version": 1}
    write(live, CardDiff(conversation_id="about-the-clinic", **about))
    publisher = publisher_of(live)
    publisher.publish()
    assert "sager.duckdb" in holding(tmp_path, "about-the-clinic")
    write(live, CardDiff(**about))
    publisher.publish()
    assert holding(tmp_path, "about-the-clinic") == []


@pytest.mark.parametrize("scope", [{"domain": "books", "line": "a" * 64}, {"domain": "films"}])
def test_the_last_receipt_removes_the_bytes_of_rows_replaced_since_the_first(live, tmp_path, scope):
    write(live, skill(2, "cyd", ("sf", "xenon-clinic")))
    of_scope = [receipt("cyd", **scope)]
    live.write(ChangeSet(), {}, of_scope)
    publisher = publisher_of(live)
    publisher.publish()
    write(live, skill(3, "cyd"))
    live.write(ChangeSet(), {}, of_scope)
    publisher.publish()
    assert holding(tmp_path, "xenon-clinic") == []


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("user", ["!AAAAAAA-first", "~zzzzzzz-last"])
@pytest.mark.thorough
def test_no_eight_bytes_of_an_erased_id_stay_in_a_columns_statistics(live, tmp_path, user, when):
    """DuckDB keeps the beginning of each column's least and greatest value."""
    tombstones = [tombstone(skill(1, user=user)), tombstone(diff(1, "c-1", user))]
    write(live, interaction("x-1", user), ranking("r-1", user), selection("r-1", user=user))
    write(live, diff(1, "c-1", user), skill(1, user=user), rated("f9", user_id=user))
    publisher = publisher_of(live)
    publisher.publish()
    assert "sager.duckdb" in holding(tmp_path, user[:8])
    if when == "before":
        write(live, *tombstones)
    erase(live, user)
    publisher.publish()
    if when == "after":
        write(live, *tombstones)
        publisher.publish()

    assert holding(tmp_path, user[:8]) == []


def test_a_new_file_that_cannot_be_made_leaves_the_old_one_and_is_tried_again(live, tmp_path):
    erase(live, "ann")
    (tmp_path / "live.duckdb.fresh").mkdir()
    publisher = publisher_of(live)
    publisher.publish_if_due()
    assert publisher.is_failing
    assert live.is_stained()
    assert live.offsets() == OFFSETS
    live.write(batch_of(interaction("late", "bob")), {("sager.interactions", 0): Progress(6, "id-1")})
    (tmp_path / "live.duckdb.fresh").rmdir()
    publisher.publish_if_changed()
    assert rows(live, "SELECT count(*) FROM interactions") == [(3,)]
    assert holding(tmp_path, "x-ann") == []


def test_without_room_for_a_second_file_the_old_one_stays_in_use(live, monkeypatch):
    erase(live, "ann")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    publisher = publisher_of(live)
    publisher.publish_if_due()
    assert publisher.is_failing
    assert rows(live, "SELECT count(*) FROM interactions") == [(2,)]


def test_files_that_a_killed_process_left_do_not_stay(tmp_path):
    (tmp_path / "live.duckdb.spill").mkdir()
    (tmp_path / "live.duckdb.spill" / "duckdb_temp_7_0_storage_DEFAULT-0.tmp").write_bytes(b"rows of ann")
    (tmp_path / "live.duckdb.fresh").write_bytes(b"half of a file")

    DuckDBStore(tmp_path / "live.duckdb", "sager.").close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["live.duckdb"]
