"""What people read of a skill: sentences without ids, tables that fit a terminal, ids that can be copied."""

import re
from typing import Any

import pytest
from typer.testing import CliRunner

from operators.history import line_steps
from streams.cli import app
from streams.views.sentences import sentence
from tests.analytics_world import build, published

USER, DOMAIN = "person-003", "books"


@pytest.fixture
def ask(monkeypatch):
    monkeypatch.setenv("SAGER_DUCKDB", str(published()))

    def ask(*words: str, width: int = 80) -> str:
        monkeypatch.setenv("COLUMNS", str(width))
        done = CliRunner().invoke(app, list(words))
        assert done.exit_code == 0, done.stderr
        return done.stdout

    return ask


def lines_of(user: str = USER, domain: str = DOMAIN) -> list[str]:
    return [line.attribute_id for line in build().skills[user, domain].attributes]


def test_an_explanation_names_titles_and_no_ids_or_shares(ask):
    diffs = [diff for diff in build().diffs if (diff.user_id, diff.domain) == (USER, DOMAIN)]

    for line in lines_of():
        shown = ask("policy", "explain", USER, line, "--domain", DOMAIN, width=200)
        assert line_steps(diffs, line)
        assert "%" not in shown
        assert line not in shown
        assert not re.search(r"\b[0-9a-f]{16}\b|rank-|books:\S|person-\d", shown)


STEP: dict[str, Any] = {"kind": "reinforced", "actor": None, "reason": "", "verdict": None, "title": "Arrival"}
STEP |= {"others_with": None, "taken": None, "expected": None}
STEP["ranking"] = {"shown": list("abcdefghij"), "taken": ["a"], "instruction": ""}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (
            {"reason": "chosen, and 11% of the others have it", "tier_before": "low", "tier_after": "medium"},
            ("You took *Arrival* and left nine others, eight of them without this. "
             "It went from “a first sign” to “likely”."),
        ),
        (
            {"taken": "6", "expected": "2.1", "others_with": 0, "tier_before": "high", "tier_after": "high"},
            ("You took *Arrival* and left nine others, all of them without this. "
             "Lately you took this 6 times; by chance it would be 2.1."),
        ),
        (
            {"kind": "weakened", "taken": "2.1", "expected": "2.5", "tier_before": "low", "tier_after": "silent"},
            ("You took *Arrival* and left nine others. Lately you took this 2.1 times; by chance it would be 2.5. "
             "It went from “a first sign” to “says nothing”."),
        ),
        (
            {"kind": "discovered", "tier_before": None, "tier_after": "silent"},
            "You took *Arrival* and left nine others. It is new in the profile: counted, it says nothing yet.",
        ),
        (
            {"kind": "discovered", "tier_before": None, "tier_after": "low"},
            "You took *Arrival* and left nine others. It is new in the profile: a first sign.",
        ),
        (
            {"kind": "weakened", "reason": "passed over 2 times in this ranking", "tier_before": "low",
             "tier_after": None},
            "You took *Arrival* and left nine others, two of them with this. It left the profile.",
        ),
        (
            {"kind": "pinned", "tier_after": "high", "actor": "the help desk", "reason": "she said so"},
            "The help desk pinned this: it stays, whatever you choose. The reason given: “she said so”.",
        ),
        (
            {"title": None, "ranking": None, "tier_before": "low", "tier_after": "low"},
            "You took something whose title is not known any more.",
        ),
    ],
)  # fmt: skip
def test_a_step_is_a_sentence(changed, told):
    assert sentence({**STEP, **changed}) == told
