"""Ids of a card's lines: the same thing said again is the same line."""

from operators.attributes import MAX_ID_CHARS, normalise
from schemas import derived_id
from schemas.cards import CardLine
from schemas.statements import Stance


def line_id(stance: Stance, dimension: str, value: str, domain: str | None = None) -> str:
    """The id of a line; a line of a domain's own vocabulary is another one than the same words of another domain.

    >>> line_id(Stance.PREFERS, "stated", "Morning runs"), line_id(Stance.AVOIDS, "genre", "Horror", "films")
    ('prefers:stated:morning-runs', 'avoids:films:genre:horror')
    """
    about = f"{domain}:{dimension}" if domain else dimension
    name = f"{stance.value}:{about}:{normalise(value) or derived_id(value)}"
    return name if len(name) <= MAX_ID_CHARS else f"{name[: MAX_ID_CHARS - 17]}-{derived_id(name)[:16]}"


def subject_of(line: CardLine) -> tuple[str | None, str, str]:
    """What a line is about, whether it is liked or not."""
    return line.domain, line.dimension, normalise(line.value)
