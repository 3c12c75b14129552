"""The policy arm of a ranking, and the gain of the chosen item's place."""

from enum import StrEnum
from math import log2

from schemas import Injected


class Arm(StrEnum):
    """The arm of a ranking that names none."""

    NO_SKILL = "no-skill"
    PRIOR = "prior"
    """A skill that no choice has changed yet."""
    EVOLVED = "evolved"
    """A skill that choices have changed."""


def arm_of(injected: Injected) -> str:
    """Return the arm that a ranking names, or the one that its injected skill implies.

    >>> arm_of(Injected()), arm_of(Injected(skill_version=3, slim_skill="likes: noir")), arm_of(Injected(arm="b"))
    ('no-skill', 'evolved', 'b')
    """
    if injected.arm is not None:
        return injected.arm
    if not injected.slim_skill:
        return Arm.NO_SKILL.value
    return (Arm.EVOLVED if injected.skill_version else Arm.PRIOR).value


def gain(rank: int, at: int) -> float:
    """Return NDCG@`at` of one choice, the only relevant item, shown at place `rank` (paper 3.1).

    >>> gain(1, at=5), gain(3, at=5), gain(6, at=5)
    (1.0, 0.5, 0.0)
    """
    return 1 / log2(rank + 1) if rank <= at else 0.0
