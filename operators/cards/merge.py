"""Merges findings and commands into a card as one diff."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

from operators.cards.draft import (
    FORGOTTEN,
    UNREADABLE,
    CardDraft,
    clean_dimension,
    clean_value,
    merged_line,
    reject_reason,
    safe_quotation,
)
from operators.cards.lines import (
    MAX_WEIGHT,
    WEIGHTS,
    contradicts,
    covers_domain,
    is_protected,
    line_id,
    lines_to_forget,
    match_lines,
    may_overlap,
    same_subject,
)
from operators.language.answers import describe_answers
from operators.language.ports import Effect, Extraction, PreferenceFinding
from operators.language.privacy import Privacy
from schemas import FREE, MAX_FINDINGS, Position, Scope, Stance
from schemas.cards import Card, CardAction, CardChangeKind, CardCommand, CardDiff, CardLine, CardLineInput, Strength

CONTRADICTED: Final = "a later statement contradicts it"
HINT_AGAINST: Final = "a later hint contradicts it"
SUPERSEDED: Final = "a later statement replaces it"
WITHDRAWN: Final = "the person withdrew it"
DUPLICATE: Final = "another line states the same"
# The command's own reason may contain private text, so it stays in the command.
BY_COMMAND: Final = "by hand"


def merge_extraction(
    card: Card | None,
    user_id: str,
    extraction: Extraction,
    event_id: str,
    occurred_at: datetime,
    conversation_id: str | None,
    source: Position | None,
    privacy: Privacy,
    redacted: Mapping[str, int] | None = None,
    unquoted_until: datetime | None = None,
) -> CardDiff | None:
    """Return the diff of a chunk's findings; None without an effect.

    Findings apply in the order of their sentences; those for now or a session are ignored. `redacted` counts personal
    data removed from the turns. Sentences up to `unquoted_until`, an erasure, are not quoted, because a receipt does
    not show which words are about the erased line.
    """
    if card is not None and event_id in card.recent:
        return None
    draft = CardDraft(card, occurred_at)
    merging = _CardMerge(draft, privacy, unquoted_until)
    draft.not_kept.update(redacted or {})
    if extraction.of_others:
        draft.not_kept["other-person"] += extraction.of_others
    for finding in sorted(extraction.findings[:MAX_FINDINGS], key=lambda each: each.stated_at):
        merging.apply(finding)
    by = extraction.reasoned_by
    return draft.diff(event_id, user_id, source=source, conversation_id=conversation_id, reasoned_by=by)


class _CardMerge:
    def __init__(self, draft: CardDraft, privacy: Privacy, unquoted_until: datetime | None) -> None:
        self._card = draft
        self._privacy = privacy
        self._unquoted_until = unquoted_until
        self._forgotten: list[PreferenceFinding] = []

    def apply(self, finding: PreferenceFinding) -> None:
        if finding.effect is Effect.FORGETS:
            self._forget(finding)
            return
        if finding.scope is not Scope.ALWAYS:
            return
        if finding.effect is Effect.WITHDRAWS:
            # A withdrawal only removes lines, so it needs no privacy check.
            self._withdraw(finding)
            return
        cleaned = replace(finding, value=clean_value(finding.value), dimension=clean_dimension(finding.dimension))
        if (kind := reject_reason(cleaned.dimension, cleaned.value, cleaned.words, self._privacy)) is not None:
            self._card.not_kept[kind] += 1
            self._replace(finding, None)
        elif any(
            wish.event_id == finding.event_id and lines_to_forget(wish.value, [self._line(cleaned)])
            for wish in self._forgotten
        ):
            self._card.not_kept[FORGOTTEN] += 1
        else:
            self._state(cleaned)

    def _forget(self, finding: PreferenceFinding) -> None:
        self._forgotten.append(finding)
        # Lines stated after the request stay.
        lines = (*self._card.live.values(), *self._card.past.values())
        known = [line for line in lines if line.since <= finding.stated_at and may_overlap(finding.domain, FREE, line)]
        erased = lines_to_forget(describe_answers(finding.dimension, finding.value) or finding.value, known)
        if not erased:
            self._card.not_kept[FORGOTTEN if clean_value(finding.value) else UNREADABLE] += 1
        self._card.forget(erased, CardChangeKind.FORGOTTEN)
        self._card.unquote(finding.value)

    def _withdraw(self, finding: PreferenceFinding) -> None:
        lines = [line for line in self._live(finding) if line.stance is _stance(finding)]
        for line in match_lines(finding.value, lines):
            if line.confirmed_at <= finding.stated_at and not _outranks(line, finding):
                self._card.end(CardChangeKind.WITHDRAWN, line, WITHDRAWN, finding.stated_at)

    def _state(self, finding: PreferenceFinding) -> None:
        line = self._line(finding)
        if self._is_over(line, finding):
            return
        same = [each for each in self._card.live.values() if same_subject(line, each)]
        opposed = [each for each in same if contradicts(each, line)]
        later = [each for each in opposed if each.confirmed_at > finding.stated_at]
        if any(covers_domain(each.domain, line) for each in later):
            return
        # A statement about one domain is an exception to its general opposite; both stay.
        opposed = [each for each in opposed if each not in later and covers_domain(line.domain, each)]
        unyielding = [each for each in opposed if not _yields(each, finding)]
        for each in unyielding:
            self._contradict(each, finding)
        if unyielding:
            return
        now = self._merge_into(line, [each for each in same if not contradicts(each, line)])
        for each in opposed:
            self._card.end(CardChangeKind.OVERTAKEN, each, CONTRADICTED, finding.stated_at, now.line_id)
        self._replace(finding, now)

    def _merge_into(self, line: CardLine, alike: list[CardLine]) -> CardLine:
        """Return the statement's line, after merging the others into it."""
        known = self._card.live.get(line.line_id)
        covering = [each for each in alike if covers_domain(each.domain, line)]
        target = known or max((*covering, line), key=_precedence)
        if target is not line and line.evidence[-1] in target.evidence:
            return target  # the same utterance again
        result = line if target is line else merged_line(target, line)
        loose = [each for each in alike if each.line_id != target.line_id and not is_protected(each)]
        others = [each for each in loose if _may_replace(result, each)]
        for each in others:
            result = merged_line(result, each)
        self._card.put(CardChangeKind.ADDED if target is line else CardChangeKind.CONFIRMED, result)
        for each in others:
            self._card.end(CardChangeKind.MERGED, each, DUPLICATE, by=result.line_id)
        return result

    def _replace(self, finding: PreferenceFinding, now: CardLine | None) -> None:
        """End or, without a successor, withdraw the lines that an update replaces."""
        if finding.effect is not Effect.UPDATES or not finding.replaces:
            return
        lines = [line for line in self._live(finding) if now is None or line.line_id != now.line_id]
        for line in match_lines(finding.replaces, lines):
            is_restated = now is not None and line.stance is now.stance and same_subject(now, line)
            # "tea instead of coffee" does not end "avoids coffee".
            is_opposite = line.stance is Stance.AVOIDS and finding.stance is Stance.PREFERS
            if is_restated or is_opposite or line.confirmed_at > finding.stated_at:
                continue
            if _outranks(line, finding):
                self._contradict(line, finding)
            elif now is None:
                self._card.end(CardChangeKind.WITHDRAWN, line, WITHDRAWN, finding.stated_at)
            else:
                self._card.end(CardChangeKind.OVERTAKEN, line, SUPERSEDED, finding.stated_at, now.line_id)

    def _contradict(self, line: CardLine, finding: PreferenceFinding) -> None:
        against = min(line.against + WEIGHTS[finding.strength], MAX_WEIGHT)
        self._card.put(CardChangeKind.CONTRADICTED, line.model_copy(update={"against": against}), HINT_AGAINST)

    def _is_over(self, line: CardLine, finding: PreferenceFinding) -> bool:
        """Return True if the statement was later withdrawn or contradicted."""
        return any(
            not contradicts(each, line)
            and each.overtaken_at is not None
            and (each.overtaken_at >= finding.stated_at or finding.event_id in each.evidence)
            and same_subject(line, each)
            and covers_domain(each.domain, line)
            and not self._lives_on(each)
            for each in self._card.past.values()
        )

    def _lives_on(self, line: CardLine) -> bool:
        successor = self._card.live.get(line.overtaken_by or "")
        return successor is not None and same_subject(line, successor) and not contradicts(line, successor)

    def _line(self, finding: PreferenceFinding) -> CardLine:
        stance = _stance(finding)
        is_quoted = self._unquoted_until is None or finding.stated_at > self._unquoted_until
        return CardLine(
            line_id=line_id(stance, finding.dimension, finding.value, finding.domain),
            stance=stance,
            dimension=finding.dimension,
            value=finding.value,
            domain=finding.domain,
            strength=finding.strength,
            words=safe_quotation(finding.words, self._privacy) if is_quoted else "",
            weight=WEIGHTS[finding.strength],
            since=finding.stated_at,
            confirmed_at=finding.stated_at,
            version=self._card.version,
            evidence=(finding.event_id,),
        )

    def _live(self, finding: PreferenceFinding) -> list[CardLine]:
        return [line for line in self._card.live.values() if may_overlap(finding.domain, FREE, line)]


def _stance(finding: PreferenceFinding | CardLineInput) -> Stance:
    # `instead` prefers this value; `replaces` has the other one.
    return Stance.AVOIDS if finding.stance is Stance.AVOIDS else Stance.PREFERS


def _may_replace(line: CardLine, other: CardLine) -> bool:
    if line.domain == other.domain:
        return True
    return covers_domain(line.domain, other) and _precedence(line) >= _precedence(other)


def _outranks(line: CardLine, finding: PreferenceFinding) -> bool:
    return is_protected(line) and finding.strength is Strength.IMPLIED


def _yields(line: CardLine, finding: PreferenceFinding) -> bool:
    """Return True if a line yields to its opposite or enough hints."""
    if _outranks(line, finding):
        return False
    if finding.strength is not Strength.IMPLIED or finding.effect is Effect.UPDATES:
        return True
    return line.strength is Strength.IMPLIED or line.against + WEIGHTS[finding.strength] >= line.weight


def _precedence(line: CardLine) -> tuple[bool, bool]:
    """Prefer set or pinned lines, then those of a vocabulary."""
    return is_protected(line), line.dimension != FREE


def apply_command(
    card: Card | None, command: CardCommand, source: Position | None, privacy: Privacy
) -> CardDiff | None:
    """Return the diff of a command; None if it changes nothing.

    A set line neither fades nor yields to hints. A private one is rejected and counted. A removed line leaves neither a
    reason nor past lines about the same.
    """
    if card is not None and command.event_id in card.recent:
        return None
    draft = CardDraft(card, command.occurred_at)
    if command.action is CardAction.SET and command.line is not None:
        _set(draft, command, command.line, privacy)
    else:
        _change_line(draft, command)
    return draft.diff(command.event_id, command.user_id, source=source) if draft.is_changed else None


def _set(draft: CardDraft, command: CardCommand, stated: CardLineInput, privacy: Privacy) -> None:
    value, dimension = clean_value(stated.value), clean_dimension(stated.dimension)
    kind = reject_reason(dimension, value, "", privacy)
    if kind is not None:
        draft.not_kept[kind] += 1
        return
    stance = _stance(stated)
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
        reaches = same_subject(line, each) and covers_domain(line.domain, each)
        if each is before or (reaches and contradicts(each, line)):
            draft.end(CardChangeKind.OVERTAKEN, each, "replaced by hand", by=name)
        elif reaches and not each.pinned:
            draft.end(CardChangeKind.MERGED, each, DUPLICATE, by=name)


def _change_line(draft: CardDraft, command: CardCommand) -> None:
    name = command.line_id or ""
    line = draft.live.get(name) or draft.past.get(name)
    if line is None:
        return
    if command.action is CardAction.REMOVE:
        # Past lines about the same would reveal the removed one.
        others = [each for each in draft.past.values() if each.line_id != name]
        past = [each for each in lines_to_forget(line.value, others) if may_overlap(line.domain, line.dimension, each)]
        draft.forget([line, *past], CardChangeKind.REMOVED, "removed by hand")
    elif name in draft.live and line.pinned is not (command.action is CardAction.PIN):
        is_pinned = command.action is CardAction.PIN
        kind = CardChangeKind.PINNED if is_pinned else CardChangeKind.UNPINNED
        draft.put(kind, line.model_copy(update={"pinned": is_pinned}), BY_COMMAND)
