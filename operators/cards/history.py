"""A card as it was: what was known at a moment, and what held then."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from operators.cards.fold import with_diff
from operators.redact import is_placeholder
from schemas.cards import Card, CardDiff, CardLine


def as_of(diffs: Sequence[CardDiff], moment: datetime) -> Card | None:
    """The card as it was known at a moment: the fold of the log up to the first diff that is later; None before all.

    Args:
        diffs: all diffs of one card, in the order of their versions.
        moment: by the clock of the events.
    """
    card: Card | None = None
    for diff in diffs:
        if diff.occurred_at > moment:
            break
        card = with_diff(card, diff)
    return card


def last_known(diffs: Iterable[CardDiff]) -> tuple[CardLine, ...]:
    """Every line of a log as it was told last, also those that the card has no room for; of what is gone nothing."""
    lines: dict[str, CardLine] = {}
    for diff in diffs:
        for change in diff.changes:
            before = lines.pop(change.line_id, None)
            if change.line is not None and not is_placeholder(change.line_id):
                lines[change.line_id] = change.line
            elif before is not None and change.kind == "crowded-out":
                lines[change.line_id] = before  # it left the card's past for want of room, no more
    return tuple(lines.values())


def held(diffs: Iterable[CardDiff], moment: datetime) -> tuple[CardLine, ...]:
    """The lines that held at a moment, by all that is known today: said by then, and not overtaken yet."""
    return tuple(
        line
        for line in last_known(diffs)
        if line.since <= moment and (line.overtaken_at is None or line.overtaken_at > moment)
    )
