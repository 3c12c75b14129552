"""What came of a ranking: which policy arm made it, and what the place of the chosen item is worth."""

from enum import StrEnum
from math import log2

from schemas import Injected


class Arm(StrEnum):
    """The arm of a ranking that names none: whether a skill was used, and how it was made."""

    NO_SKILL = "no-skill"
    """No word of a skill was injected."""
    PRIOR = "prior"
    """A skill that no choice has changed yet."""
    EVOLVED = "evolved"
    """A skill that choices have changed."""


def arm_of(injected: Injected) -> str:
    """The policy arm of a ranking: the one that it names, or the one that what was injected tells.

    >>> arm_of(Injected()), arm_of(Injected(skill_version=3, slim_skill="likes: noir")), arm_of(Injected(arm="b"))
    ('no-skill', 'evolved', 'b')
    """
    if injected.arm is not None:
        return injected.arm
    if not injected.slim_skill:
        return Arm.NO_SKILL.value
    return (Arm.EVOLVED if injected.skill_version else Arm.PRIOR).value


def gain(rank: int, at: int) -> float:
    """NDCG@`at` of one choice, the only relevant item, which was shown at place `rank` (paper 3.1).

    >>> gain(1, at=5), gain(3, at=5), gain(6, at=5)
    (1.0, 0.5, 0.0)
    """
    return 1 / log2(rank + 1) if rank <= at else 0.0
