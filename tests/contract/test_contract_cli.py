"""The command line: help, errors, imports and JSON."""

import json
import os
import re
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from typer.testing import CliRunner

from streams.cli import app
from streams.cli.output import json_text
from tests.analytics_world import published
from tests.contract.test_contract_layers import ROOT, calls


@pytest.mark.parametrize("words", [[], ["policy"]], ids=["sager", "policy"])
def test_help_fits_into_80_columns(words: list[str]) -> None:
    shown = CliRunner(env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"}).invoke(app, [*words, "--help"]).stdout

    assert "..." not in shown.replace("[ARGS]...", "")
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    ("words", "choices"),
    [
        (["policy", "set-tier", "ann", "a:b:c", "huge", "--domain", "films"], "'low', 'medium', 'high'"),
        (["policy", "add", "ann", "genre", "noir", "--kind", "bogus", "--domain", "films"], "'preference', 'pattern'"),
        (
            ["token", "new", "--name", "me", "--scope", "bogus"],
            "'read-user', 'read-all', 'change-user', 'forget-user', 'produce', 'read-slim', 'operate'",
        ),
        (["acls", "bogus"], "choose from app, importer, worker"),
    ],
)
def test_an_unknown_choice_lists_the_valid_ones(words: list[str], choices: str) -> None:
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, words)

    assert done.exit_code == 2
    assert choices in done.stderr


# Their imports take from a tenth of a second to seconds, and no reading command needs them.
HEAVY = {
    *("aiokafka", "confluent_kafka", "faust", "pyarrow", "numpy", "aiohttp", "phonenumbers", "stdnum", "bpe_openai"),
    *("operators.graph", "operators.rank", "streams.analytics.store", "streams.worker"),
}
READING = {
    "config": (["config"], HEAVY | {"schemas", "operators.language.output_policy"}),
    "sql": (["sql", "select 1"], HEAVY | {"schemas", "operators.language.output_policy"}),
    "policy show": (["policy", "show", "person-001", "--domain", "books"], HEAVY),
    "policy log": (["policy", "log", "person-001"], HEAVY),
}
PRINT_MODULES = """
import atexit, sys
atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr))
from streams.cli import main
main()
"""


@pytest.mark.parametrize(("words", "unwanted"), READING.values(), ids=READING)
def test_a_reading_command_imports_no_slow_module(words: list[str], unwanted: set[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PRINT_MODULES, *words],
        env={**os.environ, "SAGER_DUCKDB": str(published())},
        capture_output=True,
        text=True,
        check=True,
    )

    assert unwanted & set(done.stderr.split()) == set()
    assert done.stdout


CLI = ROOT / "streams" / "cli"
PRINTERS = {"print_json", "print_json_line", "print_json_rows", "print_lines"}


def test_commands_with_json_print_by_the_json_printers() -> None:
    having_json = [
        file for file in sorted(CLI.rglob("*.py")) if re.search(r": AsJson\b", file.read_text(encoding="utf-8"))
    ]

    assert len(having_json) > 10
    for file in having_json:
        assert PRINTERS & {called.rpartition(".")[2] for called, _ in calls(file)}, file.name


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (datetime(2026, 1, 31, 18, 5, tzinfo=UTC), '"2026-01-31T18:05:00Z"'),
        (datetime(2026, 1, 31, 18, 5, 0, 250, tzinfo=timezone(timedelta(hours=2))), '"2026-01-31T16:05:00.000250Z"'),
        (datetime(2026, 1, 31, 18, 5), '"2026-01-31T18:05:00Z"'),  # noqa: DTZ001 - as DuckDB has them
        (date(2026, 1, 31), '"2026-01-31"'),
        (Decimal("1.50"), "1.5"),
        (float("inf"), "null"),
        (2**127, str(2**127)),
        ({"Amélie": "東京 🎬"}, '{"Amélie": "東京 🎬"}'),
        ({"b": (1, None, True)}, '{"b": [1, null, true]}'),
        (b"\xff", '"\\\\xff"'),
    ],
    ids=str,
)  # fmt: skip
def test_values_are_encoded_as_json(value: Any, encoded: str) -> None:
    assert json_text(value) == encoded


@pytest.mark.parametrize("text", ["\x1b[2J", "\x9b2J", "\x7f", "a\u202eb", "\U000e0041", "\ud800", "\u2028", "\n\t"])
def test_control_characters_are_escaped_and_read_back(text: str) -> None:
    encoded = json_text({"text": text}, 2)

    assert all(character.isprintable() or character == "\n" for character in encoded)
    assert json.loads(encoded) == {"text": text}
