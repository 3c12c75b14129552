"""`sager card`: the lines of a card, and the message where there is none."""

from pathlib import Path

from typer.testing import CliRunner, Result

from streams.cli import app
from streams.local.broker import free_port
from streams.local.children import environment
from streams.settings import Settings
from tests.unit.http.http_world import CORIANDER, FIRST, published_cards


def sager(*words: str, duckdb: Path | None = None) -> Result:
    settings = Settings(duckdb=duckdb or published_cards(), bootstrap=f"127.0.0.1:{free_port()}")
    env = environment(settings) | {"SAGER_PARENT_PID": "", "COLUMNS": "200"}
    done = CliRunner().invoke(app, ["card", *words], env=env)
    assert "Traceback" not in done.output
    return done


def test_a_card_is_shown_with_since_when_how_and_what_was_overtaken() -> None:
    shown = sager("ann").stdout

    assert "ann · version 2" in shown
    assert "does not like coriander" in shown
    assert CORIANDER in shown
    assert f"{FIRST:%Y-%m-%d}" in shown
    assert "past: likes morning runs" in shown
    assert "now likes evening runs" in shown


def test_who_has_no_card_is_told_how_one_begins() -> None:
    done = sager("nobody")

    assert done.exit_code == 1
    assert "a line that the console" in done.stderr
