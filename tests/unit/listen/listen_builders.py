"""Turns and what is heard in them."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from operators.language.ports import Extraction
from schemas import Fact
from schemas.cards import Card, Turn
from schemas.corrections import Speaker
from streams.language import RULES

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def turn(text: str, role: Speaker = Speaker.USER, at: int = 0, domain: str | None = None) -> Turn:
    stated_at = NOON + timedelta(seconds=at)
    return Turn(event_id=f"turn-{at}", turn=at, role=role, text=text, stated_at=stated_at, domain=domain)


def nothing_known(_domain: str) -> Sequence[Fact]:
    return ()


def heard(
    *texts: str | Turn, card: Card | None = None, vocabulary: Callable[[str], Sequence[Fact]] = nothing_known
) -> Extraction:
    turns = [text if isinstance(text, Turn) else turn(text, at=at) for at, text in enumerate(texts)]
    return RULES.extract(turns, card, vocabulary)
