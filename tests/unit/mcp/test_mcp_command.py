"""`sager mcp`: what it needs to be told, and what it says where that is wrong."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from streams.cli import app
from streams.mcp import server

TOKEN = f"sager_{'x' * 43}"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """The arguments with which it would have served: url, token, user, domain."""
    found: list[tuple[Any, ...]] = []
    monkeypatch.setattr(server, "run", lambda *arguments: found.append(arguments))
    return found


def run(*options: str, **env: str) -> Any:
    return CliRunner(env={"SAGER_TOKEN": "", **env}).invoke(app, ["mcp", *options])


def test_the_token_is_of_the_file_else_of_the_variable_else_what_sager_up_wrote(
    started: list[tuple[Any, ...]], tmp_path: Path
) -> None:
    for name in ("named", "token"):
        (tmp_path / name).write_text(f"{TOKEN[:-5]}{name:_>5}\n")

    assert run("--token-file", str(tmp_path / "named"), SAGER_TOKEN=TOKEN).exit_code == 0
    assert run(SAGER_TOKEN=TOKEN, SAGER_DATA_DIR=str(tmp_path)).exit_code == 0
    assert run("--user", "ann", SAGER_DATA_DIR=str(tmp_path), SAGER_MCP_DOMAIN="films").exit_code == 0

    assert [each[1][-5:] for each in started] == ["named", "xxxxx", "token"]
    assert started[2][2:] == ("ann", "films")
    assert started[2][0] == "http://127.0.0.1:8088"


@pytest.mark.parametrize(
    ("options", "env", "told"),
    [
        ((), {"SAGER_DATA_DIR": "/nowhere"}, "`sager up`, which writes one there"),
        (("--token-file", "/nowhere/token"), {}, "cannot read a token from /nowhere/token"),
        ((), {"SAGER_TOKEN": "secret of mine"}, "SAGER_TOKEN has no token"),
        (("--url", "ftp://x"), {"SAGER_TOKEN": TOKEN}, "must be the address of the HTTP API"),
        (("--url", "http://me:pass@x"), {"SAGER_TOKEN": TOKEN}, "must be the address of the HTTP API"),
    ],
)
def test_what_is_missing_or_wrong_is_told_and_no_secret_is_quoted(
    started: list[tuple[Any, ...]], options: tuple[str, ...], env: dict[str, str], told: str
) -> None:
    result = run(*options, **env)

    assert result.exit_code == 1
    assert told in result.output
    assert not {"secret of mine", "pass@"} & set(result.output.split())
    assert started == []


def test_a_token_that_would_cross_the_network_in_the_clear_is_warned_of(started: list[tuple[Any, ...]]) -> None:
    told = run("--url", "http://sager.example/", SAGER_TOKEN=TOKEN)

    assert "unencrypted" in told.stderr
    assert told.stdout == "", "it is the protocol's"
    assert started[0][0] == "http://sager.example"
