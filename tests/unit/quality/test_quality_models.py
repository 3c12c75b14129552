"""The arms with a model, against a real endpoint over HTTP: what is asked, kept, counted and bounded."""

import json
from collections import Counter

import pytest
from typer.testing import CliRunner

from evaluation.leave_one_out import ARMS, run
from evaluation.model import ARMS as MODEL_ARMS
from evaluation.model import NO_SKILL, PRIOR
from evaluation.model import run as run_model
from evaluation.plans import ListKind, full_plan
from evaluation.replies import Replies
from evaluation.split import read
from evaluation.warm_up import ArmOptions
from streams.cli import app
from streams.settings import Settings
from tests.openai_server import Act, OpenAiServer, threaded
from tests.unit.quality.quality_builders import data_set, tastes


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return read(data_set(tmp_path_factory.mktemp("films"), tastes(12)), users=2)


@pytest.fixture
async def server(monkeypatch):
    async with OpenAiServer() as server:
        for name, value in {
            "OPENAI_BASE_URL": server.base_url,
            "SAGER_LLM_MODEL": "fake",
            "SAGER_LLM_ATTEMPTS": "2",
            "SAGER_LLM_RETRY_SECONDS": "0",
        }.items():
            monkeypatch.setenv(name, value)
        yield server


async def result(world, replies=None, name="sager-llm", concurrency=4, **options):
    arm = ARMS[name].make(ArmOptions(tau=1, replies=replies, concurrency=concurrency, **options))
    return await run(arm, *world, concurrency=concurrency)


async def test_every_call_of_warm_up_and_ranking_is_counted(world, server):
    server.always = Act(delay=0.02)

    found = await result(world, concurrency=2)

    # Each user: two orders and one reflection in the warm-up, two orders in the test.
    assert found.cost.calls == len(server.bodies) == 2 * 5
    assert found.cost.prompt_tokens == sum(len(prompt) // 4 for prompt in server.prompts)
    assert (found.cost.cached_calls, found.cost.unusable) == (0, 0)
    assert 1 < server.peak <= 2


async def test_replies_are_cached_per_model(world, server, tmp_path, monkeypatch):
    found = []
    for _ in range(2):
        replies = Replies(tmp_path / "replies.duckdb")
        found.append(await result(world, replies))
        replies.close()
    first, again = found

    assert len(server.bodies) == first.cost.calls == again.cost.calls == again.cost.cached_calls
    assert again.places == first.places
    assert (again.cost.prompt_tokens, again.cost.completion_tokens) == (
        first.cost.prompt_tokens,
        first.cost.completion_tokens,
    )
    monkeypatch.setenv("SAGER_LLM_MODEL", "other")
    replies = Replies(tmp_path / "replies.duckdb")
    assert (await result(world, replies, "no-skill-llm")).cost.cached_calls == 0
    replies.close()


def test_a_run_stops_at_its_budget_and_resumes(tmp_path):
    folder, results = data_set(tmp_path / "films"), tmp_path / "results.jsonl"
    wanted = ["--data", folder, "--arm", "no-skill-llm", "--users", 2, "--results", results, "--json"]
    with threaded(OpenAiServer()) as server:
        environment = {"OPENAI_BASE_URL": server.base_url, "SAGER_LLM_MODEL": "fake", "SAGER_LLM_PRICE_PROMPT": "1000"}

        def eval_(*more):
            return CliRunner().invoke(app, ["eval", *map(str, [*wanted, *more])], env=environment)

        stopped = eval_("--budget-calls", 3)
        done = eval_()
        asked = len(server.bodies)

    assert stopped.exit_code == 1
    assert "the budget of 3 calls is spent" in stopped.stderr
    assert str(tmp_path / "replies.duckdb") in stopped.stderr.replace("\n", "")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert (found["llm_calls"], found["cached_calls"], asked) == (4, 3, 4)
    assert f"{found['prompt_tokens'] / 1_000:.4f} USD" in done.stderr
    assert [row["options"]["model"] for row in results_of(results)] == ["fake"]


def results_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


KEYS = {
    *("arm", "data", "candidates", "users", "hit_at_1", "hit_at_3", "hit_at_5", "ndcg_at_3", "ndcg_at_5"),
    *("ci95_hit_at_1", "llm_calls", "cached_calls", "unusable"),
    *("prompt_tokens", "completion_tokens", "seconds", "seed"),
}


def eval_(*args):
    return CliRunner().invoke(app, ["eval", *map(str, args)], env={"COLUMNS": "200"})


def test_json_output_has_one_line_per_arm(tmp_path):
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
    kept = results_of(results)
    assert [(row["arm"], len(row["places"]), row["options"]["tau"]) for row in kept] == [
        ("random", 20, 2),
        ("popularity", 20, 2),
        ("profile", 20, 2),
    ]


CHOICES = 4


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return data_set(tmp_path_factory.mktemp("films"), tastes(12))


@pytest.fixture(scope="module")
def plan(folder):
    return full_plan(folder, 2, CHOICES, ListKind.POPULAR, 3, 12)


async def test_every_arm_ranks_every_choice_with_and_without_the_model(plan, server):
    settings = Settings(llm_base_url=server.base_url, llm_model="fake", llm_attempts=1)

    found = await run_model(plan, settings, Replies())

    ranked = Counter((each["arm"], each["by"]) for each in found["ranked"])
    assert ranked == {(arm, "model"): 2 * CHOICES for arm in MODEL_ARMS} | {
        (arm, "skill"): 2 * CHOICES for arm in MODEL_ARMS if arm != NO_SKILL
    }
    assert {each["place"] for each in found["ranked"]} <= set(range(1, 11))
    assert found["learned"] == {arm: 2 * CHOICES for arm in MODEL_ARMS if arm not in (NO_SKILL, PRIOR)}
    assert 0 < len(server.bodies) < found["calls"], "what two arms ask alike is asked once"


def test_the_model_command_reports_all_arms(folder, tmp_path, monkeypatch):
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
