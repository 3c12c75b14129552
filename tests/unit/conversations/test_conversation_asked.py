"""With a model: the endpoint reads chunks, its replies are kept, and rules take the place of an unusable answer."""

import json

import pytest
from typer.testing import CliRunner

from streams.cli import app
from tests.openai_server import OpenAiServer, threaded

runner = CliRunner()


@pytest.fixture
def asked(tmp_path, monkeypatch):
    """Runs the command over two invented people against this endpoint, and gives the summary."""
    monkeypatch.chdir(tmp_path)

    def ask(server, *given):
        monkeypatch.setenv("SAGER_LLM_BASE_URL", server.base_url)
        monkeypatch.setenv("SAGER_LLM_MODEL", "fake")
        monkeypatch.setenv("SAGER_LLM_ATTEMPTS", "1")
        told = runner.invoke(app, ["eval", "conversations", "--invent", "people", "--people", "2", "--json", *given])
        assert told.exit_code == 0, told.output
        return json.loads(told.stdout.splitlines()[-1]), told.stderr

    return ask


def test_replies_are_kept_so_that_a_repeated_run_asks_nothing(asked):
    with threaded(OpenAiServer()) as server:
        first, _ = asked(server, "--llm", "both")
        bodies = len(server.bodies)
        again, _ = asked(server, "--llm", "both")

        assert bodies == len(server.bodies) > 0
    assert first["llm"] == "both"
    assert first["calls_per_conversation"] > 0
    assert first["model_tokens_per_conversation"] > 0
    assert first | {"seconds_per_conversation": 0} == again | {"seconds_per_conversation": 0}


def test_what_rules_find_is_found_with_a_model_too_and_not_by_a_model_that_finds_nothing(asked):
    with threaded(OpenAiServer()) as server:
        both, _ = asked(server, "--llm", "both")
        alone, _ = asked(server, "--llm", "model")
        rules, _ = asked(server)

    assert both["recall"] == rules["recall"] > 0
    assert (alone["recall"], alone["lines"]) == (0, 0)
