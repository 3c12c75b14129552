"""Compares the fold of the log with a record of the topic `skills`."""

from typing import Any

import orjson

from operators.merge import OutOfOrder, merge
from schemas import BadRecord, PolicySkill, decode, encode
from streams.operations.rebuild.report import Finding


def compared(key: bytes, skill: PolicySkill | None, held: bytes | None) -> tuple[Finding, bytes, str]:
    """Compares the topic's record of this key with the fold of the log."""
    version = version_in(held or b"")
    if held is None:
        return Finding.MISSING, key, f"the log is at version {skill.version if skill else 0}"
    if skill is not None and held == encode(skill):
        return Finding.EQUAL, key, ""
    if _is_ahead(skill, held):
        return Finding.AHEAD, key, f"version {version}, a worker sends its diff when it starts"
    if skill is None:
        return Finding.EXTRA, key, f"version {version}"
    detail = "different contents" if version == skill.version else f"version {version}, the log is at {skill.version}"
    return Finding.DIFFERS, key, detail


def _is_ahead(skill: PolicySkill | None, held: bytes) -> bool:
    """Whether a worker ended between writing this skill and sending its newest diff, which the skill keeps."""
    try:
        newest = decode(PolicySkill, held)
        return newest.last_diff is not None and held == encode(merge(skill, newest.last_diff))
    except (BadRecord, OutOfOrder):
        return False


def version_in(value: bytes) -> int:
    """The version in an encoded skill or slim skill; 0 if there is none."""
    try:
        record: Any = orjson.loads(value)
        return int(record.get("version", record.get("skill_version", 0)))
    except (ValueError, TypeError, AttributeError, OverflowError):
        return 0
