"""The fold of a card's log: the same diffs give the same bytes (invariant 1)."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from operators.applied import remember, with_applied
from schemas.cards import MAX_PAST_LINES, Card, CardDiff, CardLine
from schemas.skills import MAX_RECENT


class OutOfOrder(ValueError):
    """A diff is not the next of its card."""


def fold(diffs: Iterable[CardDiff]) -> dict[str, Card]:
    """Return the cards of a log, by user.

    Raises:
        OutOfOrder: a version is missing.
    """
    cards: dict[str, Card] = {}
    for diff in diffs:
        cards[diff.user_id] = with_diff(cards.get(diff.user_id), diff)
    return cards


def with_diff(card: Card | None, diff: CardDiff) -> Card:
    """Return the card after a diff. The oldest past lines are dropped for room.

    Raises:
        OutOfOrder: it is not the next one.
    """
    before = 0 if card is None else card.version
    if diff.version != before + 1:
        raise OutOfOrder(f"version {diff.version} of a card follows version {before}")
    lines: dict[str, CardLine] = {} if card is None else {line.line_id: line for line in card.lines}
    past: dict[str, CardLine] = {} if card is None else {line.line_id: line for line in card.past}
    for change in diff.changes:
        past.pop(change.line_id, None)
        if change.line is None:
            lines.pop(change.line_id, None)
        elif change.line.overtaken_at is not None:
            lines.pop(change.line_id, None)
            past[change.line_id] = change.line  # the newest is last
        else:
            lines[change.line_id] = change.line
    return Card(
        event_id=diff.event_id,
        occurred_at=diff.occurred_at,
        user_id=diff.user_id,
        version=diff.version,
        lines=tuple(lines.values()),
        past=tuple(past.values())[-MAX_PAST_LINES:],
        recent=remember(() if card is None else card.recent, diff.event_id, MAX_RECENT),
        applied=with_applied(() if card is None else card.applied, diff.source, diff.occurred_at),
        last_diff=diff,
        chain=diff.chain,
    )


def as_of(diffs: Sequence[CardDiff], moment: datetime) -> Card | None:
    """Return the card at a moment: the fold up to the first later diff; None before all."""
    card: Card | None = None
    for diff in diffs:
        if diff.occurred_at > moment:
            break
        card = with_diff(card, diff)
    return card
