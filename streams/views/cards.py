"""A person's card for people and models, as it is, as it was, and how it came about."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import Field

from operators.cards.admission import is_safe_for_prompt
from operators.cards.lines import certainty, describe, describe_rejection
from operators.cards.views import select_lines
from operators.language.output_policy import OutputGate
from operators.tokens import count_tokens
from schemas import Card, CardChange, CardDiff, CardLine, Model
from schemas.base import UtcDatetime
from schemas.cards import MAX_CARD_LINES

MOST_FOR_A_REQUEST = 12
DIGITS = 3
GONE = "a line that is forgotten"


class CardLineView(CardLine):
    """One line of a card at a moment."""

    says: str = Field(description="Such as `does not like coriander`.")
    certainty: Annotated[float, Field(ge=0, le=1)] = Field(description="From 0 to 1; it fades unless confirmed.")
    held_back: bool = Field(default=False, description="Nothing vouches for its words: no prompt has it.")
    score: float | None = Field(default=None, description="How well it fits the request.")
    reason: str = Field(default="", description="Why it is shown.")


class CardView(Model):
    """A card; its lines are in the order of a prompt."""

    user_id: str
    version: int
    as_of: UtcDatetime
    lines: tuple[CardLineView, ...]
    past: tuple[CardLineView, ...] = Field(default=(), description="What was overtaken lately, newest first.")
    left_out: int = Field(default=0, description="Lines that the request or the budget has no room for.")


def card_view(
    card: Card,
    at: datetime,
    gate: OutputGate,
    request: str = "",
    budget_tokens: int | None = None,
    domain: str | None = None,
) -> CardView:
    """Return the card, line by line, faded `at` a moment.

    Lines about the `request` come first, and of the others only the surest. `budget_tokens`: what the lines' words may
    have. `domain`: only lines of this domain or of any.
    """
    most = MOST_FOR_A_REQUEST if request.strip() else MAX_CARD_LINES
    lines: list[CardLineView] = []
    left = budget_tokens
    for each in select_lines(card, request, at, domain=domain, most=most):
        if left is not None:
            left -= count_tokens(describe(each.line))
            if left < 0:
                break
        lines.append(card_line_view(each.line, at, gate, round(each.score, DIGITS), each.reason))
    return CardView(
        user_id=card.user_id,
        version=card.version,
        as_of=at,
        lines=tuple(lines),
        past=tuple(card_line_view(line, at, gate) for line in reversed(card.past)),
        left_out=len(card.lines) - len(lines),
    )


def card_line_view(
    line: CardLine, at: datetime, gate: OutputGate, score: float | None = None, reason: str = ""
) -> CardLineView:
    """Return one line, with its certainty at a moment."""
    return CardLineView(
        **line.model_dump(),
        says=describe(line),
        certainty=round(certainty(line, at), DIGITS),
        held_back=not is_safe_for_prompt(line, gate),
        score=score,
        reason=reason,
    )


@dataclass(frozen=True)
class CardVersion:
    """One version of a card, for people.

    `came_of`: `conversation`, `command` or `signal`. `changes`: each with the line's words; an erased line has none.
    `not_kept`: the kinds of statements that are not kept; their words are not quoted.
    """

    diff: CardDiff
    came_of: str
    changes: tuple[tuple[CardChange, str], ...]
    not_kept: tuple[str, ...]


def card_versions(diffs: Iterable[CardDiff]) -> list[CardVersion]:
    """Return the log of a card; a line that is gone has its last words."""
    known: dict[str, str] = {}
    versions = []
    for diff in diffs:
        known |= {change.line_id: describe(change.line) for change in diff.changes if change.line is not None}
        changes = tuple((change, known.get(change.line_id, GONE)) for change in diff.changes)
        not_kept = (
            describe_rejection(each.kind) + (f", {each.times} times" if each.times > 1 else "")
            for each in diff.not_kept
        )
        versions.append(
            CardVersion(diff, "conversation" if diff.conversation_id else "command", changes, tuple(not_kept))
        )
    return versions
