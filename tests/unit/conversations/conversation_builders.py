"""Builds talks, persons and cards for tests of the evaluation of conversations."""

from datetime import UTC, datetime
from typing import Any

from evaluation.conversations.layout import Person, person
from evaluation.conversations.listening import Played
from operators.cards.lines import line_id
from schemas.cards import Card, CardLine
from schemas.statements import Stance

AT = datetime(2026, 3, 1, tzinfo=UTC)


def element(preference: str, *turns: str, **more: Any) -> dict[str, Any]:
    """A conversation as a file has it: turns of the person and of the assistant by turns."""
    told = [{"role": ("user", "assistant")[place % 2], "content": text} for place, text in enumerate(turns)]
    return {"preference": preference, "pref_type": "stereotypical_pref", "who": "self", "conversations": told} | more


def update(preference: str, before: str, *turns: str) -> dict[str, Any]:
    return element(preference, *turns, updated=True, prev_pref=before)


def forget(preference: str, *turns: str) -> dict[str, Any]:
    name = f"Do not remember '{preference}' in memory"
    return element(name, *turns, pref_type="ask_to_forget", updated=True, prev_pref=preference)


def person_of(*elements: dict[str, Any], **more: Any) -> Person:
    return person("anna", {"conversations": {"chat_message": list(elements)}} | more)


def line(value: str, stance: Stance = Stance.PREFERS, **more: Any) -> CardLine:
    given = {"weight": 1_024, "since": AT, "confirmed_at": AT, "version": 1} | more
    return CardLine(line_id=line_id(stance, "stated", value), stance=stance, value=value, **given)


def card(*lines: CardLine) -> Card:
    return Card(event_id="chunk-1", occurred_at=AT, user_id="anna", version=1, lines=lines)


def played(who: Person, *lines: CardLine, before: tuple[CardLine, ...] = ()) -> Played:
    """A play that ended with these lines; before each talk the card had those of `before`."""
    return Played(who, card(*lines), before=[before] * len(who.talks))
