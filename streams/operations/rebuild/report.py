"""The report of a rebuild, in words and numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import orjson

EXAMPLES = 10


class Finding(StrEnum):
    """A kind of finding, of a comparison or in the log itself; the values are for people."""

    EQUAL = "equal"
    AHEAD = "one diff ahead of the log"
    DIFFERS = "differs"
    MISSING = "missing on the topic"
    EXTRA = "not in the log"
    SLIM_AHEAD = "slim skill ahead of the log"
    SLIM_FORGED = "slim skill not as it was sealed"
    SLIM_UNSEALED = "slim skill without a seal"
    FORGED = "log not as it was sealed"
    GAP = "gap in the log"
    CONFLICT = "two diffs of one version"
    UNREADABLE = "unreadable record"

    @property
    def is_fine(self) -> bool:
        """Whether there is nothing to repair. A worker sends the missing diff when it starts again."""
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
    """The result of a rebuild.

    Attributes:
        diffs: records of the log that were read, repeated ones included.
        skills: the number of folded skills.
        counts: the number of cases of each finding.
        examples: at most ten of each finding except `equal`.
        written: records written to the compacted topics.
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
        """Whether the log and the topics agree."""
        return all(finding.is_fine or not count for finding, count in self.counts.items())

    def note(self, finding: Finding, key: bytes, detail: str = "") -> None:
        """Counts a case, and keeps the first ones of its kind."""
        self.counts[finding] += 1
        if finding is not Finding.EQUAL and self.counts[finding] <= EXAMPLES:
            self.examples.append(Example(finding, *names_in(key), detail))


def names_in(key: bytes) -> tuple[str, str]:
    """The user and domain of a compound key; any other key as text."""
    try:
        names: Sequence[Any] = orjson.loads(key)
        user, domain = names
    except (ValueError, TypeError):
        return key.decode(errors="replace"), ""
    return str(user), str(domain)
