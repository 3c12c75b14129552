"""`sager eval` as a user has it."""

import json

import pytest
from typer.testing import CliRunner

from evaluation.results import read
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
    folder, results = data_set(tmp_path / "films"), tmp_path / "results.jsonl"
    wanted = ("--arm", "random,popularity,profile", "--candidates", "popular", "--users", "20")

    done = eval_("--data", folder, *wanted, "--seed", 3, "--results", results, "--json")

    assert done.exit_code == 0, done.output
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["arm"] for line in lines] == ["random", "popularity", "profile"]
    for line in lines:
        assert set(line) == KEYS
        assert (line["data"], line["candidates"], line["users"], line["seed"]) == ("films", "popular", 20, 3)
        assert line["ci95_hit_at_1"][0] <= line["hit_at_1"] <= line["ci95_hit_at_1"][1]
    kept = read(results)
    assert [(row["arm"], len(row["places"]), row["options"]["tau"]) for row in kept] == [
        ("random", 20, 2),
        ("popularity", 20, 2),
        ("profile", 20, 2),
    ]


@pytest.mark.parametrize(
    ("args", "told"),
    [(("--arm", "random"), "--data"), (("--data", "x"), "--arm"), (("--data", "x", "--arm", "nope"), "popularity")],
)
def test_a_wrong_command_line_is_told(args, told):
    done = eval_(*args)

    assert done.exit_code == 2
    assert told in done.stderr
