"""Which lines of a card a request calls for, and why each is let out."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from operators.cards.ageing import FLOOR, certainty, days_since
from operators.cards.alike import Words, words_of
from schemas.cards import FREE, Card, CardLine, Strength
from schemas.statements import Stance

RELEVANCE, CERTAINTY, RECENCY, KIND = 0.6, 0.2, 0.1, 0.1
"""What each counts in a score; together 1."""
RECENT_DAYS: Final = 90.0
"""After so many days a line is half as recent."""
_PREFIX: Final = 4
"""Stems that begin with one another from so many letters on are of one family: `run`, no; `veget`, `vegetarian`."""
_SURE: Final = 0.6


@dataclass(frozen=True)
class Chosen:
    """A line that is let out for a request.

    Attributes:
        line: of the card.
        score: 0 to 1; lines are in its order, but for what is avoided.
        reason: why, in plain words that quote nothing.
    """

    line: CardLine
    score: float
    reason: str


def chosen(card: Card, request: str, at: datetime, *, domain: str | None = None, most: int = 12) -> tuple[Chosen, ...]:
    """The lines that a request calls for, best first. What is avoided and the request speaks of comes before all else.

    A line counts by how many of its words the request has, how certain and how recent it is, and its kind: what is
    pinned or was set, and what is avoided, counts more. A request that speaks of no line, or none, lets the surest out.

    Args:
        card: whose.
        request: what is asked for; may be empty.
        at: now, by the clock of the events.
        domain: of the request. Lines of other domains say nothing about it.
        most: how many lines, at most.
    """
    asked = words_of(request) if request.strip() else frozenset()
    found = [
        (_touches(line, asked), line)
        for line in card.lines
        if (domain is None or line.domain in (None, domain)) and certainty(line, at) >= FLOOR
    ]
    scored = [Chosen(line, _score(line, touched, at), _reason(line, touched, asked, at)) for touched, line in found]
    warned = [line.stance is Stance.AVOIDS and touched > 0 for touched, line in found]
    order = sorted(
        range(len(found)),
        key=lambda place: (not warned[place], -scored[place].score, scored[place].line.line_id),
    )
    return tuple(scored[place] for place in order[: max(most, 0)])


def _touches(line: CardLine, asked: Words) -> float:
    """The share of a line's words that the request has; that of its dimension or domain counts half of one."""
    if not asked:
        return 0.0
    said = words_of(line.value)
    share = sum(_has(asked, word) for word in said) / max(len(said), 1)
    named = words_of(f"{'' if line.dimension == FREE else line.dimension} {line.domain or ''}")
    return min(1.0, share + (0.5 if any(_has(asked, word) for word in named) else 0.0))


def _has(asked: Words, word: str) -> bool:
    return word in asked or any(
        min(len(one), len(word)) >= _PREFIX and (one.startswith(word) or word.startswith(one)) for one in asked
    )


def _score(line: CardLine, touched: float, at: datetime) -> float:
    days = days_since(line, at)
    kind = 1.0 if line.pinned or line.strength is Strength.SET else 0.5 if line.stance is Stance.AVOIDS else 0.0
    score = RELEVANCE * touched + CERTAINTY * certainty(line, at) + RECENCY / (1.0 + days / RECENT_DAYS) + KIND * kind
    return round(score, 6)


def _reason(line: CardLine, touched: float, asked: Words, at: datetime) -> str:
    avoided = line.stance is Stance.AVOIDS
    if touched:
        why = "the request speaks of what is to be avoided" if avoided else "the request speaks of it"
    elif line.pinned:
        why = "somebody pinned it"
    elif avoided:
        why = "it is to be avoided, whatever is asked for"
    else:
        why = "it holds whatever is asked for" if asked else "nothing in particular was asked for"
    sure = "sure" if certainty(line, at) >= _SURE else "not sure"
    how = {Strength.SET: "set", Strength.SAID: "said", Strength.IMPLIED: "implied"}[line.strength]
    times = "" if line.times == 1 else f" {line.times} times, last"
    return f"{why}; {sure}: {how}{times} on {line.confirmed_at.date().isoformat()}"
