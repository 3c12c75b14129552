"""A card's log: its fold (invariant 1) and a line's erasure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from operators.admission import with_applied, with_recent
from operators.attributes import normalise
from operators.cards.lines import reveals
from operators.erasure import erased_digests
from operators.redaction import is_placeholder, placeholder
from schemas import (
    MAX_CARD_CHANGES,
    MAX_PAST_LINES,
    Card,
    CardChange,
    CardChangeKind,
    CardDiff,
    CardLine,
    Receipt,
    line_digest,
)
from schemas.skills import MAX_RECENT


class CardOutOfOrder(ValueError):
    """A diff that does not follow the card's version."""


def fold_cards(diffs: Iterable[CardDiff]) -> dict[str, Card]:
    """Return the cards of a log, by user."""
    cards: dict[str, Card] = {}
    for diff in diffs:
        cards[diff.user_id] = apply_diff(cards.get(diff.user_id), diff)
    return cards


def apply_diff(card: Card | None, diff: CardDiff) -> Card:
    """Return the card after the next diff; evict the oldest past lines."""
    card = card or Card(event_id=diff.event_id, occurred_at=diff.occurred_at, user_id=diff.user_id)
    if diff.version != card.version + 1:
        raise CardOutOfOrder(f"version {diff.version} of a card follows version {card.version}")
    lines = {line.line_id: line for line in card.lines}
    past = {line.line_id: line for line in card.past}
    for change in diff.changes:
        past.pop(change.line_id, None)
        if change.line is None or change.line.overtaken_at is not None:
            lines.pop(change.line_id, None)
        if change.line is not None:
            # The newest past line is last.
            (lines if change.line.overtaken_at is None else past)[change.line_id] = change.line
    return Card(
        event_id=diff.event_id,
        occurred_at=diff.occurred_at,
        user_id=diff.user_id,
        version=diff.version,
        lines=tuple(lines.values()),
        past=tuple(past.values())[-MAX_PAST_LINES:],
        recent=with_recent(card.recent, diff.event_id, MAX_RECENT),
        applied=with_applied(card.applied, diff.source, diff.occurred_at),
        last_diff=diff,
        chain=diff.chain,
    )


_SHORTEST: Final = 3
# Changes whose reasons people may write.
_BY_PEOPLE: Final = (CardChangeKind.SET, CardChangeKind.PINNED, CardChangeKind.UNPINNED)


@dataclass(frozen=True)
class _ErasedLine:
    line_id: str
    instead: str
    values: frozenset[str]
    words: frozenset[str]

    def is_revealed_by(self, text: str) -> bool:
        slug = f"-{normalise(text)}-"
        return bool(text) and (
            text in self.words or any(reveals(text, value) or f"-{normalise(value)}-" in slug for value in self.values)
        )


def redact_card_log(diffs: Sequence[CardDiff], line_id: str) -> list[CardDiff]:
    """Return one card's log without a line's value, words and id.

    The log keeps its versions and folds to the same card less the line. Quotations and reasons that may reveal the line
    are removed too. Redacting a log again changes nothing.
    """
    if not diffs or is_placeholder(line_id):
        return list(diffs)
    erased = _erased_line([change for diff in diffs for change in diff.changes], diffs[0].user_id, line_id)
    return _as_crowded(diffs, drop_stale_quotations([_without(diff, erased) for diff in diffs]))


def erased_from_past(diffs: Sequence[CardDiff], card: Card | None, receipt: Receipt | None) -> list[str]:
    """Return the erased lines that only the log has, because newer ones took their place in the card's past."""
    if card is None or receipt is None:
        return []
    held = {line.line_id for line in (*card.lines, *card.past)}
    last = {each.line_id: each.line for diff in diffs for each in diff.changes if each.line is not None}

    def is_erased(line: CardLine) -> bool:
        digests = erased_digests(card.user_id, line.line_id, line.value)
        return any(receipt.covers_line(digest, line.confirmed_at) for digest in digests)

    return [name for name, line in last.items() if name not in held and is_erased(line)]


def drop_stale_quotations(diffs: Sequence[CardDiff]) -> list[CardDiff]:
    """Remove quotations that a later version has removed from their line."""
    stripped: set[str] = set()
    rewritten: list[CardDiff] = []

    def unquoted(change: CardChange) -> CardChange:
        if change.line is None or change.line_id not in stripped:
            return change
        return change.model_copy(update={"line": change.line.model_copy(update={"words": ""})})

    for diff in reversed(diffs):
        rewritten.append(diff.model_copy(update={"changes": tuple(map(unquoted, diff.changes))}))
        stripped |= {each.line_id for each in diff.changes if each.line is not None and not each.line.words}
    return rewritten[::-1]


def _erased_line(changes: Sequence[CardChange], user_id: str, line_id: str) -> _ErasedLine:
    lines = [each.line for each in changes if each.line is not None and each.line_id == line_id]
    # A partly redacted log has the value only in the id.
    slug = line_id.rsplit(":", 1)[-1].replace("-", " ")
    values = {line.value for line in lines} | ({slug} if len(slug) >= _SHORTEST or not lines else set())
    return _ErasedLine(
        line_id,
        placeholder(line_digest(user_id, "", line_id)),
        frozenset(values),
        frozenset(line.words for line in lines if line.words),
    )


def _without(diff: CardDiff, erased: _ErasedLine) -> CardDiff:
    is_named = any(each.line_id == erased.line_id for each in diff.changes)
    changes = tuple(_change(each, erased, is_named=is_named) for each in diff.changes)
    return diff.model_copy(update={"changes": changes})


def _change(change: CardChange, erased: _ErasedLine, *, is_named: bool) -> CardChange:
    if change.line_id == erased.line_id:
        return CardChange(kind=change.kind, line_id=erased.instead)
    is_private = erased.is_revealed_by(change.reason) or (is_named and change.kind in _BY_PEOPLE)
    line = change.line and _line(change.line, erased)
    return change.model_copy(update={"line": line, "reason": "" if is_private else change.reason})


def _line(line: CardLine, erased: _ErasedLine) -> CardLine:
    successor = erased.instead if line.overtaken_by == erased.line_id else line.overtaken_by
    words = "" if erased.is_revealed_by(line.words) else line.words
    return line.model_copy(update={"overtaken_by": successor, "words": words})


def _as_crowded(diffs: Sequence[CardDiff], without: list[CardDiff]) -> list[CardDiff]:
    # The erased line may have evicted past lines. Drop them here too, or the log would fold to another card.
    if [diff.version for diff in diffs] != [*range(1, len(diffs) + 1)]:
        return without  # a part of a log does not fold
    before: Card | None = None
    after: Card | None = None
    crowded: list[CardDiff] = []
    for diff, stripped in zip(diffs, without, strict=True):
        before, after = apply_diff(before, diff), apply_diff(after, stripped)
        known = {line.line_id for line in before.past}
        extra = [line.line_id for line in after.past if line.line_id not in known]
        crowded.append(stripped)
        if extra and len(stripped.changes) + len(extra) <= MAX_CARD_CHANGES:
            erased = (CardChange(kind=CardChangeKind.CROWDED_OUT, line_id=name) for name in extra)
            crowded[-1] = stripped.model_copy(update={"changes": (*stripped.changes, *erased)})
            past = tuple(line for line in after.past if line.line_id in known)
            after = after.model_copy(update={"past": past, "last_diff": crowded[-1]})
    return crowded
