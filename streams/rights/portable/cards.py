"""A card, taken along: an import sets its lines again, by commands."""

from collections.abc import Callable, Iterator
from datetime import datetime

from schemas import Card, CardAction, CardCommand, CardStated


def commands_of(
    card: Card, user: str, at: datetime, name: Callable[[str], str], actor: str, domain: str | None = None
) -> Iterator[CardCommand]:
    """Commands that write a card's lines for `user`, and pin those that were pinned. What is past stays behind.

    Args:
        card: as it was exported.
        user: who receives it.
        at: the time of the import.
        name: makes the event id of each, of what tells it from the others.
        actor: who imports.
        domain: only lines of this one; None: all.
    """
    for line in card.lines:
        if domain not in (None, line.domain):
            continue
        stated = CardStated(stance=line.stance, dimension=line.dimension, value=line.value, domain=line.domain)
        common = {"occurred_at": at, "user_id": user, "actor": actor}
        told = f"card {line.line_id}"
        yield CardCommand.model_validate({**common, "event_id": name(told), "action": CardAction.SET, "line": stated})
        if line.pinned:
            yield CardCommand.model_validate(
                {**common, "event_id": name(f"{told} pin"), "action": CardAction.PIN, "line_id": line.line_id}
            )
