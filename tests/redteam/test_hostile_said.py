"""Feedback and corrections that somebody made up to do harm: refused at the door, or without effect on anybody else."""

from typing import Any

import pytest

from operators.language.corrections import understand
from operators.learning.fold import initial_skill
from operators.stated import live_statements
from operators.steps import EvolveEffects, EvolveOutcome, EvolveState
from operators.tokens import count_tokens
from schemas import Action, BadRecord, Correction, Directive, Feedback, PolicySkill, Ranking, Selection, Stance, decode
from schemas.corrections import MAX_DIRECTIVES
from schemas.statements import MAX_STATEMENTS
from streams.language import RULES
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.builders import a_command, item_facts
from tests.redteam.stage import AT, EVOLVE, NOW, USER

ITEM: dict[str, Any] = {"item_id": "heat", "title": "Heat"}
OF_ANYBODY = {"event_id": "e1", "occurred_at": "2026-01-01T00:00:00Z", "user_id": "u", "domain": "films"}
CONTROLS = ("s\u0000", "a\nb", "\u001b[2J", "\ud800", "")
HUGE = 1e300


def told(model: type[Any], **fields: Any) -> bytes:
    """The bytes that a hostile producer would send."""
    import json  # noqa: PLC0415

    return json.dumps({**OF_ANYBODY, **fields}).encode()


@pytest.mark.parametrize("session", CONTROLS)
def test_session_id_with_control_characters_is_refused(session: str) -> None:
    for model, fields in (
        (Feedback, {"item": ITEM, "signal": "liked"}),
        (Correction, {"text": "no horror"}),
        (Ranking, {"ranking_id": "r", "candidates": [ITEM]}),
        (Selection, {"ranking_id": "r", "item_id": "heat"}),
    ):
        with pytest.raises(BadRecord):
            decode(model, told(model, session_id=session, **fields))


@pytest.mark.parametrize(
    "fields",
    [
        {"signal": "rated", "value": HUGE, "scale": [-HUGE, HUGE]},
        {"signal": "rated", "value": 5, "scale": [5, 1]},
        {"signal": "rated", "value": 3, "scale": [3, 3]},
        {"signal": "rated", "value": 11},
        {"signal": "rated", "value": float("nan")},
        {"signal": "dwelled", "value": -1},
        {"signal": "dwelled", "value": HUGE},
        {"signal": "rated"},
        {"signal": "LIKED"},
        {"signal": "x" * 41},
        {"signal": "liked\nadmin"},
    ],
)
def test_signal_with_an_impossible_value_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(BadRecord):
        decode(Feedback, told(Feedback, item=ITEM, **fields))


@pytest.mark.parametrize(
    "fields",
    [
        {"directives": [{"stance": "avoids", "dimension": "genre", "value": "noir"}] * (MAX_DIRECTIVES + 1)},
        {"directives": [{"stance": "avoids", "dimension": "genre", "value": "noir", "item_id": "heat"}]},
        {"directives": [{"stance": "instead", "dimension": "genre", "value": "noir"}]},
        {"directives": [{"stance": "avoids", "dimension": "genre", "value": "no\u0000ir"}]},
        {"acceptable": ["an item of somebody else's list"]},
        {"text": "x" * 2_001},
        {"text": "   "},
        {"text": "no horror", "language": "../../etc"},
        {"text": "no horror", "scope": "for ever and everybody"},
    ],
)
def test_oversized_or_unshown_correction_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(BadRecord):
        decode(Correction, told(Correction, items=[ITEM], **fields))


def nobody() -> PolicySkill:
    return initial_skill("u", "films", (), a_command(Action.FREEZE, user_id="u", domain="films"))


def said(skill: PolicySkill, value: str, number: int = 0, **more: Any) -> EvolveEffects:
    directive = Directive(stance=Stance.AVOIDS, dimension="genre", value=value)
    correction = Correction(event_id=f"c{number}", directives=(directive,), **USER, **more)
    items = [item_facts("heat", "genre: crime")]
    position = AT.model_copy(update={"offset": number + 1})
    return EVOLVE.correct(
        EvolveState(skill),
        correction,
        items,
        understand(correction, items, skill, privacy=PRIVACY, reader=RULES),
        position,
    )


def test_statements_of_a_user_are_bounded() -> None:
    skill = nobody()
    for number in range(3 * MAX_STATEMENTS):
        skill = said(skill, f"kind {number}", number).skill

    assert len(skill.stated) <= MAX_STATEMENTS
    slim = EVOLVE.__class__(slim_tokens=30, privacy=PRIVACY, gate=OUTPUT_GATE).slim(skill)
    assert slim is not None
    assert count_tokens(slim.text) <= 60, "the budget holds for what is avoided too"


def test_resent_correction_counts_once() -> None:
    once = said(nobody(), "horror")
    again = said(once.skill, "horror")

    assert (once.outcome, again.outcome) == (EvolveOutcome.CORRECTED, EvolveOutcome.REPEATED)
    assert again.skill is once.skill


def test_forged_statement_id_removes_nothing() -> None:
    skill = said(nobody(), "horror").skill
    forged = ("avoids:preference:genre:western", "avoids:preference:genre:horror\u0000", "stated", "avoids:*:*")

    for number, name in enumerate(forged):
        command = a_command(Action.REMOVE, event_id=f"k{number}", attribute_id=name, user_id="u", domain="films")
        after = EVOLVE.command(EvolveState(skill), command).skill
        assert [each.statement_id for each in after.stated] == ["avoids:preference:genre:horror"], name


def test_session_statement_stays_in_its_session() -> None:
    skill = said(nobody(), "horror", scope="session", session_id="s1").skill

    assert [each.value for each in live_statements(skill, NOW, "s1")] == ["horror"]
    assert live_statements(skill, NOW, "s2") == live_statements(skill, NOW) == ()
