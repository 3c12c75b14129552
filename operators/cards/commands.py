"""What a command does to a card: it sets, pins, unpins or removes a line."""

from typing import Final

from operators.cards.admitting import UNREADABLE, dimension_of, refused, value_of
from operators.cards.ageing import WEIGHTS
from operators.cards.alike import holds_where, may_meet, near_subject, same_subject
from operators.cards.identity import line_id
from operators.cards.merge import NEARLY
from operators.cards.working import Working
from operators.privacy import Privacy
from schemas import Position
from schemas.cards import Card, CardAction, CardChangeKind, CardCommand, CardDiff, CardLine, CardStated, Strength
from schemas.statements import Stance

SET_OTHERWISE: Final = "somebody set another line in its place"
REMOVED: Final = "somebody removed it"
BY_COMMAND: Final = "by hand"
"""What they give as their reason may tell anything of anybody: it stays in the command."""


def resolve_command(
    card: Card | None, command: CardCommand, source: Position | None, privacy: Privacy
) -> CardDiff | None:
    """What a command does to a card; None if that is nothing.

    What is set stands until a plain word or another command says otherwise: it neither fades nor gives way to hints.
    What may not be kept is not set either, and leaves a receipt. Of what is removed nothing stays, neither a reason nor
    the past lines that say nearly the same.

    Args:
        card: as it is; None: there is none.
        command: which names its line; one of a line that is not there changes nothing.
        source: where the command stands.
        privacy: what is not kept.
    """
    if card is not None and command.event_id in card.recent:
        return None
    working = Working(card, command.occurred_at)
    if command.action is CardAction.SET and command.line is not None:
        _set(working, command, command.line, privacy)
    else:
        _of_a_line(working, command)
    if not working.is_changed:
        return None
    return working.diff(command.event_id, command.user_id, source=source)


def is_as_it_was(card: Card | None, diff: CardDiff) -> bool:
    """Whether all that a command would change is when a line was said last, and by which event: it says nothing new."""
    known = {} if card is None else {line.line_id: line for line in card.lines}
    return all(_is_same(known.get(change.line_id), change.line) for change in diff.changes)


def _is_same(known: CardLine | None, line: CardLine | None) -> bool:
    if known is None or line is None:
        return False
    return line == known.model_copy(update={"confirmed_at": line.confirmed_at, "evidence": line.evidence})


def _set(working: Working, command: CardCommand, stated: CardStated, privacy: Privacy) -> None:
    value, dimension = value_of(stated.value), dimension_of(stated.dimension)
    kind = refused(dimension, value, "", privacy) if value else UNREADABLE
    if kind is not None:
        working.not_kept[kind] += 1
        return
    stance = Stance.AVOIDS if stated.stance is Stance.AVOIDS else Stance.PREFERS
    name = line_id(stance, dimension, value, stated.domain)
    known = working.live.get(name)
    before = None if command.line_id is None else working.live.get(command.line_id)
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
        version=working.version if known is None else known.version,
        times=1 if known is None else known.times,
        evidence=(command.event_id,),
        pinned=any(each is not None and each.pinned for each in (known, before)),
    )
    working.put(CardChangeKind.SET, line, BY_COMMAND)
    for each in [other for other in working.live.values() if other.line_id != name]:
        meets = may_meet(line.domain, line.dimension, each)
        reaches = meets and holds_where(line.domain, each)
        if each is before or (reaches and each.stance is not stance and same_subject(value, line.domain, each)):
            working.end(CardChangeKind.OVERTAKEN, each, SET_OTHERWISE, by=name)
        elif each.pinned:
            continue
        elif reaches and each.stance is stance and near_subject(value, line.domain, each):
            working.end(CardChangeKind.MERGED, each, NEARLY, by=name)


def _of_a_line(working: Working, command: CardCommand) -> None:
    name = command.line_id or ""
    line = working.live.get(name) or working.past.get(name)
    if line is None:
        return
    if command.action is CardAction.REMOVE:
        working.forget([line, *_like(line, working)], CardChangeKind.REMOVED, REMOVED)
    elif name in working.live and line.pinned is not (command.action is CardAction.PIN):
        is_pinned = command.action is CardAction.PIN
        kind = CardChangeKind.PINNED if is_pinned else CardChangeKind.UNPINNED
        working.put(kind, line.model_copy(update={"pinned": is_pinned}), BY_COMMAND)


def _like(line: CardLine, working: Working) -> list[CardLine]:
    """The past lines that say nearly the same, or its opposite: they would tell what was removed."""
    return [
        each
        for each in working.past.values()
        if each.line_id != line.line_id
        and may_meet(line.domain, line.dimension, each)
        and near_subject(line.value, line.domain, each)
    ]
