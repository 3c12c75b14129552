"""The notebook of ten questions: no cell fails, each has its figure and its sentence, on much data and on none."""

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.analytics_world import published

# Importing marimo takes every process half a second, also one that runs none of these tests.
pytestmark = pytest.mark.skipif(importlib.util.find_spec("marimo") is None, reason="marimo is not installed")

NOTEBOOK = Path(__file__).parents[3] / "notebooks" / "questions.py"
QUESTIONS = {"learning", "lines", "arms", "cost", "taste", "words", "sure", "cold", "why", "gone"}


def notebook() -> ModuleType:
    spec = importlib.util.spec_from_file_location("questions", NOTEBOOK)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(monkeypatch: pytest.MonkeyPatch, file: Path) -> Mapping[str, Any]:
    monkeypatch.setenv("SAGER_DUCKDB", str(file))
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setattr("sys.argv", ["questions"])
    _, defined = notebook().app.run()
    return defined


def sentences(defined: Mapping[str, Any]) -> dict[str, str]:
    return {name.removeprefix("said_"): text for name, text in defined.items() if name.startswith("said_")}


def test_each_question_has_its_figure_and_a_sentence_that_the_data_fills(monkeypatch: pytest.MonkeyPatch) -> None:
    defined = run(monkeypatch, published())
    said = sentences(defined)
    drawn = [figure for name, figure in defined.items() if name.endswith("_figure")]

    assert set(said) == QUESTIONS
    assert len(drawn) == len(QUESTIONS)
    assert all(any(axes.has_data() for axes in figure.axes) for figure in drawn)
    assert said["arms"].startswith("With an evolved skill **")
    assert said["words"].startswith("**12 of 16** corrections")
    assert "“I used to like horror, but not any more”" in said["taste"]
    assert "materialize" in said["gone"]


def test_user_text_is_escaped_on_the_page() -> None:
    shown = notebook().safe("<img src=x> *bold* [a](b) $x$ `c` Amélie!")

    assert not set(shown) & set("<>*[]()$`")
    assert shown.endswith("Amélie!")
