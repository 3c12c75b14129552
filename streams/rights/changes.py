"""Who gave the command that a version answers, and each of its changes as a line."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from schemas import Change, SkillDiff

COMMAND = "command by "
"""How a diff names who gave the command that it answers."""
_SIGNS = {
    "discovered": "+",
    "reinforced": "↑",
    "weakened": "↓",
    "removed": "-",
    "evicted": "-",
    "pinned": "*",
    "unpinned": "*",
    "added": "+",
    "reworded": "~",
    "set": "=",
    "restored": "<",
    "forgotten": "x",
    "shifted": "≠",
    "faded": "↓",
    "overtaken": "↓",
}


def actor_of(diff: "SkillDiff") -> str | None:
    """Whose command a version answers; None for one that was learned."""
    by = diff.reasoned_by.reasoner
    return by.removeprefix(COMMAND) if not diff.is_contrast and by.startswith(COMMAND) else None


def shift_phrase(diff: "SkillDiff") -> str:
    """Word a change of taste by its certainty: a person states it, choices only suggest it."""
    is_stated = diff.heard is not None and diff.heard.what == "correction"
    return "has changed" if is_stated else "may have changed"


def change_of(change: "Change") -> str:
    """One change as a line: what, from which tier to which."""
    line = f"{_SIGNS[change.kind.value]} {change.attribute_id}"
    if change.kind.value in ("pinned", "unpinned"):
        return f"{line} {change.kind.value}"
    if change.before is not None and change.after == change.before:
        return f"{line} {change.before}, {change.kind.value}"
    if change.after is None:
        return f"{line} {change.before}, {change.kind.value}"
    return f"{line} {'new' if change.before is None else change.before} → {change.after}"
