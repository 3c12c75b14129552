"""Fold a skill from its log, compare it with the topic's record, and report what a rebuild does."""

from array import array
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import orjson

from operators.chain import is_sealed
from operators.merge import OutOfOrder, merge
from schemas import BadRecord, PolicySkill, SkillDiff, decode, encode

EXAMPLES = 20


@dataclass
class Report:
    """The result of a rebuild, as counts.

    Attributes:
        diffs: records of the log that were read, repeated ones included.
        different: records of skills and slim skills that are written, or would be.
        left_alone: findings that the log cannot repair; the first ones are in `examples`.
        rotated: items that lost takers under pseudonyms of another secret.
    """

    diffs: int = 0
    skills: int = 0
    different: int = 0
    left_alone: int = 0
    rotated: int = 0
    examples: list[dict[str, str]] = field(default_factory=list)

    @property
    def is_fine(self) -> bool:
        """True if the log and the topics agree."""
        return not self.different and not self.left_alone

    def leave(self, key: bytes, why: str) -> None:
        """Count a finding that the log cannot repair."""
        self.left_alone += 1
        if len(self.examples) < EXAMPLES:
            try:
                user, domain = map(str, orjson.loads(key))
            except (ValueError, TypeError):
                user, domain = key.decode(errors="replace"), ""
            self.examples.append({"user_id": user, "domain": domain, "left alone": why})


@dataclass
class Folded:
    """A skill being folded from its log.

    Attributes:
        seen: a digest per version: another diff of the same version is a conflict, an equal one a repeat.
        gap: where the log has a gap, unless later records close it.
        forged: a version that is not as it was sealed.
        bare: True if a version has no seal.
        rewritten, had: how often erasures have rewritten the log, and its versions before the last time.
    """

    skill: PolicySkill | None = None
    seen: "array[int]" = field(default_factory=lambda: array("Q"))
    gap: str = ""
    forged: str = ""
    bare: bool = False
    rewritten: int = 0
    had: int = 0

    @property
    def broken(self) -> str:
        """Why the skill cannot be determined; empty if it can."""
        rewriting = f"being rewritten by a worker, {len(self.seen)} of {self.had} versions so far"
        return self.forged or self.gap or (rewriting if len(self.seen) < self.had else "")

    def take(self, diff: SkillDiff, secret: bytes) -> bool:
        """Fold the next diff; return False for a second diff of a version, which is ignored."""
        if diff.rewritten > self.rewritten and diff.base_version == 0:
            self.had = max(self.had, len(self.seen))  # earlier versions no longer count
            self.skill, self.seen, self.rewritten = None, array("Q"), diff.rewritten
            self.gap, self.forged, self.bare = "", "", False
        if self.gap:
            return True
        digest = int.from_bytes(blake2b(encode(diff), digest_size=8).digest(), "big")
        if diff.version <= len(self.seen):
            return self.seen[diff.version - 1] == digest
        if diff.chain is None:
            self.bare = True
        elif diff.version == len(self.seen) + 1:
            before = self.skill.chain if self.skill else None
            if not is_sealed(diff, before, secret):
                self.forged = self.forged or f"version {diff.version} is not as it was sealed"
        try:
            self.skill = merge(self.skill, diff)
            self.seen.append(digest)
        except OutOfOrder:
            self.gap = f"a gap in the log: version {diff.version} follows {len(self.seen)}"
        return True


def is_ahead(skill: PolicySkill | None, held: bytes | None) -> bool:
    """Return True if the topic's record is one diff ahead of the log.

    A worker that ended between writing a skill and sending its newest diff has kept the diff in the skill, and sends it
    when it starts.
    """
    try:
        newest = decode(PolicySkill, held or b"")
        return newest.last_diff is not None and held == encode(merge(skill, newest.last_diff))
    except (BadRecord, OutOfOrder):
        return False


def version_in(value: bytes) -> int:
    """Return the version in an encoded skill or slim skill, or 0."""
    try:
        record: Any = orjson.loads(value)
        return int(record.get("version", record.get("skill_version", 0)))
    except (ValueError, TypeError, AttributeError, OverflowError):
        return 0
