"""The chain of a skill's versions: each seal includes the seal before it, so that edits are detected.

A seal is an HMAC-SHA256 over the seal before and the diff's canonical JSON. With a secret key, access to the topics or
the files is not enough to make one; without a key, seals detect edits that were not carried on to the newest version.
"""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from operators.findings import Kind
from operators.mac import hmac_sha256
from schemas import PolicySkill, SkillDiff


@dataclass(frozen=True)
class Break:
    """A version at which a chain is broken.

    Attributes:
        version: the version whose diff does not follow from the one before it.
        why: the reason, in words.
        kind: `LOG_GAP`, `LOG_UNSEALED` or `LOG_FORGED`.
    """

    version: int
    why: str
    kind: Kind


def seal(diff: SkillDiff, before: str | None, key: bytes = b"") -> SkillDiff:
    """The diff with its seal.

    Args:
        diff: the next version; a seal on it is ignored.
        before: the seal of the version before; None for the first.
        key: the deployment's secret; empty for none.
    """
    return diff.model_copy(update={"chain": _seal(diff, before, key)})


def unsealed(skill: PolicySkill) -> PolicySkill:
    """The skill without seals, for comparison with one that was not sealed."""
    last = skill.last_diff
    bare = last.model_copy(update={"chain": None}) if last is not None else None
    return skill.model_copy(update={"chain": None, "last_diff": bare})


def breaks(diffs: Sequence[SkillDiff], key: bytes = b"") -> list[Break]:
    """The breaks in the log of one skill: versions that are missing, unsealed or changed since they were sealed.

    Args:
        diffs: the whole log of one skill, in the order of its versions.
        key: the key that they were sealed with.
    """
    found: list[Break] = []
    before: SkillDiff | None = None
    for diff in diffs:
        follows = before.version if before is not None else 0
        if diff.base_version != follows or diff.version != follows + 1:
            why = f"it follows version {diff.base_version}, before it is {follows}"
            found.append(Break(diff.version, why, Kind.LOG_GAP))
        if diff.chain is None:
            found.append(Break(diff.version, "it is not sealed", Kind.LOG_UNSEALED))
        elif not is_sealed(diff, before.chain if before else None, key):
            why = "it is not what was sealed, or was sealed with another key"
            found.append(Break(diff.version, why, Kind.LOG_FORGED))
        before = diff
    return found


def is_sealed(diff: SkillDiff, before: str | None, key: bytes = b"") -> bool:
    """Whether a version bears its seal.

    Args:
        diff: the version.
        before: the seal of the version before; None for the first.
        key: the key that it was sealed with.
    """
    return diff.chain is not None and hmac.compare_digest(diff.chain, _seal(diff, before, key))


def _seal(diff: SkillDiff, before: str | None, key: bytes) -> str:
    # Without defaults: a field added by a later release does not break existing seals.
    told = orjson.dumps(
        diff.model_dump(mode="json", exclude={"chain"}, exclude_defaults=True), option=orjson.OPT_SORT_KEYS
    )
    return hmac_sha256(key, f"{before or ''}\n".encode() + told).hex()
