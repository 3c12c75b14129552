"""Phrases about lines, changes and statements, with words instead of ids."""

from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from schemas import Attribute, SkillChange, SkillDiff, Statement

COMMAND = "command by "  # before the actor, in the reasoner of a command's diff
_SMALL = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
SURE = {"silent": "says nothing", "low": "a first sign", "medium": "likely", "high": "sure"}
# Why the output gate rejects a value.
WITHHELD_REASONS = {
    "unknown": "not known as a label or a name, and seen on too few items",
    "name": "a name with a word that orders have, and seen on too few items",
    "long": "longer than names and labels are",
    "signs": "with signs that names and labels seldom have",
    "disguise": "in a spelling or with signs that names and labels never have",
    "words": "with a word that orders have and labels seldom",
    "order": "in the words of an order",
}


def day(moment: datetime) -> str:
    """Format a date, such as `9 January 2026`."""
    return f"{moment.day} {moment:%B %Y}"


def number_word(count: int) -> str:
    """Word a small number."""
    return _SMALL[count] if count < len(_SMALL) else f"{count:,}"


def actor_of(diff: "SkillDiff") -> str | None:
    """Return the actor of a command's diff; None for a learned one."""
    by = diff.reasoned_by.reasoner
    return by.removeprefix(COMMAND) if not diff.is_contrast and by.startswith(COMMAND) else None


def shift_phrase(diff: "SkillDiff") -> str:
    """Word a change of taste, stated or suggested by choices."""
    is_stated = diff.trigger is not None and diff.trigger.what == "correction"
    return "has changed" if is_stated else "may have changed"


def change_line(change: "SkillChange") -> str:
    """Format a change as one line: its id, tiers and kind."""
    before, after = change.before, change.after
    sign = "~" if (before is None) == (after is None) else "+" if before is None else "-"
    tiers = " → ".join(dict.fromkeys(str(tier) for tier in (before, after) if tier is not None))
    return f"{sign} {change.attribute_id} {', '.join(filter(None, (tiers, change.kind.value)))}"


def change_reason(change: "SkillChange") -> str:
    """Word the reason of a change; a discovered line has its quote or its counts."""
    from operators.learning.evidence import describe_counts, is_counted  # noqa: PLC0415 - keeps `--help` fast

    line = change.discovered
    if line and line.quote and not change.reason:
        return f"in the item's words: “{line.quote}”"
    return change.reason or (describe_counts(line.taken, line.expected) if line and is_counted(line) else "")


def statement_words(statement: "Statement") -> str:
    """Word a statement, such as `avoids horror (genre)`."""
    from operators.stated import describe_statement  # noqa: PLC0415 - keeps `--help` fast

    return describe_statement(statement)


def names_of(diffs: "Iterable[SkillDiff]") -> dict[str, str]:
    """Return the newest words of a log's lines and statements."""
    found: dict[str, str] = {}
    for diff in diffs:
        for line in (*(diff.seed or ()), *(each.discovered for each in diff.changes if each.discovered)):
            found[line.attribute_id] = f"{line.value} ({line.dimension})"
        found |= {each.statement_id: statement_words(each.statement) for each in diff.stated if each.statement}
    return found


def validity(statement: "Statement", shifted: int, now: datetime) -> str:
    """Word how long a statement holds, such as `until 2026-01-31 18:00 UTC`."""
    if statement.until is None:
        parts = ["always"]
    else:
        parts = ["over" if statement.until <= now else f"until {statement.until:%Y-%m-%d %H:%M} UTC"]
    if statement.session_id is not None:
        parts.append(f"in session {statement.session_id}")
    if statement.since < shifted:
        parts.append(f"doubtful since version {shifted}")
    return ", ".join(parts)


def certainty_words(line: "Attribute | None") -> str:
    """Word how sure a line is, and its proof."""
    from operators.learning.evidence import describe_proof  # noqa: PLC0415 - keeps `--help` fast

    if line is None:
        return "no longer in the profile"
    sure = f"{SURE[str(line.tier)]}{', and pinned' if line.pinned else ''}"
    return "; ".join(filter(None, (sure, describe_proof(line.proof))))
