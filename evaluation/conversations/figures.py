"""Figures of cards, whose lines are matched with the truth."""

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

from evaluation.conversations.layout import Person, PreferenceKind, Unreadable
from evaluation.conversations.listening import Conversation, Listener, by_rules, simulate_person
from evaluation.conversations.truth import Truth, Verdict, matches, truths_of, verdict_on
from evaluation.exceptions import QualityError
from evaluation.simulation import side_by_side
from schemas import CardLine, encode

_Judged: TypeAlias = Sequence[tuple[CardLine, Verdict, Truth | None]]
_WORD: Final = re.compile(r"[^\W_]+")
# A shorter number, such as of a flat, identifies no person, and times and versions have them too.
_MIN_NUMBER: Final = 4
# Of a whole value without its spaces and hyphens; shorter ones are looked for as words.
_MIN_WHOLE: Final = 7


@dataclass
class Totals:
    """The sums over a folder of persons.

    `groups` count preferences that stand, and those found, by type and by kind of conversation. `failed` persons could
    not be played, which is a fault of ours; `skipped` counts unreadable parts by reason.
    """

    counts: Counter[str] = field(default_factory=Counter)
    groups: dict[str, Counter[str]] = field(default_factory=dict)
    unreadable: list[tuple[Path, str]] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)

    def add(self, played: Conversation) -> None:
        """Count one person."""
        truths = truths_of(played.person)
        judged = judged_lines(played, truths)
        self.skipped.update(played.person.skipped)
        self.counts.update(
            {
                "persons": 1,
                "lines": len(judged),
                "sensitive": len(played.person.sensitive),
                "sensitive_kept": len(kept_values(played.person.sensitive.values(), played)),
                "talks": len(played.before),
                "chunks": played.chunks,
                "calls": played.calls,
                "heard_tokens": played.heard_tokens,
                "model_tokens": played.model_tokens,
                "card_bytes": 0 if played.card is None else len(encode(played.card)),
                "log_bytes": sum(len(encode(diff)) for diff in played.log),
                "microseconds": round(1e6 * played.seconds),
            }
        )
        self.counts.update(f"verdict {verdict.value}" for _, verdict, _ in judged)
        self._count_truths(truths, judged)
        self._count_updates(played, truths, judged)
        self._count_forgets(played, truths)

    def shares(self) -> dict[str, Any]:
        """The figures as `--json` prints them; a share of nothing is None."""
        n = self.counts
        return {
            "people": n["persons"],
            "conversations": n["talks"],
            "preferences": n["said"] + n["implied"],
            "recall": share(n["said_found"] + n["implied_found"], n["said"] + n["implied"]),
            "recall_said": share(n["said_found"], n["said"]),
            "recall_implied": share(n["implied_found"], n["implied"]),
            "said": n["said"],
            "implied": n["implied"],
            "implied_own_words": n["implied_own"],
            "recall_implied_own_words": share(n["implied_own_found"], n["implied_own"]),
            "preferences_by_group": {
                group: {"preferences": each["wanted"], "recall": share(each["found"], each["wanted"])}
                for group, each in sorted(self.groups.items())
            },
            "lines": n["lines"],
            "precision": share(n[f"verdict {Verdict.STANDS.value}"], n["lines"]),
            "lines_by_verdict": {each.value: n[f"verdict {each.value}"] for each in Verdict},
            "updates": n["updates"],
            "updates_known_before": n["updates_known"],
            "updates_new_stands": share(n["updates_stands"], n["updates"]),
            "updates_old_gone": share(n["updates_gone"], n["updates_known"]),
            "updates_old_kept": n["updates_kept"],
            "updates_honoured": share(n["updates_honoured"], n["updates"]),
            "forgotten": n["forgets"],
            "forgotten_known_before": n["forgets_known"],
            "forgotten_come_back": n["forgets_back"],
            "sensitive_values": n["sensitive"],
            "sensitive_kept": n["sensitive_kept"],
            "sensitive_topics": n["topics"],
            "sensitive_topics_kept": n["topics_kept"],
            "others": n["others"],
            "others_taken": n["others_taken"],
            "tokens_per_conversation": share(n["heard_tokens"], n["talks"], 1),
            "model_tokens_per_conversation": share(n["model_tokens"], n["talks"], 1),
            "chunks_per_conversation": share(n["chunks"], n["talks"]),
            "calls_per_conversation": share(n["calls"], n["talks"]),
            "bytes_per_person": share(n["card_bytes"] + n["log_bytes"], n["persons"], 0),
            "card_bytes_per_person": share(n["card_bytes"], n["persons"], 0),
            "seconds_per_conversation": share(n["microseconds"] / 1e6, n["talks"], 5),
        }

    def _count_truths(self, truths: Sequence[Truth], judged: _Judged) -> None:
        matched = {truth for _, _, truth in judged if truth is not None}
        good = [line for line, verdict, _ in judged if verdict is Verdict.STANDS]
        n = self.counts
        for truth in truths:
            if truth.verdict is Verdict.STANDS:
                # One line may say two preferences that are nearly the same.
                is_found = any(matches(line, truth.preference) for line in good)
                names = ["said"] if truth.said else ["implied", "implied_own"][: 1 + truth.own_words]
                groups = (f"type {truth.pref_type}", f"kind {truth.kind}")
                n.update([*names, *(f"{name}_found" for name in names if is_found)])
                for group in groups:
                    self.groups.setdefault(group, Counter()).update({"wanted": 1, "found": int(is_found)})
            elif truth.verdict is Verdict.OTHERS:
                n.update({"others": 1, "others_taken": int(truth in matched)})
            elif truth.verdict is Verdict.SENSITIVE:
                n.update({"topics": 1, "topics_kept": int(truth in matched)})

    def _count_updates(self, played: Conversation, truths: Sequence[Truth], judged: _Judged) -> None:
        """Count the updates whose new preference stands to the end."""
        matched = {truth.preference.casefold(): truth.verdict for _, _, truth in judged if truth is not None}
        standing = {truth.preference.casefold() for truth in truths if truth.verdict is Verdict.STANDS}
        good = [line for line, verdict, _ in judged if verdict is Verdict.STANDS]
        for place, talk in enumerate(played.person.talks):
            if talk.before is None or talk.about is not PreferenceKind.PREFERENCE or talk.of_others:
                continue
            if talk.preference.casefold() not in standing:
                continue
            stands = any(matches(line, talk.preference) for line in good)
            kept = matched.get(talk.before.casefold()) is Verdict.OVERTAKEN
            known = any(matches(line, talk.before) for line in played.before[place])
            found = {"known": known, "stands": stands, "kept": kept}
            found |= {"gone": known and not kept, "honoured": stands and not kept}
            self.counts.update(["updates", *(f"updates_{name}" for name, is_so in found.items() if is_so)])

    def _count_forgets(self, played: Conversation, truths: Sequence[Truth]) -> None:
        matched = {verdict_on(line, truths)[1] for line in {line.line_id: line for line in held_lines(played)}.values()}
        gone = {truth for truth in truths if truth.verdict is Verdict.FORGOTTEN}
        self.counts.update({"forgets": len(gone), "forgets_back": len(gone & matched)})
        names = {truth.preference.casefold() for truth in gone}
        for place, talk in enumerate(played.person.talks):
            if talk.about is PreferenceKind.FORGET and talk.preference.casefold() in names:
                self.counts["forgets_known"] += any(matches(line, talk.preference) for line in played.before[place])


def share(part: float, whole: float, places: int = 4) -> float | None:
    """A part of a whole, rounded; None of nothing."""
    return round(part / whole, places) if whole else None


def figures_of(played: Conversation) -> Totals:
    """The figures of one person."""
    run = Totals()
    run.add(played)
    return run


async def run(
    persons: Iterator[Person | Unreadable],
    *,
    listen: Listener = by_rules,
    concurrency: int = 1,
    progress: Callable[[int], object] = int,
    after: Callable[[Conversation], Awaitable[object]] | None = None,
) -> Totals:
    """Play persons concurrently and sum up; `progress` receives the number done, `after` each person played."""
    found, done = Totals(), 0

    async def play(who: Person | Unreadable) -> None:
        nonlocal done
        if isinstance(who, Unreadable):
            found.unreadable.append((who.path, who.why))
        else:
            try:
                found.add(played := await simulate_person(who, listen))
                if after is not None:
                    await after(played)
            except QualityError:  # the endpoint or the budget: no other person fares better
                raise
            except Exception as error:
                found.failed.append((who.user_id, f"{type(error).__name__}: {error}"))
        done += 1
        progress(done)

    await side_by_side(persons, play, concurrency)
    return found


def judged_lines(played: Conversation, truths: Sequence[Truth]) -> _Judged:
    """The card's lines, each with its verdict and matching fact."""
    lines = () if played.card is None else played.card.lines
    return [(line, *verdict_on(line, truths)) for line in lines]


def held_lines(played: Conversation) -> list[CardLine]:
    """All lines of the card, past ones included, and of the log."""
    held = [] if played.card is None else [*played.card.lines, *played.card.past]
    return held + [change.line for diff in played.log for change in diff.changes if change.line is not None]


def stored(played: Conversation) -> str:
    """All stored bytes of a person, as the topics have them."""
    parts = [] if played.card is None else [encode(played.card)]
    return b"\n".join([*parts, *(encode(diff) for diff in played.log)]).decode()


def kept_values(values: Iterable[str], played: Conversation) -> list[str]:
    """The values of which any identifying part is stored."""
    # Not the words of ids and times, which are no person's.
    texts = [f"{line.dimension} {line.value} {line.words} {line.line_id}" for line in held_lines(played)]
    texts += [change.reason for diff in played.log for change in diff.changes]
    words = frozenset(word for text in texts for word in _WORD.findall(text.casefold()))
    whole = _squashed(stored(played))
    return [value for value in values if is_kept(value, words, whole)]


def is_kept(value: str, words: frozenset[str], whole: str) -> bool:
    """True if the value, or an identifying part, is stored.

    >>> is_kept("M-4711-X", frozenset({"tea", "4711"}), ""), is_kept("DE 12 34 56 78", frozenset(), "iamde12345678")
    (True, True)
    """
    squashed = _squashed(value)
    if len(squashed) >= _MIN_WHOLE and squashed in whole:
        return True
    numbers = (word for word in _WORD.findall(value.casefold()) if len(word) >= _MIN_NUMBER)
    return any(word in words for word in numbers if any(letter.isdigit() for letter in word))


def _squashed(text: str) -> str:
    return "".join(_WORD.findall(text.casefold()))
