"""Who may ask may read: no query of `sager sql` writes, takes or sees more, and no planted log takes effect."""

import json
import os
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import duckdb
import pytest
from typer.testing import CliRunner

from streams.analytics import MaterializerError, read
from streams.analytics.snapshot import Publisher
from streams.cli import app
from streams.rights.exporting import DataSubject, export_tables
from streams.settings import Settings
from tests.analytics_world import published
from tests.shared_files import empty_store

BLOB = "SELECT from_hex('00')"
PAYLOAD = f"({BLOB}) TO '{{}}' (FORMAT blob, USE_TMP_FILE false)"
STRAYS = (".wal", ".wal.recovery", ".wal.checkpoint")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    shutil.copy(published(), tmp_path / "sager.duckdb")
    monkeypatch.setenv("SAGER_DUCKDB", str(tmp_path / "sager.duckdb"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ask(*words):
    return CliRunner().invoke(app, ["sql", *words])


def state(folder: Path) -> dict[str, str]:
    return {
        str(file.relative_to(folder)): sha256(file.read_bytes()).hexdigest() if file.is_file() else "no file"
        for file in folder.rglob("*")
    }


def forged(folder: Path) -> bytes:
    """A log that DuckDB itself has written for this very snapshot: it doubles every version."""
    copy = folder / "copy.duckdb"
    shutil.copy(folder / "sager.duckdb", copy)
    with duckdb.connect(str(copy), config={"checkpoint_threshold": "1TB"}) as con:
        con.execute("PRAGMA disable_checkpoint_on_shutdown")
        con.execute("UPDATE skills SET version = 999")
    found = copy.with_name("copy.duckdb.wal").read_bytes()
    for each in folder.glob("copy.duckdb*"):
        each.unlink()
    return found


WRITES = {
    "copy": f"COPY {PAYLOAD}",
    "in a CTE": f"WITH done AS (COPY {PAYLOAD}) FROM done",
    "explained": f"EXPLAIN ANALYZE COPY {PAYLOAD}",
    "second": f"SELECT 1; COPY {PAYLOAD}",
    "in a text": "FROM query('WITH done AS (COPY (SELECT 1) TO ''{}'' (USE_TMP_FILE false)) FROM done')",
    "in a macro": f"CREATE TEMP MACRO it() AS TABLE WITH done AS (COPY {PAYLOAD}) FROM done; FROM it()",
    "attached": "ATTACH '{}' AS mine",
    "logged": "CALL enable_logging(storage = 'file', storage_path = '{}')",
    "of a secret": "CREATE PERSISTENT SECRET mine (TYPE http, BEARER_TOKEN 'x')",
    "inserted": "WITH done AS (INSERT INTO skills SELECT * FROM skills RETURNING *) FROM done",
    "checkpointed": "CHECKPOINT snapshot",
    "of settings": "SET enable_external_access = true",
    "exported": "EXPORT DATABASE '{}'",
    "installed": "INSTALL httpfs",
    "loaded": "LOAD '{}'",
    "profiled": "SET profiling_output = '{}'; PRAGMA enable_profiling; SELECT 1",
}
TARGETS = {
    **{ending: "{folder}/sager.duckdb" + ending for ending in STRAYS},
    "relative": "sager.duckdb.wal",
    "upper": "{folder}/SAGER.DUCKDB.WAL",
    "of a link": "{folder}/link.wal",
    "the snapshot": "{folder}/sager.duckdb",
    "spill": ".tmp/x",
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_no_statement_writes(folder, write):
    before = state(folder)
    result = ask(write.replace("{}", str(folder / "sager.duckdb.wal")), "--json")
    assert result.exit_code == 0 or result.stderr.startswith("sager: ")
    assert "Traceback" not in result.stderr
    assert state(folder) == before


@pytest.fixture
def barriers(folder):
    (folder / ".tmp").mkdir()
    (folder / "link.wal").symlink_to(folder / "sager.duckdb.wal")
    con = read.connect(Settings())
    read.restrict(con, 5, 1 << 30)
    yield con
    con.close()


def test_a_connection_opens_no_file_and_changes_no_setting(folder, barriers):
    before = state(folder)
    for target in TARGETS.values():
        for write in ("COPY", "EXPLAIN ANALYZE COPY"):
            with pytest.raises(duckdb.PermissionException):
                barriers.execute(f"{write} {PAYLOAD}".format(target.format(folder=folder))).fetchall()
    for reads in ("FROM read_text('/etc/hostname')", "FROM glob('/*')", "FROM read_blob('sager.duckdb')"):
        with pytest.raises(duckdb.Error):
            barriers.execute(reads).fetchall()
    for setting in ("disabled_filesystems = ''", "temp_directory = '.tmp'", "max_execution_time = 0", "threads = 99"):
        for verb in ("SET", "PRAGMA"):
            with pytest.raises(duckdb.Error):
                barriers.execute(f"{verb} {setting}")
    assert state(folder) == before


def test_moments_are_utc_in_every_zone(folder):
    query = "SELECT epoch(now()::TIMESTAMP)::BIGINT - epoch(now())::BIGINT AS apart"
    command = [sys.executable, "-m", "streams.cli", "sql", "--csv", query]
    done = subprocess.run(command, env=os.environ | {"TZ": "Asia/Tokyo"}, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("apart\n0\n", 0), done.stderr


@pytest.mark.parametrize("ending", STRAYS)
@pytest.mark.parametrize("kind", ["log", "link", "dangling link", "folder"])
def test_no_reader_opens_a_snapshot_with_a_log_beside_it_and_the_materializer_removes_it(tmp_path, ending, kind):
    settings = Settings(data_dir=tmp_path)
    with empty_store(tmp_path / "live.duckdb") as store:
        publisher = Publisher(store, settings.duckdb_file, 5.0)
        publisher.publish()
        stray = settings.duckdb_file.with_name("sager.duckdb" + ending)
        if kind == "folder":
            stray.mkdir()
        elif kind == "log":
            stray.write_bytes(b"x")
        else:
            (tmp_path / "elsewhere").write_bytes(b"theirs")
            stray.symlink_to(tmp_path / ("elsewhere" if kind == "link" else "nowhere"))
        linked = tmp_path / "linked.duckdb"
        linked.symlink_to("sager.duckdb")
        for path in (None, linked):
            with pytest.raises(MaterializerError, match="sager materialize"):
                read.connect(settings.model_copy(update={"duckdb": path}))
        publisher.publish_if_due()  # nothing to publish, but something to remove
        read.connect(settings).close()
        assert kind != "link" or (tmp_path / "elsewhere").read_bytes() == b"theirs"


def test_a_log_that_duckdb_would_carry_out_is_carried_out_by_none_of_ours(folder):
    (folder / "sager.duckdb.wal").write_bytes(forged(folder))
    with duckdb.connect(str(folder / "sager.duckdb"), read_only=True) as con:
        assert con.execute("SELECT max(version) FROM skills").fetchall() == [(999,)]  # it is a good forgery
    result = ask("SELECT max(version) FROM skills")
    assert (result.exit_code, "sager.duckdb.wal" in result.stderr) == (1, True)
    result = CliRunner().invoke(app, ["policy", "show", "user-0"])
    assert (result.exit_code, "sager.duckdb.wal" in result.stderr) == (1, True)


@pytest.mark.parametrize("name", ["../outside", "x\" TO 'y'; COPY (SELECT 1) TO 'outside.jsonl'; --"])
def test_a_persons_export_reads_each_table_whatever_its_name(folder, name):
    quoted = name.replace('"', '""')
    with duckdb.connect("sager.duckdb") as con:
        con.execute(f"CREATE TABLE \"{quoted}\" AS SELECT 'ann' AS user_id")
    before = state(folder)
    with read.connect(Settings()) as con:
        rows = [json.loads(line) for _, line in export_tables(con, DataSubject("ann"))]
    assert [each["row"] for each in rows if each["row"] == {"user_id": "ann"}]
    assert state(folder) == before


@pytest.mark.parametrize(
    "limits", [("--seconds", "inf"), ("--seconds", "1e300"), ("--memory", "inf"), ("SELECT \udcff",)]
)
def test_limits_without_end_and_words_without_letters_are_wrong_usage(folder, limits):
    result = ask(*limits, *(["SELECT 1"] if limits[0].startswith("-") else []))
    assert (result.exit_code, "Traceback" in result.stderr, bool(result.stderr)) == (2, False, True)


def test_a_query_that_wants_more_memory_than_it_may_have_fails(folder):
    result = ask("SELECT count(DISTINCT md5(i::VARCHAR)) FROM range(3000000) t(i)", "--memory", "0.05")
    assert (result.exit_code, "raise the limit with --memory" in result.stderr) == (1, True)


def test_an_error_of_duckdb_is_shown_with_its_indent(folder):
    result = ask("SELECT 'a'::BLOB LIKE 'a'")
    assert (result.exit_code, "\n  Candidate functions" in result.stderr, "\ufffd" in result.stderr) == (1, True, False)


def test_a_query_over_the_time_limit_is_stopped(folder):
    result = ask("SELECT count(*) FROM range(1000000000000) t(i) WHERE i % 7 = 3", "--seconds", "0.2")
    assert (result.exit_code, "stopped after 0.2 s" in result.stderr) == (1, True)
