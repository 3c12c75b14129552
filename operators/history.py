"""A skill's past: earlier versions, and the history of a line."""

from collections.abc import Sequence
from dataclasses import dataclass

from operators.learning.evidence import is_counted
from operators.learning.fold import fold, initial_skill, merge
from schemas import Attribute, Judgement, PolicySkill, SkillChange, SkillChangeKind, SkillDiff, StatementChange


def at_version(diffs: Sequence[SkillDiff], version: int) -> PolicySkill | None:
    """Fold the log up to a version; 0: the seed."""
    if not diffs:
        return None
    first = diffs[0]
    if version == 0:
        return initial_skill(first.user_id, first.domain, first.seed or (), first)
    upto = [diff for diff in diffs if diff.version <= version]
    if not upto or upto[-1].version != version:
        return None
    return fold(upto)[first.user_id, first.domain]


def counted_lines(diffs: Sequence[SkillDiff]) -> dict[tuple[int, str], Attribute]:
    """Return the lines with counts after each version, by version and id."""
    skill, found = None, {}
    for diff in diffs:
        skill = merge(skill, diff)
        found.update({(diff.version, line.attribute_id): line for line in skill.attributes if is_counted(line)})
    return found


@dataclass(frozen=True)
class LineEvent:
    """One event of a line's history, maybe under an older id.

    `change` is None for a line of the seed, `seeded`, and for a model's verdict that changed nothing.
    """

    diff: SkillDiff
    attribute_id: str
    change: SkillChange | None
    seeded: Attribute | None = None
    judged: Judgement | None = None


def line_steps(diffs: Sequence[SkillDiff], attribute_id: str) -> list[LineEvent]:
    """Return a line's history, oldest first, across rewordings."""
    found: list[LineEvent] = []
    name = attribute_id
    for diff in reversed(diffs):
        of_line = [change for change in diff.changes if change.attribute_id == name]
        judged = next((judgement for judgement in diff.judged if judgement.attribute_id == name), None)
        found += [LineEvent(diff, name, change, judged=judged) for change in reversed(of_line)]
        if judged is not None and not of_line:
            found.append(LineEvent(diff, name, None, judged=judged))
        found += [LineEvent(diff, name, None, line) for line in diff.seed or () if line.attribute_id == name]
        if any(change.kind is SkillChangeKind.ADDED for change in of_line):  # it may be another line's new words
            before = (c.attribute_id for c in diff.changes if c.kind is SkillChangeKind.REWORDED and c.after is None)
            name = next(before, name)
    return found[::-1]


def statement_steps(diffs: Sequence[SkillDiff], statement_id: str) -> list[tuple[SkillDiff, StatementChange]]:
    """Return the history of one statement, oldest first."""
    return [(diff, change) for diff in diffs for change in diff.stated if change.statement_id == statement_id]
