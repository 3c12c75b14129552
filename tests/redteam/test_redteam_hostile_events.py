"""Hostile feedback, corrections and commands: refused by the schemas, or without effect."""

import json
from typing import Any

import pytest

from schemas import Action, BadRecord, Correction, Directive, Feedback, Ranking, Selection, Stance, decode
from schemas.statements import MAX_DIRECTIVES
from tests.redteam.harness import SimulatedUser

ITEM: dict[str, Any] = {"item_id": "heat", "title": "Heat"}
EVENT = {"event_id": "e1", "occurred_at": "2026-01-01T00:00:00Z", "user_id": "u", "domain": "films"}
HUGE = 1e300


def decode_event(model: type[Any], fields: dict[str, Any]) -> Any:
    return decode(model, json.dumps({**EVENT, **fields}).encode())


@pytest.mark.parametrize("session", ["s\u0000", "a\nb", "\u001b[2J", "\ud800", ""])
def test_a_session_id_with_control_characters_is_refused(session: str) -> None:
    for model, fields in (
        (Feedback, {"item": ITEM, "signal": "liked"}),
        (Correction, {"text": "no horror"}),
        (Ranking, {"ranking_id": "r", "candidates": [ITEM]}),
        (Selection, {"ranking_id": "r", "item_id": "heat"}),
    ):
        assert decode_event(model, {"session_id": "s", **fields})
        with pytest.raises(BadRecord):
            decode_event(model, {"session_id": session, **fields})


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
def test_an_impossible_signal_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(BadRecord):
        decode_event(Feedback, {"item": ITEM, **fields})


@pytest.mark.parametrize(
    "fields",
    [
        {"directives": [{"stance": "avoids", "dimension": "genre", "value": "noir"}] * (MAX_DIRECTIVES + 1)},
        {"directives": [{"stance": "avoids", "dimension": "genre", "value": "noir", "item_id": "heat"}]},
        {"directives": [{"stance": "instead", "dimension": "genre", "value": "noir"}]},
        {"directives": [{"stance": "avoids", "dimension": "genre", "value": "no\u0000ir"}]},
        {"acceptable": ["an item of another list"]},
        {"text": "x" * 2_001},
        {"text": "   "},
        {"text": "no horror", "language": "../../etc"},
        {"text": "no horror", "scope": "for all users"},
    ],
)
def test_a_correction_beyond_its_limits_or_its_items_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(BadRecord):
        decode_event(Correction, {"items": [ITEM], **fields})


@pytest.mark.parametrize(
    "forged", ["avoids:preference:genre:western", "avoids:preference:genre:horror\u0000", "stated", "avoids:*:*"]
)
def test_an_unknown_statement_id_removes_nothing(forged: str) -> None:
    user = SimulatedUser("films")
    horror = Directive(stance=Stance.AVOIDS, dimension="genre", value="horror")
    user.correct(Correction(event_id="c", directives=(horror,), **user.event))
    user.send_command(user.command(Action.REMOVE, attribute_id=forged))

    assert [each.statement_id for each in user.skill.stated] == ["avoids:preference:genre:horror"]
