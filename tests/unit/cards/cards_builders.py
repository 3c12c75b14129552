"""Lines and cards with sensible defaults."""

from datetime import timedelta
from typing import Any

from schemas.cards import Card, CardLine
from schemas.statements import Stance
from tests.builders import NOW

LATER = NOW + timedelta(days=30)


def a_line(value: str, **kept: Any) -> CardLine:
    stance = kept.pop("stance", Stance.PREFERS)
    days = kept.pop("days", 0)
    return CardLine(
        line_id=f"{stance.value}:stated:{value.replace(' ', '-')}",
        stance=stance,
        value=value,
        version=1,
        **{"weight": 1024, "since": NOW, "confirmed_at": NOW + timedelta(days=days), **kept},
    )


def a_card(*lines: CardLine, **kept: Any) -> Card:
    return Card(event_id="c", occurred_at=NOW, user_id="ann", version=1, lines=lines, **kept)
