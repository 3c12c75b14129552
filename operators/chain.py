"""The chain of seals in a log of a skill or a card.

A seal is an HMAC-SHA256 over the seal before and the diff's canonical JSON. Without a secret key, seals detect only
edits that were not carried on to the newest version.
"""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

import orjson

from operators.seals import derived_key
from schemas import CardDiff, PolicySkill, SkillDiff

DiffT = TypeVar("DiffT", SkillDiff, CardDiff)
Diff = SkillDiff | CardDiff


class Kind(StrEnum):
    """The kinds of findings of a verification: stable names, which programs may go by (docs/rights.md)."""

    UNREADABLE = "unreadable"
    """A record that cannot be read."""
    MISPLACED = "misplaced"
    """A record under another's key, or on another user's partition."""
    DISGUISED = "disguised"
    """A record with a field twice, or with an unknown one."""
    LOG_GAP = "log-gap"
    LOG_UNSEALED = "log-unsealed"
    LOG_FORGED = "log-forged"
    LOG_DOES_NOT_FOLD = "log-does-not-fold"
    LOG_CUT = "log-cut"
    SKILL_MISSING = "skill-missing"
    SKILL_DIFFERS = "skill-differs"
    CARD_MISSING = "card-missing"
    CARD_DIFFERS = "card-differs"
    SLIM_UNSEALED = "slim-unsealed"
    SLIM_FORGED = "slim-forged"
    SLIM_AHEAD = "slim-ahead"
    SLIM_REPLAYED = "slim-replayed"
    SLIM_WITHOUT_LOG = "slim-without-log"
    RECEIPT_UNSEALED = "receipt-unsealed"
    RECEIPT_FORGED = "receipt-forged"
    RECEIPT_MISSING = "receipt-missing"
    RETURNED = "returned"
    """An erased record that is there again."""
    UNKNOWN = "unknown"
    """The user asked for has neither a log nor a receipt."""


@dataclass(frozen=True)
class Break:
    """A version at which a chain is broken."""

    version: int
    why: str
    kind: Kind


def seal(diff: DiffT, before: str | None, key: bytes = b"") -> DiffT:
    """Seal a diff."""
    return diff.model_copy(update={"chain": _seal(diff, before, key)})


def unsealed(skill: PolicySkill) -> PolicySkill:
    """Remove the seals of a skill, to compare it with one without."""
    last = skill.last_diff
    bare = last.model_copy(update={"chain": None}) if last is not None else None
    return skill.model_copy(update={"chain": None, "last_diff": bare})


def seal_all(diffs: Sequence[DiffT], key: bytes = b"") -> list[DiffT]:
    """Seal a rewritten log anew."""
    sealed: list[DiffT] = []
    for diff in diffs:
        sealed.append(seal(diff, sealed[-1].chain if sealed else None, key))
    return sealed


def breaks(diffs: Sequence[Diff], key: bytes = b"") -> list[Break]:
    """Return the missing, unsealed and edited versions of one log."""
    found: list[Break] = []
    before: Diff | None = None
    for diff in diffs:
        follows = before.version if before is not None else 0
        base = diff.base_version if isinstance(diff, SkillDiff) else diff.version - 1
        if base != follows or diff.version != follows + 1:
            why = f"it follows version {base}, before it is {follows}"
            found.append(Break(diff.version, why, Kind.LOG_GAP))
        if diff.chain is None:
            found.append(Break(diff.version, "it is not sealed", Kind.LOG_UNSEALED))
        elif not is_sealed(diff, before.chain if before else None, key):
            why = "it is not what was sealed, or was sealed with another key"
            found.append(Break(diff.version, why, Kind.LOG_FORGED))
        before = diff
    return found


def is_sealed(diff: Diff, before: str | None, key: bytes = b"") -> bool:
    """Return True if a version has the right seal."""
    return diff.chain is not None and hmac.compare_digest(diff.chain, _seal(diff, before, key))


def _seal(diff: Diff, before: str | None, key: bytes) -> str:
    if isinstance(diff, CardDiff):
        key = derived_key(key, diff.TOPIC)  # the seal of a skill's version is never one of a card's
    # Without defaults: a field added by a later release does not break existing seals.
    told = orjson.dumps(
        diff.model_dump(mode="json", exclude={"chain"}, exclude_defaults=True), option=orjson.OPT_SORT_KEYS
    )
    return hmac.digest(key, f"{before or ''}\n".encode() + told, "sha256").hex()
