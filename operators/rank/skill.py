"""Which part of a skill has a say in a ranking."""

from enum import StrEnum


class RankSkill(StrEnum):
    """Which lines of a skill rank: all medium and high ones, those of the slim skill, none."""

    FULL = "full"
    SLIM = "slim"
    NONE = "none"
