"""A card's draft, and the checks of its values."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from operators.attributes import normalise
from operators.cards.lines import FLOOR, MAX_WEIGHT, certainty, is_protected, reveals
from operators.language.privacy import Privacy
from operators.prompts import visible
from schemas import FREE, MAX_CARD_LINES, MAX_WORDS, UserId
from schemas.cards import MAX_LINE_EVIDENCE, Card, CardChange, CardChangeKind, CardDiff, CardLine, NotKept, Strength

MAX_VALUE: Final = 100
UNREADABLE: Final = "unreadable"
_MAX_DIMENSION: Final = 40
FORGET_REQUESTED: Final = "the person asked to forget it"
FORGOTTEN: Final = "forgotten"
_MAX_KINDS: Final = 32
_MAX_TIMES: Final = 10_000
_PLAINEST_FIRST: Final = (Strength.SET, Strength.SAID, Strength.IMPLIED)
# A later change of these kinds keeps the kind of the event's earlier change.
_KEEPS_EARLIER_KIND: Final = (CardChangeKind.CONFIRMED, CardChangeKind.CONTRADICTED, CardChangeKind.FORGOTTEN)


def clean_value(text: str) -> str:
    """Return a value on one line; empty if unusable."""
    shown = " ".join(visible(text).split())
    return shown if len(shown) <= MAX_VALUE and normalise(shown) else ""


def clean_dimension(name: str) -> str:
    """Return a dimension, or `FREE` for an invalid name."""
    return name if 0 < len(name) <= _MAX_DIMENSION and name.isprintable() else FREE


def reject_reason(dimension: str, value: str, words: str, privacy: Privacy) -> str | None:
    """Return the reason, such as private data, not to keep a value.

    A value is rejected too if it repeats personal data from the `words` that it was found in. The exceptions of single
    domains do not apply, because a card is read in all domains.
    """
    if not value:
        return UNREADABLE
    strict = privacy.strict
    if (kind := strict.refuses("", dimension, value)) is not None:
        return kind
    if dimension == FREE:
        found = strict.redact_about_person(value, "", MAX_VALUE).found
        if kind := next(iter(found), None) or privacy.routine_kind(value):
            return kind
    redacted, name = strict.redact(words, ""), normalise(value)
    is_repeated = name in normalise(words) and name not in normalise(redacted.text)
    return next(iter(redacted.found), None) if is_repeated else None


def safe_quotation(words: str, privacy: Privacy) -> str:
    """Return a quotation; empty if any of it is private."""
    shown = " ".join(visible(words).split())[:MAX_WORDS].rstrip()
    if privacy.routine_kind(shown) is not None:
        return ""
    return shown if privacy.strict.redact_about_person(shown, "", MAX_WORDS).text == shown else ""


class CardDraft:
    """A card's lines during one event; each line's last change counts."""

    def __init__(self, card: Card | None, at: datetime) -> None:
        """Start from the card before the event, at the event's own time."""
        self.at = at
        self.version = 1 if card is None else card.version + 1
        self.live: dict[str, CardLine] = {} if card is None else {line.line_id: line for line in card.lines}
        self.past: dict[str, CardLine] = {} if card is None else {line.line_id: line for line in card.past}
        self.not_kept: Counter[str] = Counter()
        self._changes: dict[str, CardChange] = {}
        self._held = frozenset(self.live) | frozenset(self.past)

    @property
    def is_changed(self) -> bool:
        """True if the event has an effect so far."""
        return bool(self._changes or self.not_kept)

    def put(self, kind: CardChangeKind, line: CardLine, reason: str = "") -> None:
        """Add or replace a live line."""
        self.past.pop(line.line_id, None)
        self.live[line.line_id] = line
        self._note(kind, line, reason)

    def end(
        self, kind: CardChangeKind, line: CardLine, reason: str, at: datetime | None = None, by: str | None = None
    ) -> None:
        """Move a line to the past ones, with any successor (`by`)."""
        over = line.model_copy(update={"overtaken_at": at or self.at, "overtaken_by": by, "pinned": False})
        self.live.pop(line.line_id, None)
        # Pop first, because the newest past line must be last.
        self.past.pop(line.line_id, None)
        self.past[line.line_id] = over
        self._note(kind, over, reason)

    def forget(self, lines: Iterable[CardLine], kind: CardChangeKind, reason: str = FORGET_REQUESTED) -> None:
        """Erase lines, and the references and quotations of them in other lines."""
        for erased in lines:
            for known in (self.live, self.past, self._changes):
                known.pop(erased.line_id, None)
            if erased.line_id in self._held:
                self._changes[erased.line_id] = CardChange(kind=kind, line_id=erased.line_id, reason=reason)
            else:
                self.not_kept[FORGOTTEN] += 1
            self.unquote(erased.value, erased)

    def unquote(self, value: str, erased: CardLine | None = None) -> None:
        """Remove quotations of a value from all lines."""
        for lines_by_id in (self.live, self.past):
            for line in list(lines_by_id.values()):
                if (stripped := without_references(line, value, erased)) != line:
                    lines_by_id[line.line_id] = stripped
                    self._note(CardChangeKind.FORGOTTEN, stripped, "its quotation contained a forgotten value")

    def crowd(self) -> None:
        """Fade old lines and drop the least certain ones beyond the limit."""
        for line in [*self.live.values()]:
            if not is_protected(line) and certainty(line, self.at) < FLOOR:
                self.end(CardChangeKind.FADED, line, "it was not confirmed for a long time")
        while len(self.live) > MAX_CARD_LINES:
            loose = [line for line in self.live.values() if not line.pinned]
            # Of equally certain lines, a new one.
            least = min(loose, key=lambda one: (is_protected(one), certainty(one, self.at), one.line_id in self._held))
            self.end(CardChangeKind.CROWDED_OUT, least, "the card is full, and this line is the least certain")

    def diff(self, event_id: str, user_id: str, **more: Any) -> CardDiff | None:
        """Return the diff after fading and eviction; None if nothing changed."""
        self.crowd()
        if not self.is_changed:
            return None
        return CardDiff(
            event_id=event_id,
            occurred_at=self.at,
            user_id=UserId(user_id),
            version=self.version,
            changes=tuple(self._changes.values()),
            not_kept=tuple(
                NotKept(kind=kind, times=min(times, _MAX_TIMES))
                for kind, times in sorted(self.not_kept.items())[:_MAX_KINDS]
            ),
            **more,
        )

    def _note(self, kind: CardChangeKind, line: CardLine, reason: str) -> None:
        before = self._changes.pop(line.line_id, None)
        if before is not None and before.line is not None and kind in _KEEPS_EARLIER_KIND:
            kind, reason = before.kind, before.reason
        self._changes[line.line_id] = CardChange(kind=kind, line_id=line.line_id, line=line, reason=reason)


def without_references(line: CardLine, value: str, erased: CardLine | None = None) -> CardLine:
    """Return a line without quotations of a value and erased successors."""
    by = None if erased is not None and line.overtaken_by == erased.line_id else line.overtaken_by
    is_quoted = reveals(line.words, value) or (erased is not None and line.words == erased.words)
    return line.model_copy(update={"overtaken_by": by, "words": "" if is_quoted else line.words})


def merged_line(line: CardLine, other: CardLine) -> CardLine:
    """Merge the evidence of two equal lines."""
    first, last = sorted((line, other), key=lambda each: each.confirmed_at)
    events = dict.fromkeys([*first.evidence, *last.evidence])
    return line.model_copy(
        update={
            "weight": max(line.weight, min(line.weight + other.weight, MAX_WEIGHT)),
            "against": max(line.against, other.against),
            "times": min(line.times + other.times, 1_000_000),
            "since": min(line.since, other.since),
            "confirmed_at": max(line.confirmed_at, other.confirmed_at),
            "evidence": tuple(events)[-MAX_LINE_EVIDENCE:],
            "words": last.words or line.words,
            "strength": min((line.strength, other.strength), key=_PLAINEST_FIRST.index),
        }
    )
