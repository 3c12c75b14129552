"""The arms with a model, against a real endpoint over HTTP: what is asked, kept, counted and bounded."""

import json

import pytest
from typer.testing import CliRunner

from evaluation.leave_one_out import ARMS, run
from evaluation.replies import Replies
from evaluation.results import read as results_of
from evaluation.split import read
from evaluation.warm_up import ArmOptions
from streams.cli import app
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


async def test_a_run_that_is_repeated_asks_nothing_and_another_model_is_asked_anew(
    world, server, tmp_path, monkeypatch
):
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


def test_the_command_stops_at_its_budget_and_the_same_one_goes_on(tmp_path):
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
