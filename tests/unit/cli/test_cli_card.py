"""`sager card`: what it prints of a card, and what it says where there is none."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from streams.cli import app
from streams.local.broker import free_port
from streams.local.launch import environment
from streams.settings import Settings
from tests.unit.http.card_world import CORIANDER, FIRST, published_cards


def sager(*words: str, duckdb: Path | None = None, columns: int = 200) -> Result:
    settings = Settings(duckdb=duckdb or published_cards(), bootstrap=f"127.0.0.1:{free_port()}")
    env = environment(settings) | {"SAGER_PARENT_PID": "", "COLUMNS": str(columns)}
    done = CliRunner().invoke(app, ["card", *words], env=env)
    assert "Traceback" not in done.output
    return done


def test_a_card_is_shown_with_since_when_how_and_what_was_overtaken() -> None:
    shown = sager("show", "ann").stdout

    assert "ann · version 2" in shown
    assert "does not like coriander" in shown
    assert CORIANDER in shown
    assert f"{FIRST:%Y-%m-%d}" in shown
    assert "past: likes morning runs" in shown
    assert "now likes evening runs" in shown


def test_the_log_says_what_each_conversation_changed() -> None:
    told = sager("log", "ann").stdout
    last = sager("log", "ann", "--last", "1")

    assert "version 1 ·" in told
    assert "conversation c1" in told
    assert "added: does not like coriander" in told
    assert "not kept: about somebody else" in told
    assert "overtaken: likes morning runs" in told
    assert "version 1" not in last.stdout
    assert "the newest 1 of 2 versions" in last.stderr
    assert [diff["version"] for diff in json.loads(sager("log", "ann", "--json").stdout)] == [1, 2]


@pytest.mark.parametrize("words", [("show", "nobody"), ("log", "nobody")])
def test_who_has_no_card_is_told_how_one_begins(words: tuple[str, ...]) -> None:
    done = sager(*words)

    assert done.exit_code == 1
    assert "a line that the console writes" in done.stderr
