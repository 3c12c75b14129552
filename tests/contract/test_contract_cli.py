"""The command line beside docs/commands.md, and its JSON."""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from streams.cli import app
from streams.cli.output import json_text
from tests.analytics_world import published


@pytest.mark.parametrize("words", [[], ["policy"]], ids=["sager", "policy"])
def test_help_is_whole_at_80_columns(words) -> None:
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
        (["acls", "bogus"], "there are app, answers, importer"),
    ],
    ids=lambda words: words[0] if isinstance(words, list) else "",
)
def test_an_unknown_choice_is_told_with_those_there_are(words, choices) -> None:
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, words)

    assert done.exit_code == 2
    assert choices in done.stderr


HEAVY = {
    *("aiokafka", "confluent_kafka", "faust", "pyarrow", "numpy", "aiohttp", "phonenumbers", "stdnum", "bpe_openai"),
    *("operators.graph", "operators.rank", "streams.analytics.store", "streams.worker"),
}
"""What takes from a tenth of a second to seconds to import, and no reading command needs."""
READING = {
    "config": (["config"], HEAVY | {"schemas", "operators.language.output_policy"}),
    "sql": (["sql", "select 1"], HEAVY | {"schemas", "operators.language.output_policy"}),
    "policy show": (["policy", "show", "person-001", "--domain", "books"], HEAVY),
    "policy log": (["policy", "log", "person-001"], HEAVY),
}
AT_THE_END = """
import atexit, sys
atexit.register(lambda: print(*sorted(sys.modules), file=sys.stderr))
from streams.cli import main
main()
"""


@pytest.mark.parametrize(("words", "unwanted"), READING.values(), ids=READING)
def test_a_reading_command_loads_nothing_heavy(words, unwanted) -> None:
    done = subprocess.run(
        [sys.executable, "-c", AT_THE_END, *words],
        env={**os.environ, "SAGER_DUCKDB": str(published())},
        capture_output=True,
        text=True,
        check=True,
    )

    assert unwanted & set(done.stderr.split()) == set()
    assert done.stdout


CLI = Path(__file__).parents[2] / "streams" / "cli"
FILES = sorted(CLI.rglob("*.py"))
PRINTERS = {"print_json", "print_json_line", "print_json_rows", "print_lines"}
"""The last one prints by the second."""


def name(file: Path) -> str:
    return str(file.relative_to(CLI))


def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def called(file: Path) -> set[str]:
    """The last part of the name of whatever a file calls."""
    return {ast.unparse(node.func).rpartition(".")[2] for node in ast.walk(tree(file)) if isinstance(node, ast.Call)}


def with_json() -> Iterator[Path]:
    """The files with a command that has `--json`."""
    for file in FILES:
        arguments = [node for node in ast.walk(tree(file)) if isinstance(node, ast.arg | ast.AnnAssign)]
        if any(node.annotation is not None and ast.unparse(node.annotation) == "AsJson" for node in arguments):
            yield file


def test_every_command_with_json_prints_by_it() -> None:
    files = list(with_json())

    assert len(files) > 15
    assert [name(file) for file in files if not called(file) & PRINTERS] == []


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
def test_a_value_has_one_encoding(value: Any, encoded: str) -> None:
    assert json_text(value) == encoded


@pytest.mark.parametrize("text", ["\x1b[2J", "\x9b2J", "\x7f", "a\u202eb", "\U000e0041", "\ud800", "\u2028", "\n\t"])
def test_what_a_terminal_obeys_or_hides_is_escaped_and_comes_back(text: str) -> None:
    encoded = json_text({"text": text}, 2)

    assert all(character.isprintable() or character == "\n" for character in encoded)
    assert json.loads(encoded) == {"text": text}
