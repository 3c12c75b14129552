"""Fold a skill from its log, compare it with the topic's record, and report the findings."""

from array import array
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import blake2b
from typing import Any

import orjson

from operators.chain import is_sealed
from operators.merge import OutOfOrder, merge
from schemas import BadRecord, PolicySkill, SkillDiff, decode, encode

EXAMPLES = 10


class Finding(StrEnum):
    """A kind of finding, of a comparison or in the log itself; docs/operating.md explains them."""

    EQUAL = "equal"
    AHEAD = "ahead"
    DIFFERS = "differs"
    MISSING = "missing"
    EXTRA = "extra"
    SLIM_AHEAD = "slim-ahead"
    SLIM_FORGED = "slim-forged"
    FORGED = "forged"
    GAP = "gap"
    CONFLICT = "conflict"
    UNREADABLE = "unreadable"

    @property
    def is_fine(self) -> bool:
        """True if there is nothing to repair: a worker sends a missing diff when it starts."""
        return self in (Finding.EQUAL, Finding.AHEAD)


@dataclass(frozen=True)
class Example:
    """One case of a finding."""

    finding: Finding
    user_id: str
    domain: str
    detail: str


@dataclass
class Report:
    """The result of a rebuild, as counts.

    Attributes:
        diffs: records of the log that were read, repeated ones included.
        examples: at most ten of each finding except `equal`.
        rotated: items that lost takers under pseudonyms of another secret.
    """

    diffs: int = 0
    skills: int = 0
    counts: dict[Finding, int] = field(default_factory=lambda: dict.fromkeys(Finding, 0))
    examples: list[Example] = field(default_factory=list)
    written: int = 0
    rotated: int = 0

    @property
    def is_fine(self) -> bool:
        """True if the log and the topics agree."""
        return all(finding.is_fine or not count for finding, count in self.counts.items())

    def note(self, finding: Finding, key: bytes, detail: str = "") -> None:
        """Count a case, and keep the first ones of its kind."""
        self.counts[finding] += 1
        if finding is not Finding.EQUAL and self.counts[finding] <= EXAMPLES:
            try:
                user, domain = map(str, orjson.loads(key))
            except (ValueError, TypeError):
                user, domain = key.decode(errors="replace"), ""
            self.examples.append(Example(finding, user, domain, detail))


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
                self.forged = self.forged or f"version {diff.version}"
        try:
            self.skill = merge(self.skill, diff)
            self.seen.append(digest)
        except OutOfOrder:
            self.gap = f"version {diff.version} follows {len(self.seen)}"
        return True


def compared(key: bytes, skill: PolicySkill | None, held: bytes | None) -> tuple[Finding, bytes, str]:
    """Compare the topic's record of this key with the fold of the log."""
    version = version_in(held or b"")
    if held is None:
        return Finding.MISSING, key, f"the log is at version {skill.version if skill else 0}"
    if skill is not None and held == encode(skill):
        return Finding.EQUAL, key, ""
    try:  # a worker that ended between writing a skill and sending its newest diff has kept the diff in the skill
        newest = decode(PolicySkill, held)
        if newest.last_diff is not None and held == encode(merge(skill, newest.last_diff)):
            return Finding.AHEAD, key, f"version {version}, a worker sends its diff when it starts"
    except (BadRecord, OutOfOrder):
        pass
    if skill is None:
        return Finding.EXTRA, key, f"version {version}"
    return Finding.DIFFERS, key, f"version {version}, the log is at {skill.version}"


def version_in(value: bytes) -> int:
    """Return the version in an encoded skill or slim skill, or 0."""
    try:
        record: Any = orjson.loads(value)
        return int(record.get("version", record.get("skill_version", 0)))
    except (ValueError, TypeError, AttributeError, OverflowError):
        return 0
