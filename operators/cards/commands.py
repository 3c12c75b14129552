"""Commands on a card: set, pin, unpin or remove a line."""

from typing import Final

from operators.cards.admission import UNREADABLE, dimension_of, refused, value_of
from operators.cards.draft import CardDraft
from operators.cards.lines import WEIGHTS, holds_where, line_id, may_meet, same_subject, to_forget
from operators.cards.merge import NEARLY
from operators.privacy import Privacy
from schemas import Position
from schemas.cards import Card, CardAction, CardChangeKind, CardCommand, CardDiff, CardLine, CardStated, Strength
from schemas.statements import Stance

SET_OTHERWISE: Final = "somebody set another line in its place"
REMOVED: Final = "somebody removed it"
BY_COMMAND: Final = "by hand"
"""The reason of a change. The command's own reason may contain anything, and stays in the command."""


def resolve_command(
    card: Card | None, command: CardCommand, source: Position | None, privacy: Privacy
) -> CardDiff | None:
    """Return the diff of a command; None if it changes nothing.

    A set line neither fades nor gives way to hints. A private one is not set and leaves a receipt. A removed line
    leaves nothing, neither a reason nor past lines about nearly the same.
    """
    if card is not None and command.event_id in card.recent:
        return None
    draft = CardDraft(card, command.occurred_at)
    if command.action is CardAction.SET and command.line is not None:
        _set(draft, command, command.line, privacy)
    else:
        _of_a_line(draft, command)
    if not draft.is_changed:
        return None
    return draft.diff(command.event_id, command.user_id, source=source)


def is_as_it_was(card: Card | None, diff: CardDiff) -> bool:
    """Return True if a command only confirms lines."""
    held = {} if card is None else {line.line_id: line for line in card.lines}
    for change in diff.changes:
        known, line = held.get(change.line_id), change.line
        if known is None or line is None:
            return False
        if line != known.model_copy(update={"confirmed_at": line.confirmed_at, "evidence": line.evidence}):
            return False
    return True


def _set(draft: CardDraft, command: CardCommand, stated: CardStated, privacy: Privacy) -> None:
    value, dimension = value_of(stated.value), dimension_of(stated.dimension)
    kind = refused(dimension, value, "", privacy) if value else UNREADABLE
    if kind is not None:
        draft.not_kept[kind] += 1
        return
    stance = Stance.AVOIDS if stated.stance is Stance.AVOIDS else Stance.PREFERS
    name = line_id(stance, dimension, value, stated.domain)
    known = draft.live.get(name)
    before = None if command.line_id is None else draft.live.get(command.line_id)
    line = CardLine(
        line_id=name,
        stance=stance,
        dimension=dimension,
        value=value,
        domain=stated.domain,
        strength=Strength.SET,
        weight=WEIGHTS[Strength.SET],
        since=command.occurred_at if known is None else known.since,
        confirmed_at=command.occurred_at,
        version=draft.version if known is None else known.version,
        times=1 if known is None else known.times,
        evidence=(command.event_id,),
        pinned=any(each is not None and each.pinned for each in (known, before)),
    )
    draft.put(CardChangeKind.SET, line, BY_COMMAND)
    for each in [other for other in draft.live.values() if other.line_id != name]:
        reaches = same_subject(line, each) and holds_where(line.domain, each)
        if each is before or (reaches and each.stance is not stance):
            draft.end(CardChangeKind.OVERTAKEN, each, SET_OTHERWISE, by=name)
        elif reaches and not each.pinned:
            draft.end(CardChangeKind.MERGED, each, NEARLY, by=name)


def _of_a_line(draft: CardDraft, command: CardCommand) -> None:
    name = command.line_id or ""
    line = draft.live.get(name) or draft.past.get(name)
    if line is None:
        return
    if command.action is CardAction.REMOVE:
        # Past lines about the same would reveal the removed one.
        others = [each for each in draft.past.values() if each.line_id != name]
        past = [each for each in to_forget(line.value, others) if may_meet(line.domain, line.dimension, each)]
        draft.forget([line, *past], CardChangeKind.REMOVED, REMOVED)
    elif name in draft.live and line.pinned is not (command.action is CardAction.PIN):
        is_pinned = command.action is CardAction.PIN
        kind = CardChangeKind.PINNED if is_pinned else CardChangeKind.UNPINNED
        draft.put(kind, line.model_copy(update={"pinned": is_pinned}), BY_COMMAND)
