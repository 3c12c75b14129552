"""The comparison with a model, against a real endpoint over HTTP: who is asked what, what is learned, the figures."""

import json
from collections import Counter

import pytest
from typer.testing import CliRunner

from evaluation.exceptions import QualityError
from evaluation.model.arms import ARMS, BOTH, BY_LINE, COUNTS, MODEL, NO_SKILL, PRIOR, REPLACE
from evaluation.model.figures import Places
from evaluation.model.plan import full_plan
from evaluation.model.play import FORMS, FROZEN, SLIM_BUDGETS, SWEPT, TAUS
from evaluation.model.run import run
from evaluation.replies import Replies
from streams.cli import app
from streams.settings import Settings
from tests.openai_server import Act, Do, OpenAiServer, threaded
from tests.unit.quality.quality_builders import data_set, tastes

CHOICES = 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return data_set(tmp_path_factory.mktemp("films"), tastes(12))


@pytest.fixture(scope="module")
def plan(folder):
    return full_plan(folder, 2, CHOICES, pool=12)


@pytest.fixture
async def server():
    async with OpenAiServer() as running:
        yield running


async def played(plan, server, replies=None, **options):
    settings = Settings(llm_base_url=server.base_url, llm_model="fake", llm_attempts=1)
    return await run(plan, settings, replies or Replies(), **options)


def test_only_users_with_enough_choices_play_and_all_have_as_many(folder):
    plan = full_plan(folder, 5, CHOICES, pool=12)
    assert [len(choices) for choices in plan.choices.values()] == [CHOICES] * 5
    assert set(plan.past) == set(plan.choices) == set(plan.populations)
    with pytest.raises(QualityError, match="0 have 9 choices"):
        full_plan(folder, 5, 9, pool=12)


async def test_every_arm_ranks_every_choice_by_the_model_and_by_the_skill_alone(plan, server):
    found = await played(plan, server)

    ranked = Counter((each["arm"], each["by"]) for each in found["ranked"])
    assert ranked == {(arm, "model"): 2 * CHOICES for arm in ARMS} | {
        (arm, "skill"): 2 * CHOICES for arm in ARMS if arm != NO_SKILL
    }
    assert {each["place"] for each in found["ranked"]} <= set(range(1, 11))
    assert found["learned"] == {arm: 2 * CHOICES for arm in ARMS if arm not in (NO_SKILL, PRIOR)}
    assert 0 < len(server.bodies) < found["calls"], "what two arms ask alike is asked once"


async def test_who_is_asked_what_is_what_the_arms_say(plan, server):
    for arm, asked in {
        NO_SKILL: set(),
        PRIOR: set(),
        COUNTS: set(),
        REPLACE: {"evolve-replace_v1"},
        MODEL: {"evolve_v2"},
        BOTH: {"evolve_v2"},
    }.items():
        server.bodies.clear()
        found = await played(plan, server, arms=(arm,))
        forms = (body.get("response_format", {}).get("json_schema", {}).get("name") for body in server.bodies)
        assert {form for form in forms if form} == asked, arm
        assert bool(found["verdicts"]) is (arm in (MODEL, BOTH)), arm
        assert any("likes: " in prompt for prompt in server.prompts) is (arm != NO_SKILL), arm


async def test_lines_are_asked_for_one_by_one_and_only_those_that_the_item_does_not_state(plan, server):
    server.always = Act(Do.JUNK_TOKENS)

    found = await played(plan, server, arms=(BY_LINE,))

    asked = [prompt for prompt in server.prompts if prompt.startswith("Item: ") and "Your last reply" not in prompt]
    assert asked
    assert all(prompt.count("Does this item clearly fit the description") == 1 for prompt in asked)
    for prompt in asked:
        item, line = prompt.split("\n")[0], prompt.split('"')[1]
        assert f"; {line};" not in f"; {item.partition(' | ')[2]};"
    # An answer that is neither yes nor no supports nothing.
    assert found["unusable"][BY_LINE] >= len(asked)
    assert BY_LINE not in found["verdicts"]


async def test_without_an_answer_nothing_is_learned_from_the_model_and_the_list_stays_as_it_was(plan, server):
    server.always = Act(Do.WRONG_SCHEMA)

    found = await played(plan, server, arms=(COUNTS, BOTH))

    assert found["unusable"][BOTH] == 2 * CHOICES * 2, "a choice and a ranking each"
    by_skill = {
        arm: [(each["user_id"], each["seen"], each["place"]) for each in found["ranked"] if each["arm"] == arm]
        for arm in (COUNTS, BOTH)
    }
    assert sorted(by_skill[COUNTS]) == sorted(by_skill[BOTH]), "counts are counted all the same"


async def test_the_sweeps_rank_the_same_choices_in_other_ways(plan, server):
    found = await played(plan, server, swept=1)

    ranked = Counter(each["arm"] for each in found["ranked"] if each["by"] == "model" and each["arm"] not in ARMS)
    frozen = CHOICES - max(TAUS)
    hosts = [
        f"{host}{ending}" for host in ("vanilla", "static-profile", "dynamic-profile") for ending in ("", "+skill")
    ]
    assert ranked == {
        **{f"{arm}+{form.value}": CHOICES for arm in SWEPT for form in FORMS},
        **{f"{BOTH}+slim-{budget}": CHOICES for budget in SLIM_BUDGETS},
        **{f"{arm}+tau-{tau}": frozen for arm in FROZEN for tau in TAUS},
        **dict.fromkeys(hosts, CHOICES),
    }
    assert len(found["swept"]) == 1


async def test_kept_replies_are_not_asked_for_again_and_say_the_same(plan, server, tmp_path):
    options = {"arms": (PRIOR, BOTH), "swept": 1}
    replies = Replies(tmp_path / "kept.duckdb")
    first = await played(plan, server, replies, **options)
    asked = len(server.bodies)
    again = await played(plan, server, replies, **options)
    replies.close()

    def of(found):
        return sorted(map(tuple, (each.items() for each in found["ranked"])))

    assert len(server.bodies) == asked
    assert of(again) == of(first)
    assert again["verdicts"] == first["verdicts"]


def told(places, arm="a", by="model", user="u"):
    return [
        {"arm": arm, "by": by, "user_id": f"{user}{number}", "seen": seen, "place": place}
        for number, of_user in enumerate(places)
        for seen, place in enumerate(of_user)
    ]


def test_figures_are_means_over_choices_and_differences_are_paired():
    places = Places(
        [
            {"data": "films", "ranked": told([[1, 2], [1, 4]]) + told([[2, 2], [1, 1]], "b")},
            {"data": "films", "ranked": told([[1, 1]], user="v") + told([[3]], "b", user="v")},
        ]
    )
    figures = places.figures("a")

    assert places.arms() == ["a", "b"]
    assert (figures.users, figures.choices, figures.hit_at_1) == (3, 6, pytest.approx(4 / 6))
    assert figures.mrr == pytest.approx((4 + 1 / 2 + 1 / 4) / 6)
    assert (figures.early, figures.late) == (1.0, pytest.approx(1 / 3))
    assert figures.ci95[0] < figures.hit_at_1 < figures.ci95[1]
    found = places.minus("a", "b")
    assert found.difference == pytest.approx((1 - 0 + 0 - 1 + 1) / 5), "the last has no pair"
    assert not found.is_significant
    with pytest.raises(ValueError, match="one data set"):
        Places([{"data": "films", "ranked": []}, {"data": "books", "ranked": []}])


def test_the_command_plays_and_tells(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with threaded(OpenAiServer()) as server:
        monkeypatch.setenv("SAGER_LLM_BASE_URL", server.base_url)
        monkeypatch.setenv("SAGER_LLM_MODEL", "fake")
        words = ["eval", "model", "--data", str(folder), "--users", "2", "--sweeps", "0", "--choices", str(CHOICES)]
        words += ["--arm", "statinit,counts", "--places", "places.json"]
        done = CliRunner().invoke(app, [*words, "--json"])
        assert done.exit_code == 0, done.stderr
        asked = len(server.bodies)
        shown = CliRunner().invoke(app, words)
        assert CliRunner().invoke(app, [*words, "--arm", "nobody"]).exit_code == 2
        assert len(server.bodies) == asked, "replies are kept"

    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(line["arm"], line["by"]) for line in lines] == [
        ("counts", "model"),
        ("statinit", "model"),
        ("counts", "skill"),
        ("statinit", "skill"),
    ]
    assert lines[2]["minus"].keys() == {"statinit"}
    assert {line["choices"] for line in lines} == {2 * CHOICES}
    assert len(json.loads((tmp_path / "places.json").read_text())["ranked"]) == 4 * 2 * CHOICES
    assert "counts" in shown.stdout
