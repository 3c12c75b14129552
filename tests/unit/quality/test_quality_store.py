"""The file of results."""

import subprocess
import sys

import duckdb
import pytest

from evaluation import store as stores
from evaluation.exceptions import BadResults
from evaluation.run import Result, Setting
from evaluation.store import Store


def a_result(arm="profile", places=None, seed=0):
    return Result(
        arm=arm,
        data="films",
        setting=Setting("uniform", seed),
        places=places or {"ann": 1, "bob": 4},
        measures={"hit_at_1": 0.5, "hit_at_3": 0.5, "hit_at_5": 1.0, "ndcg_at_3": 0.5, "ndcg_at_5": 0.7},
        ci95_hit_at_1=(0.0, 1.0),
        llm_calls=2,
        prompt_tokens=200,
        completion_tokens=20,
        seconds=0.5,
    )


def test_the_newest_run_is_found_with_every_users_place(tmp_path):
    store = Store(tmp_path / "new" / "quality.duckdb")
    store.add(a_result(places={"ann": 9, "bob": 9}), "f1", {"tau": 3})
    run_id = store.add(a_result(), "f1", {"tau": 2})
    store.add(a_result(seed=1), "f1", {})
    store.add(a_result(arm="other"), "f1", {})

    found = Store(store.path).newest("profile", "films", "uniform", 0, "f1")

    assert (found.run_id, found.users, found.places) == (run_id, 2, {"ann": 1, "bob": 4})
    assert store.newest("profile", "films", "popular", 0) is None
    assert store.newest("profile", "films", "uniform", 0, "other training") is None


def test_runs_are_rows_that_sql_can_ask_for(tmp_path):
    store = Store(tmp_path / "quality.duckdb")
    store.add(a_result(), "f1", {"tau": 2})

    with duckdb.connect(str(store.path), read_only=True) as db:
        [row] = db.execute("SELECT arm, hit_at_1, hit_at_1_high, llm_calls, settings->>'tau' FROM runs").fetchall()

    assert row == ("profile", 0.5, 1.0, 2, "2")


def test_a_file_of_somebody_else_is_left_alone(tmp_path):
    path = tmp_path / "sager.duckdb"
    with duckdb.connect(str(path)) as db:
        db.execute("CREATE TABLE skills (id INTEGER)")

    with pytest.raises(BadResults, match="holds other tables"):
        Store(path)


def test_a_file_that_is_none_is_told(tmp_path):
    (tmp_path / "quality.duckdb").write_text("nonsense")

    with pytest.raises(BadResults, match="cannot be opened"):
        Store(tmp_path / "quality.duckdb")


def test_a_file_that_another_process_holds_is_waited_for_and_then_told(tmp_path, monkeypatch):
    monkeypatch.setattr(stores, "PATIENCE_SECONDS", 0.2)
    store = Store(tmp_path / "quality.duckdb")
    code = "import duckdb, sys; db = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", code, str(store.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline()
        with pytest.raises(BadResults, match="another process holds"):
            store.add(a_result(), "f1", {})
        holder.stdin.close()

    store.add(a_result(), "f1", {})
