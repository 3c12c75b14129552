"""`sager eval stream` at the command line: lines for programs, a table and a chart for people."""

import json

import pytest
from typer.testing import CliRunner

from streams.cli import app
from tests.unit.quality.quality_builders import data_set

KEYS = {
    *("arm", "data", "candidates", "history", "by", "users", "choices", "hit_at_1", "ndcg_at_5", "mrr"),
    *("by_seen", "choices_by_seen", "minus", "growth", "cpu_ms_per_choice", "seed"),
}


def stream(*args):
    """The command without a process of its own, which starts in less time."""
    return CliRunner().invoke(app, ["eval", "stream", *map(str, args)], env={"COLUMNS": "200"})


def test_json_is_one_line_per_arm_history_list_and_what_ranks(tmp_path):
    folder = data_set(tmp_path / "films")
    wanted = ("--history", "0,3", "--candidates", "uniform,exposed", "--by", "skill,mix", "--arm", "prior,sager")

    done = stream("--data", folder, *wanted, "--users", 12, "--choices", 3, "--seed", 2, "--json")

    assert done.exit_code == 0, done.output
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(line["candidates"], line["history"], line["by"], line["arm"]) for line in lines] == [
        (kind, history, by, arm)
        for kind in ("uniform", "exposed")
        for history in (0, 3)
        for by in ("skill", "mix")
        for arm in ("prior", "sager")
    ]
    for line in lines:
        assert set(line) == KEYS
        assert (line["data"], line["seed"]) == ("films", 2)
        assert line["by_seen"].keys() == line["choices_by_seen"].keys() <= {"0", "1", "2"}
        assert sum(line["choices_by_seen"].values()) == line["choices"] <= 36
        [(other, found)] = line["minus"].items()
        assert other != line["arm"]
        low, high = found["ci95"]
        assert low <= found["difference"] <= high
    uniform = [line for line in lines if line["candidates"] == "uniform"]
    assert {(line["users"], line["choices"]) for line in uniform} == {(12, 36)}


def test_a_person_gets_a_table_and_a_chart(tmp_path):
    done = stream("--data", data_set(tmp_path / "films"), "--users", 10, "--arm", "no-skill,sager")

    assert done.exit_code == 0, done.output
    assert "films, uniform lists, 3 visits of history, by mix: 10 users, 40 choices, seed 0" in done.stdout
    assert "Hit@1 by choices seen before" in done.stdout
    bars = [line for line in done.stdout.splitlines() if "█" in line]
    assert len(bars) >= 4
    assert not done.stdout.count("{")


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("--arm", "popularity"), "no-skill, prior, rules, sager"),
        (("--candidates", "rare"), "uniform, popular, exposed"),
        (("--by", "chance"), "skill, fixed, mix"),
        (("--history", "three"), "no number of visits"),
        (("--arm", ","), "name at least one"),
    ],
)
def test_a_wrong_command_line_is_told(tmp_path, args, told):
    done = stream("--data", tmp_path, *args)

    assert done.exit_code == 2
    assert told in done.stderr


def test_a_data_set_that_is_too_small_is_told(tmp_path):
    done = stream("--data", data_set(tmp_path / "films"), "--history", 50)

    assert done.exit_code == 1
    assert "gives 0 users who can choose from uniform lists after 50 visits" in done.stderr
