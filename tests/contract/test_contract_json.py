"""Every `--json` goes through one printer: one encoding of times, numbers and text."""

import ast
import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from streams.cli.output import json_text

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
