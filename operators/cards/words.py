"""A line of a card in plain words."""

from typing import Final

from operators.redact import placeholder
from schemas import line_of
from schemas.cards import FREE, Card, CardLine
from schemas.statements import Stance

MAX_LINE_CHARS: Final = 120
_WHY_NOT: Final = {
    "somebody-else": "about somebody else",
    "forgotten": "was to be forgotten",
    "unreadable": "no words that a card can hold",
    "order": "an order to a model",
}


def in_words(line: CardLine) -> str:
    """What a line says, in at most 120 characters; its dimension and domain where there is room for them.

    >>> from datetime import datetime, timezone
    >>> at = datetime(2026, 1, 1, tzinfo=timezone.utc)
    >>> said = CardLine(line_id="avoids:films:genre:horror", stance="avoids", dimension="genre", value="horror",
    ...     domain="films", weight=1024, since=at, confirmed_at=at, version=1)
    >>> in_words(said), in_words(said.model_copy(update={"dimension": "stated", "domain": None}))
    ('does not like horror (genre) in films', 'does not like horror')
    """
    told = f"{'does not like' if line.stance is Stance.AVOIDS else 'likes'} {line.value}"
    about = "" if line.dimension == FREE else f" ({line.dimension.replace('_', ' ')})"
    where = f" in {line.domain}" if line.domain else ""
    for part in (about, where):
        told += part if len(told) + len(part) <= MAX_LINE_CHARS else ""
    return told[:MAX_LINE_CHARS]


def names(card: Card | None) -> dict[str, str]:
    """What each line of a card says, by its id and by the digest that stands for it in a log that has forgotten it."""
    if card is None:
        return {}
    said = {line.line_id: in_words(line) for line in (*card.past, *card.lines)}
    return said | {placeholder(line_of(card.user_id, "", name)): says for name, says in said.items()}


def why_not(kind: str) -> str:
    """Why something that was said is not kept.

    >>> why_not("somebody-else"), why_not("id-number")
    ('about somebody else', 'id number')
    """
    return _WHY_NOT.get(kind, kind.replace("-", " "))
