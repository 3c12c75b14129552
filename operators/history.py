"""A skill as it was: versions by folding the log up to them."""

from collections.abc import Sequence

from operators.merge import fold, start
from schemas import PolicySkill, SkillDiff


def at_version(diffs: Sequence[SkillDiff], version: int) -> PolicySkill | None:
    """The skill at a version; None if the log has no such version. Version 0 is the seed.

    Args:
        diffs: all diffs of one user and domain, in order.
        version: which one.
    """
    if not diffs:
        return None
    first = diffs[0]
    if version == 0:
        return start(first.user_id, first.domain, first.seed or (), first)
    upto = [diff for diff in diffs if diff.version <= version]
    if not upto or upto[-1].version != version:
        return None
    return fold(upto)[first.user_id, first.domain]
