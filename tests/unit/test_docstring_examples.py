"""The examples in docstrings run."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = [file for folder in ("schemas", "operators", "streams") for file in (ROOT / folder).rglob("*.py")]
MODULES = sorted(
    ".".join(file.relative_to(ROOT).with_suffix("").parts) for file in FILES if ">>> " in file.read_text("utf-8")
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name: str) -> None:
    result = doctest.testmod(import_module(name))

    assert result.attempted > 0
    assert result.failed == 0
