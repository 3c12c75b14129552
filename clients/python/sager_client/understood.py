"""The worker's answer to a person's own words."""

import json
from dataclasses import dataclass
from typing import Self

from .schemas import Correction, Said, SkillDiff, Statement


@dataclass(frozen=True, slots=True)
class Understood:
    """The answer to a correction.

    Attributes:
        correction: the event that was sent.
        understood: False if the correction changed nothing; the person's log has it all the same.
        statements: the statements that it added to the skill.
        why: the reason code where nothing was understood, such as `unknown-name`; else empty.
        explanation: for the person: the reason, examples that would be understood, the effect of words that state no
            preference, and private data that was left out.
        not_kept: kinds of private data that were left out, such as `health`.
        version: the skill's version afterwards.
    """

    correction: Correction
    understood: bool
    statements: tuple[Statement, ...]
    why: str
    explanation: str
    not_kept: tuple[str, ...]
    version: int

    @classmethod
    def of(cls, correction: Correction, diff: SkillDiff) -> Self:
        """Read the answer from the version that the correction made."""
        heard = diff.heard
        stated = (change.statement for change in diff.stated if change.kind is Said.STATED)
        return cls(
            correction,
            heard is None or heard.understood,
            tuple(statement for statement in stated if statement is not None),
            heard.why.value if heard is not None and heard.why is not None else "",
            "" if heard is None else heard.explanation,
            () if heard is None else heard.not_kept,
            diff.version,
        )


def user_of_diff(key: bytes) -> str:
    """The user in the key of a version; empty for another record's key."""
    try:
        parts = json.loads(key)
    except ValueError:
        return ""
    return str(parts[0]) if isinstance(parts, list) and parts else ""
