"""What a play comes to: each line of a card is laid to the preference that it says most of, and then counted."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from evaluation.conversations.layout import About
from evaluation.conversations.leaks import kept as kept_values
from evaluation.conversations.play import Played
from evaluation.conversations.truth import Truth, Verdict, matches, truths_of, verdict_on
from schemas import encode
from schemas.cards import CardLine

_Judged: TypeAlias = Sequence[tuple[CardLine, Verdict, Truth | None]]


@dataclass
class Figures:
    """Counts over persons, from which the shares follow.

    Attributes:
        said, implied: preferences that stand; `_found`: those that a line of the card says.
        implied_own: of the implied ones, those of which most words are the person's.
        groups: preferences that stand and those found, by type and by kind of conversation.
        lines: on the cards; `verdicts`: what they say.
        updates: preferences that took the place of others; `_known`: the old one had been on the card; `_stands`: the
            new one is; `_kept`: the old one still is; `_gone`: it was and is not; `_honoured`: the new one is, and the
            old one is not.
        forgets: preferences that were to be forgotten; `_known`: on the card when it was asked for; `_back`: on the
            card, among its past lines or in the log at the end.
        sensitive: values that must not be kept; `_kept`: those of which something is.
        topics: of health and therapy; `_kept`: those of which a line is.
        others: preferences of other people; `_taken`: for one's own.
        seconds: of all.
    """

    persons: int = 0
    said: int = 0
    said_found: int = 0
    implied: int = 0
    implied_found: int = 0
    implied_own: int = 0
    implied_own_found: int = 0
    groups: dict[str, tuple[int, int]] = field(default_factory=dict)
    lines: int = 0
    verdicts: dict[str, int] = field(default_factory=dict)
    updates: int = 0
    updates_known: int = 0
    updates_stands: int = 0
    updates_kept: int = 0
    updates_gone: int = 0
    updates_honoured: int = 0
    forgets: int = 0
    forgets_known: int = 0
    forgets_back: int = 0
    sensitive: int = 0
    sensitive_kept: int = 0
    topics: int = 0
    topics_kept: int = 0
    others: int = 0
    others_taken: int = 0
    talks: int = 0
    chunks: int = 0
    calls: int = 0
    heard_tokens: int = 0
    model_tokens: int = 0
    card_bytes: int = 0
    log_bytes: int = 0
    seconds: float = 0.0

    def add(self, other: "Figures") -> None:
        """Count another's too."""
        for name, value in vars(other).items():
            if name == "verdicts":
                for verdict, times in value.items():
                    self.verdicts[verdict] = self.verdicts.get(verdict, 0) + times
            elif name == "groups":
                for group, (wanted, found) in value.items():
                    self.count(group, wanted, found)
            else:
                setattr(self, name, getattr(self, name) + value)

    def count(self, group: str, wanted: int, found: int) -> None:
        """Count preferences of a group, and those found."""
        before = self.groups.get(group, (0, 0))
        self.groups[group] = before[0] + wanted, before[1] + found

    def shares(self) -> Mapping[str, Any]:
        """The figures as they are told; a share of nothing is None."""
        wanted, found = self.said + self.implied, self.said_found + self.implied_found
        return {
            "people": self.persons,
            "conversations": self.talks,
            "preferences": wanted,
            "recall": share(found, wanted),
            "recall_said": share(self.said_found, self.said),
            "recall_implied": share(self.implied_found, self.implied),
            "said": self.said,
            "implied": self.implied,
            "implied_own_words": self.implied_own,
            "recall_implied_own_words": share(self.implied_own_found, self.implied_own),
            "preferences_by_group": {
                group: {"preferences": wanted, "recall": share(found, wanted)}
                for group, (wanted, found) in sorted(self.groups.items())
            },
            "lines": self.lines,
            "precision": share(self.verdicts.get(Verdict.STANDS, 0), self.lines),
            "lines_by_verdict": {each.value: self.verdicts.get(each, 0) for each in Verdict},
            "updates": self.updates,
            "updates_known_before": self.updates_known,
            "updates_new_stands": share(self.updates_stands, self.updates),
            "updates_old_gone": share(self.updates_gone, self.updates_known),
            "updates_old_kept": self.updates_kept,
            "updates_honoured": share(self.updates_honoured, self.updates),
            "forgotten": self.forgets,
            "forgotten_known_before": self.forgets_known,
            "forgotten_come_back": self.forgets_back,
            "sensitive_values": self.sensitive,
            "sensitive_kept": self.sensitive_kept,
            "sensitive_topics": self.topics,
            "sensitive_topics_kept": self.topics_kept,
            "others": self.others,
            "others_taken": self.others_taken,
            "tokens_per_conversation": share(self.heard_tokens, self.talks, 1),
            "model_tokens_per_conversation": share(self.model_tokens, self.talks, 1),
            "chunks_per_conversation": share(self.chunks, self.talks),
            "calls_per_conversation": share(self.calls, self.talks),
            "bytes_per_person": share(self.card_bytes + self.log_bytes, self.persons, 0),
            "card_bytes_per_person": share(self.card_bytes, self.persons, 0),
            "seconds_per_conversation": share(self.seconds, self.talks, 5),
        }


def share(part: float, whole: float, places: int = 4) -> float | None:
    """A part of a whole, rounded; None of nothing."""
    return round(part / whole, places) if whole else None


def figures_of(played: Played) -> Figures:
    """What one person's play comes to."""
    truths = truths_of(played.person)
    judged = judged_lines(played, truths)
    spent = played.spent
    figures = Figures(
        persons=1,
        lines=len(judged),
        sensitive=len(played.person.sensitive),
        sensitive_kept=len(kept_values(played.person.sensitive.values(), played)),
        talks=spent.talks,
        chunks=spent.chunks,
        calls=spent.calls,
        heard_tokens=spent.heard_tokens,
        model_tokens=spent.prompt_tokens + spent.completion_tokens,
        card_bytes=0 if played.card is None else len(encode(played.card)),
        log_bytes=sum(len(encode(diff)) for diff in played.log),
        seconds=spent.seconds,
    )
    for _, verdict, _ in judged:
        figures.verdicts[verdict] = figures.verdicts.get(verdict, 0) + 1
    _count_truths(figures, truths, judged)
    _count_updates(figures, played, judged)
    _count_forgets(figures, played, truths)
    return figures


def judged_lines(played: Played, truths: Sequence[Truth]) -> _Judged:
    """The lines of the card, each with what it says and what of the file it was laid to."""
    lines = () if played.card is None else played.card.lines
    return [(line, *verdict_on(line, truths)) for line in lines]


def listed(played: Played) -> Iterator[Mapping[str, Any]]:
    """Each line of a card with what it was laid to, then each preference that stands and that no line says."""
    truths = truths_of(played.person)
    judged = judged_lines(played, truths)
    who = played.person.user_id
    for line, verdict, truth in judged:
        yield {
            "line": "line", "user_id": who, "verdict": verdict.value, "stance": line.stance.value,
            "dimension": line.dimension, "value": line.value, "words": line.words,
            "preference": None if truth is None else truth.preference,
        }  # fmt: skip
    good = [line for line, verdict, _ in judged if verdict is Verdict.STANDS]
    for truth in truths:
        if truth.verdict is Verdict.STANDS and not any(matches(line, truth.preference) for line in good):
            yield {
                "line": "missed", "user_id": who, "preference": truth.preference, "said": truth.said,
                "own_words": truth.own_words, "pref_type": truth.pref_type, "kind": truth.kind,
            }  # fmt: skip


def _count_truths(figures: Figures, truths: Sequence[Truth], judged: _Judged) -> None:
    laid = {truth for _, _, truth in judged if truth is not None}
    good = [line for line, verdict, _ in judged if verdict is Verdict.STANDS]
    for truth in truths:
        if truth.verdict is Verdict.STANDS:
            # One line may say two preferences that are nearly the same.
            is_found = any(matches(line, truth.preference) for line in good)
            figures.said += truth.said
            figures.said_found += truth.said and is_found
            figures.implied += not truth.said
            figures.implied_found += is_found and not truth.said
            figures.implied_own += truth.own_words and not truth.said
            figures.implied_own_found += is_found and truth.own_words and not truth.said
            for group in (f"type {truth.pref_type}", f"kind {truth.kind}"):
                figures.count(group, 1, int(is_found))
        elif truth.verdict is Verdict.OTHERS:
            figures.others += 1
            figures.others_taken += truth in laid
        elif truth.verdict is Verdict.SENSITIVE:
            figures.topics += 1
            figures.topics_kept += truth in laid


def _count_updates(figures: Figures, played: Played, judged: _Judged) -> None:
    """Count the updates whose new preference stands to the end."""
    laid = {truth.preference.casefold(): truth.verdict for _, _, truth in judged if truth is not None}
    standing = {t.preference.casefold() for t in truths_of(played.person) if t.verdict is Verdict.STANDS}
    good = [line for line, verdict, _ in judged if verdict is Verdict.STANDS]
    for place, talk in enumerate(played.person.talks):
        if talk.before is None or talk.about is not About.PREFERENCE or talk.of_others:
            continue
        if talk.preference.casefold() not in standing:
            continue
        stands = any(matches(line, talk.preference) for line in good)
        kept = laid.get(talk.before.casefold()) is Verdict.OVERTAKEN
        known = any(matches(line, talk.before) for line in played.before[place])
        figures.updates += 1
        figures.updates_known += known
        figures.updates_stands += stands
        figures.updates_kept += kept
        figures.updates_gone += known and not kept
        figures.updates_honoured += stands and not kept


def _count_forgets(figures: Figures, played: Played, truths: Sequence[Truth]) -> None:
    held = [] if played.card is None else [*played.card.lines, *played.card.past]
    held += [change.line for diff in played.log for change in diff.changes if change.line is not None]
    laid = {verdict_on(line, truths)[1] for line in {line.line_id: line for line in held}.values()}
    for truth in truths:
        if truth.verdict is Verdict.FORGOTTEN:
            figures.forgets += 1
            figures.forgets_back += truth in laid
    gone = {truth.preference.casefold() for truth in truths if truth.verdict is Verdict.FORGOTTEN}
    for place, talk in enumerate(played.person.talks):
        if talk.about is About.FORGET and talk.preference.casefold() in gone:
            figures.forgets_known += any(matches(line, talk.preference) for line in played.before[place])
