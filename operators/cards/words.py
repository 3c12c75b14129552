"""A line of a card in plain words."""

from typing import Final

from schemas.cards import FREE, CardLine
from schemas.statements import Stance

MAX_LINE_CHARS: Final = 120


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
