"""Chunks of conversations and what a model says of them, for tests."""

from datetime import UTC, datetime, timedelta
from typing import Any

from operators.cards.lines import line_id
from schemas import Speaker
from schemas.cards import FREE, Card, CardLine, Turn
from schemas.statements import Stance
from tests.openai_server import Act

SAID_AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
RUNS = "Morning runs keep me sane"


def a_chunk(*texts: str | tuple[Speaker, str], domain: str | None = None) -> tuple[Turn, ...]:
    """The turns of a conversation; what names no role is the person's."""
    said = [text if isinstance(text, tuple) else (Speaker.USER, text) for text in texts]
    return tuple(
        Turn(
            event_id=f"u{place}",
            turn=place,
            role=role,
            text=text,
            domain=domain,
            stated_at=SAID_AT + timedelta(minutes=place),
        )
        for place, (role, text) in enumerate(said)
    )


def a_card(*values: str, stance: Stance = Stance.PREFERS, dimension: str = FREE, domain: str | None = None) -> Card:
    """A card with these lines."""
    lines = tuple(
        CardLine(
            line_id=line_id(stance, dimension, value, domain),
            stance=stance,
            dimension=dimension,
            value=value,
            domain=domain,
            weight=1024,
            since=SAID_AT,
            confirmed_at=SAID_AT,
            version=1,
        )
        for value in values
    )
    return Card(event_id="d1", occurred_at=SAID_AT, user_id="ann", version=1, lines=lines)


def tells(*answers: str) -> Act:
    """The model answers so to the sentences, in their order, and something of no use to the others."""
    return Act(says={str(number): answer for number, answer in enumerate(answers, 1)})


def no_vocabulary(_: str) -> tuple[Any, ...]:
    """Of no domain."""
    return ()
