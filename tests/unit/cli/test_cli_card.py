"""`sager card`: what it prints of a card, and what it says where there is none."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from streams.cli import app
from streams.local.broker import free_port
from streams.local.launch import environment
from streams.settings import Settings
from tests.unit.http.card_world import CORIANDER, FIRST, LATE_RUNS, RUNS, published_cards


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


def test_in_a_narrow_terminal_ids_stand_below_the_lines() -> None:
    assert LATE_RUNS in sager("show", "ann", columns=80).stdout.replace("\n", "")


def test_a_request_brings_reasons(tmp_path: Path) -> None:
    told = json.loads(sager("show", "ann", "--request", "something vegetarian", "--json").stdout)

    assert told["lines"][0]["says"] == "likes vegetarian food"
    assert all(line["reason"] for line in told["lines"])


def test_text_is_what_a_prompt_gets_and_nothing_else() -> None:
    text = sager("show", "ann", "--text", "--budget", "60").stdout

    assert "does not like coriander" in text
    assert "can't stand" not in text
    assert sager("show", "ann", "--text", "--json").exit_code == 2


def test_a_budget_too_small_for_any_line_prints_nothing_and_says_what_to_do() -> None:
    done = sager("show", "ann", "--text", "--budget", "5")

    assert (done.exit_code, done.stdout) == (0, "")
    assert "no line of the card fits into 5 tokens" in done.stderr
    assert "--budget" in done.stderr


def test_as_of_a_moment_the_card_is_as_it_was() -> None:
    then = json.loads(sager("show", "ann", "--as-of", f"{FIRST:%Y-%m-%dT%H:%M:%S}", "--json").stdout)
    before = sager("show", "ann", "--as-of", "2001-01-01")

    assert RUNS in [line["line_id"] for line in then["lines"]]
    assert (before.exit_code, "had no card at 2001-01-01" in before.stderr) == (1, True)


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


def test_a_skill_document_is_printed() -> None:
    assert "coriander" in sager("show", "ann", "--skill").stdout


@pytest.mark.parametrize("words", [("show", "nobody"), ("log", "nobody")])
def test_who_has_no_card_is_told_how_one_begins(words: tuple[str, ...]) -> None:
    done = sager(*words)

    assert done.exit_code == 1
    assert "a line that the console writes" in done.stderr


def test_without_a_snapshot_it_says_who_makes_one(tmp_path: Path) -> None:
    done = sager("show", "ann", duckdb=tmp_path / "none.duckdb")

    assert done.exit_code == 1
    assert "sager materialize" in done.stderr
