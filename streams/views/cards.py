"""A person's card and its log for people and programs."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from pydantic import Field

from operators.cards.lines import certainty, describe, describe_rejection, is_safe_for_prompt, select_lines
from operators.language.output_policy import OutputGate
from schemas import Card, CardChange, CardDiff, CardLine, Model, UtcDatetime

DIGITS = 3
ERASED_LINE = "an erased line"


class CardLineView(CardLine):
    """A line of a card at a moment."""

    says: str = Field(description="Such as `does not like coriander`.")
    certainty: Annotated[float, Field(ge=0, le=1)] = Field(description="From 0 to 1; it fades unless confirmed.")
    held_back: bool = Field(default=False, description="True if the output gate keeps it out of prompts.")
    score: float | None = Field(default=None, description="How well it matches the request.")
    reason: str = Field(default="", description="Why it is shown.")


class CardView(Model):
    """A card, with its lines in the order of a prompt."""

    user_id: str
    version: int
    as_of: UtcDatetime
    lines: tuple[CardLineView, ...]
    past: tuple[CardLineView, ...] = Field(default=(), description="Replaced lines, newest first.")


def card_view(card: Card, at: datetime, gate: OutputGate, request: str = "", domain: str | None = None) -> CardView:
    """Return the card at a moment, lines that match the request first.

    `domain`: only lines of this domain or of all.
    """
    found = select_lines(card, request, at, domain)
    return CardView(
        user_id=card.user_id,
        version=card.version,
        as_of=at,
        lines=tuple(card_line_view(each.line, at, gate, round(each.score, DIGITS), each.reason) for each in found),
        past=tuple(card_line_view(line, at, gate) for line in reversed(card.past)),
    )


def card_line_view(
    line: CardLine, at: datetime, gate: OutputGate, score: float | None = None, reason: str = ""
) -> CardLineView:
    """Return a line with its certainty at a moment."""
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
    """One version of a card, for people."""

    diff: CardDiff
    came_of: str  # "conversation" or "command"
    changes: tuple[tuple[CardChange, str], ...]  # each with the line's words
    not_kept: tuple[str, ...]  # kinds of statements that are not kept, without their words


def card_versions(diffs: Iterable[CardDiff]) -> list[CardVersion]:
    """Return a card's log; removed lines have their last words."""
    known: dict[str, str] = {}
    versions = []
    for diff in diffs:
        known |= {change.line_id: describe(change.line) for change in diff.changes if change.line is not None}
        changes = tuple((change, known.get(change.line_id, ERASED_LINE)) for change in diff.changes)
        not_kept = (
            describe_rejection(each.kind) + (f", {each.times} times" if each.times > 1 else "")
            for each in diff.not_kept
        )
        cause = "conversation" if diff.conversation_id else "command"
        versions.append(CardVersion(diff, cause, changes, tuple(not_kept)))
    return versions
