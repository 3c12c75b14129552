"""Real lists: played in order, each ranked before it is learned."""

import json

import pytest
from typer.testing import CliRunner

from evaluation.exceptions import QualityError
from evaluation.lists import logged_plan
from evaluation.skill_arms import STREAM_RULES, RankBy
from evaluation.stream import in_order, lines_of, simulate_user
from streams.cli import app

PEOPLE = {"ann": "tea", "bob": "coffee", "eve": "tea"}


def shown(number, wish):
    """A list of three drinks, in which the wish has another place each time."""
    kinds = ["tea", "coffee", "cocoa"]
    kinds = kinds[number % 3 :] + kinds[: number % 3]
    items = [{"item_id": f"{kind}-{number}", "metadata": {"kind": kind}} for kind in kinds]
    return {"shown": items, "taken": kinds.index(wish)}


@pytest.fixture
def folder(tmp_path):
    rows = [{"user_id": user, "n": n, **shown(n, wish)} for user, wish in PEOPLE.items() for n in range(12)]
    (tmp_path / "choices.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path


async def test_a_skill_learns_from_real_lists_and_is_measured_before_it_learns(folder):
    plan = logged_plan(folder, domain="drinks")

    results = [await simulate_user(STREAM_RULES[name], plan) for name in ("no-skill", "sager")]

    none, sager = lines_of(plan, results, RankBy.MIX, 0)
    assert (sager["choices"], sager["candidates"]) == (36, "logged")
    assert none["hit_at_1"] < 0.6 < sager["by_seen"]["9-16"]
    assert none["log_loss"] == pytest.approx(1.0986, abs=1e-4)
    assert sager["log_loss"] < none["log_loss"]
    assert sager["by_seen"]["0"] < 1


def test_an_item_with_other_facts_than_before_is_another_item(tmp_path):
    items = [{"item_id": "a", "metadata": {"price": price}} for price in (3, 3, 4)]
    rows = [
        {"user_id": user, "n": n, "shown": [item, {"item_id": "b"}], "taken": 0}
        for user in PEOPLE
        for n, item in enumerate(items)
    ]
    (tmp_path / "choices.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    plan = logged_plan(tmp_path, domain="drinks")

    assert [choice.taken.item_id for choice in plan.choices["ann"]] == ["a", "a", "a~2"]
    assert plan.items["a~2"].metadata == {"price": 4}


def test_choices_with_times_are_played_in_their_order(tmp_path):
    (tmp_path / "seen.csv").write_text(
        "who,list,item,at,took\nann,1,a,300,1\nann,1,b,300,0\nbob,2,a,100,0\nbob,2,b,100,1\n"
        "ann,3,a,200,1\nann,3,b,200,0\n"
    )
    (tmp_path / "seen.toml").write_text(
        'domain = "drinks"\n[lists]\nfile = "*.csv"\nuser = "who"\nlist = "list"\n'
        'item = "item"\ntime = "at"\ntaken = "took"\n'
    )

    plan = logged_plan(tmp_path, str(tmp_path / "seen.toml"))

    assert [turn.user_id for turn in in_order(plan, 0)] == ["bob", "ann", "ann"]
    assert [turn.shown.taken.at.minute * 60 + turn.shown.taken.at.second for turn in in_order(plan, 0)] == [
        100,
        200,
        300,
    ]


def test_a_list_of_one_that_was_left_is_a_rejection(tmp_path):
    rows = [
        {"user_id": user, "n": n, "shown": [{"item_id": "a"}, {"item_id": "b"}][:size], "taken": taken}
        for user in PEOPLE
        for n, (size, taken) in enumerate([(1, 0), (1, None), (2, None)])
    ]
    (tmp_path / "choices.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    plan = logged_plan(tmp_path, domain="drinks")

    assert [choice.rejected for choice in plan.choices["ann"]] == [False, True]


def test_lists_of_one_user_cannot_be_compared(tmp_path):
    (tmp_path / "choices.jsonl").write_text(json.dumps({"user_id": "ann", "n": 0, **shown(0, "tea")}) + "\n")

    with pytest.raises(QualityError, match="1 users"):
        logged_plan(tmp_path, domain="drinks")


def test_the_command_reads_lists_or_visits_but_not_both(folder):
    run = CliRunner().invoke(
        app, ["eval", "stream", "--lists", str(folder), "--domain", "drinks", "--arm", "sager", "--json"]
    )
    both = CliRunner().invoke(app, ["eval", "stream", "--lists", str(folder), "--data", str(folder)])

    assert json.loads(run.stdout)["choices"] == 36
    assert (both.exit_code, "either --data or --lists" in both.output) == (2, True)
