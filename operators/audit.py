"""Audits a skill's log: its seals, the skill that it folds to, and copies of it."""

from collections.abc import Mapping, Sequence

import orjson

from operators.chain import breaks
from operators.merge import OutOfOrder, merge
from schemas import PolicySkill, SkillDiff, encode


def audit(diffs: Sequence[SkillDiff], skill: PolicySkill | None, key: bytes = b"") -> list[str]:
    """The faults of one skill's log, in words: broken seals, and a skill that differs from its record.

    Args:
        diffs: the newest record of each version, by version. There may be newer ones than the skill knows.
        skill: the record on the topic of skills; None if there is none.
        key: the secret that versions were sealed with.
    """
    found = _broken(diffs, key)
    newest = diffs[-1].version if diffs else 0
    if skill is None:
        return [*found, f"the log has {newest} versions, and the topic of skills nothing"] if diffs else found
    if newest < skill.version:
        return [*found, f"the log ends at version {newest}, and the skill is at {skill.version}"]
    return found + _folds(diffs, skill)


def copy_differs(versions: Mapping[int, bytes], version: int, copy: bytes) -> bool:
    """Whether a copy of a version differs from the log.

    A copy from before a rewrite of the log that removed a line is outdated, not edited.

    Args:
        versions: the log's records by version.
        version: which one the copy is of.
        copy: the copy.
    """
    record = versions.get(version)
    if record is None or record == copy:
        return record is None
    return _rewritten(copy) >= _rewritten(record)


def _rewritten(record: bytes) -> int:
    try:
        return int(orjson.loads(record).get("rewritten", 0))
    except (ValueError, TypeError, AttributeError):
        return 0


def _broken(diffs: Sequence[SkillDiff], key: bytes) -> list[str]:
    """The breaks of the chain; consecutive versions with the same reason are reported once."""
    runs: list[tuple[int, int, str]] = []
    for each in breaks(diffs, key):
        if runs and runs[-1][1] == each.version - 1 and runs[-1][2] == each.why:
            runs[-1] = (runs[-1][0], each.version, each.why)
        else:
            runs.append((each.version, each.version, each.why))
    return [f"version {a}: {why}" if a == b else f"versions {a} to {b}: {why}" for a, b, why in runs]


def _folds(diffs: Sequence[SkillDiff], skill: PolicySkill) -> list[str]:
    folded: PolicySkill | None = None
    try:
        for diff in diffs:
            if diff.version <= skill.version:
                folded = merge(folded, diff)
    except OutOfOrder as error:
        return [f"the log does not fold: {error}"]
    if folded is None or encode(folded) != encode(skill):
        return [f"the log folds to another skill than the topic of skills has at version {skill.version}"]
    return []
