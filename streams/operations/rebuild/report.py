"""What a rebuild finds, in words and numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import orjson

EXAMPLES = 10


class Finding(StrEnum):
    """What a comparison or the log itself shows; the values are words for people."""

    EQUAL = "equal"
    AHEAD = "one diff ahead of the log"
    DIFFERS = "differs"
    MISSING = "missing on the topic"
    EXTRA = "not in the log"
    SLIM_AHEAD = "slim skill ahead of the log"
    GAP = "gap in the log"
    CONFLICT = "two diffs of one version"
    UNREADABLE = "unreadable record"

    @property
    def is_fine(self) -> bool:
        """Whether there is nothing to mend. A worker sends the diff that is ahead when it starts again."""
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
    """What a rebuild has found.

    Attributes:
        diffs: records of the log that were read, repeated ones included.
        skills: how many were folded.
        counts: how many cases of each finding there are.
        examples: at most ten of each but `equal`.
        written: records that were put on the compacted topics.
    """

    diffs: int = 0
    skills: int = 0
    counts: dict[Finding, int] = field(default_factory=lambda: dict.fromkeys(Finding, 0))
    examples: list[Example] = field(default_factory=list)
    written: int = 0

    @property
    def is_fine(self) -> bool:
        """Whether the log and the topics say the same."""
        return all(finding.is_fine or not count for finding, count in self.counts.items())

    def note(self, finding: Finding, key: bytes, detail: str = "") -> None:
        """Count a case, and keep it while there are few of its kind."""
        self.counts[finding] += 1
        if finding is not Finding.EQUAL and self.counts[finding] <= EXAMPLES:
            self.examples.append(Example(finding, *names_in(key), detail))


def names_in(key: bytes) -> tuple[str, str]:
    """User and domain of a compound key; of another key what it says."""
    try:
        names: Sequence[Any] = orjson.loads(key)
        user, domain = names
    except (ValueError, TypeError):
        return key.decode(errors="replace"), ""
    return str(user), str(domain)
