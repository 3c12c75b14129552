"""What is understood of sentences in English and German, and what says nothing of the person."""

from pathlib import Path

import pytest

from operators.language.finding import Effect, Finding
from schemas.cards import Strength
from schemas.statements import Scope, Stance
from tests.unit.listen.listen_builders import heard

HERE = Path(__file__).parent
_EFFECTS = {Effect.STATES: "", Effect.UPDATES: "~", Effect.WITHDRAWS: "x", Effect.FORGETS: "!"}


def lines(name: str) -> list[str]:
    read = (HERE / name).read_text(encoding="utf-8").splitlines()
    return [line for line in read if line and not line.startswith("# ")]


def in_short(finding: Finding) -> str:
    scope = "" if finding.scope is Scope.ALWAYS else finding.scope.value
    strength = "?" if finding.strength is Strength.IMPLIED else ""
    stance = "+" if finding.stance is Stance.PREFERS else "-"
    replaces = f"<{finding.replaces}" if finding.replaces else ""
    return f"{scope}{strength}{_EFFECTS[finding.effect]}{stance}{finding.value}{replaces}"


@pytest.mark.parametrize("line", lines("said.tsv"))
def test_a_plain_statement_is_understood(line: str) -> None:
    text, _, expected = line.partition("\t")
    assert [in_short(finding) for finding in heard(text.replace("\\n", "\n")).findings] == expected.split(";")


@pytest.mark.parametrize("line", lines("nothing.tsv"))
def test_what_is_no_statement_of_the_person_brings_nothing(line: str) -> None:
    assert [in_short(finding) for finding in heard(line.replace("\\n", "\n")).findings] == []
