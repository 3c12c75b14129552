"""`sager eval` as a user has it."""

import json

import duckdb
import pytest
from typer.testing import CliRunner

from streams.cli import app
from tests.unit.quality.quality_builders import data_set

KEYS = {
    *("arm", "data", "candidates", "users", "hit_at_1", "hit_at_3", "hit_at_5", "ndcg_at_3", "ndcg_at_5"),
    *("ci95_hit_at_1", "llm_calls", "cached_calls", "unusable"),
    *("prompt_tokens", "completion_tokens", "seconds", "seed"),
}


def eval_(*args):
    """The command without a process of its own, which starts in less time."""
    return CliRunner().invoke(app, ["eval", *map(str, args)], env={"COLUMNS": "200"})


def test_json_is_one_line_per_arm_and_all_is_kept(tmp_path):
    folder, results = data_set(tmp_path / "films"), tmp_path / "results.duckdb"
    wanted = ("--arm", "random,popularity", "--arm", "profile", "--candidates", "popular", "--users", "20")

    done = eval_("--data", folder, *wanted, "--seed", 3, "--results", results, "--json")

    assert done.exit_code == 0, done.output
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["arm"] for line in lines] == ["random", "popularity", "profile"]
    for line in lines:
        assert set(line) == KEYS
        assert (line["data"], line["candidates"], line["users"], line["seed"]) == ("films", "popular", 20, 3)
        assert line["ci95_hit_at_1"][0] <= line["hit_at_1"] <= line["ci95_hit_at_1"][1]
    with duckdb.connect(str(results), read_only=True) as db:
        assert db.execute(
            "SELECT arm, count(*) FROM runs JOIN places USING (run_id) GROUP BY arm ORDER BY arm"
        ).fetchall() == [
            ("popularity", 20),
            ("profile", 20),
            ("random", 20),
        ]


def test_the_table_compares_with_the_baseline(tmp_path):
    folder, results = data_set(tmp_path / "films"), tmp_path / "results.duckdb"

    done = eval_("--data", folder, "--arm", "profile,random", "--baseline", "random", "--results", results)

    assert done.exit_code == 0, done.output
    assert "Hit@1 less random" in done.stdout
    [profile] = [line for line in done.stdout.splitlines() if line.strip().startswith("profile")]
    assert "[+" in profile or "[-" in profile


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("--arm", "random"), "--data"),
        (("--data", "x"), "--arm"),
        (("--data", "x", "--arm", "nope"), "popularity"),
        (("--data", "x", "--arm", "random", "--baseline", "popularity"), "--baseline"),
    ],
)
def test_a_wrong_command_line_is_told(args, told):
    done = eval_(*args)

    assert done.exit_code == 2
    assert told in done.stderr


def test_a_missing_extra_is_told_with_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    done = eval_("--data", tmp_path, "--arm", "random")

    assert done.exit_code == 1
    assert 'numpy and scipy: pip install ".[eval]"' in done.stderr


def test_arms_are_listed():
    assert "item-knn+profile" in eval_("arms").stdout
