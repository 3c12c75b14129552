"""Metrics and health with a file of tokens: who asks without one learns only whether it lives and is ready."""

import pytest

from streams.http.exceptions import TokensUnusable
from streams.http.process_health import serve
from streams.local.broker import free_port
from streams.materializer.health import MaterializerHealth
from streams.settings import Settings
from tests.probes import ask
from tests.unit.http.http_world import Tokens


@pytest.fixture
def file(tmp_path):
    return Tokens(tmp_path)


def served(**settings):
    port = free_port()
    serve(Settings(metrics_port=port, **settings), MaterializerHealth())
    return port


def test_metrics_are_for_who_operates(file):
    port = served(http_tokens=file.path)
    operator, reader = file.make("operate"), file.make("read-all")

    assert [ask(port, "/metrics", token)[0] for token in ("", "sager_wrong", reader, operator)] == [401, 401, 403, 200]
    assert "sager_ready" in ask(port, "/metrics", operator)[1]
    file.revoke(operator)
    assert ask(port, "/metrics", operator)[0] == 401
    file.write("nonsense")
    assert ask(port, "/metrics", reader)[0] == 503


def test_health_is_for_everybody_and_its_reasons_for_who_operates(file):
    port = served(http_tokens=file.path)
    operator, reader = file.make("operate"), file.make("read-all")

    for token in ("", "sager_wrong", reader):
        assert ask(port, "/live", token) == (200, {"live": True})
        assert ask(port, "/ready", token) == (503, {"ready": False})
    status, told = ask(port, "/ready", operator)
    assert status == 503
    assert told["reasons"] == ["opening the DuckDB file"]


def test_whoever_guesses_is_told_to_come_later(file):
    port = served(http_tokens=file.path, http_failures=2)

    assert [ask(port, "/metrics", "sager_guess")[0] for _ in range(3)] == [401, 401, 429]
    assert ask(port, "/metrics", file.make("operate"))[0] == 200


def test_without_a_file_of_tokens_nobody_is_asked_for_one():
    port = served()

    assert ask(port, "/metrics")[0] == 200
    assert ask(port, "/ready")[1]["reasons"]


def test_a_process_does_not_start_with_a_file_that_is_wrong(file):
    file.write(mode=0o644)

    with pytest.raises(TokensUnusable, match="chmod"):
        served(http_tokens=file.path)
