"""What of the operators is set by name. It imports nothing, so that settings are read without loading any operator."""

from enum import StrEnum


class Category(StrEnum):
    """What a domain may be allowed to learn."""

    HEALTH = "health"
    RELIGION = "religion"
    SEXUALITY = "sexuality"
    POLITICS = "politics"
    ORIGIN = "origin"
    """Ethnic origin, and papers to stay."""
    RECORD = "record"
    """Convictions and offences."""
    DEBTS = "debts"
    LOCATION = "location"
    """Where in a city somebody goes: a postal code, a square of some kilometres. Never a street."""


class EvolveMode(StrEnum):
    """How a choice changes a skill.

    By counts of what was taken and what was to be expected; or, for comparison, by one tier a choice as the paper has
    it (2.5).
    """

    COUNTS = "counts"
    INCREMENTAL = "incremental"


class RankSkill(StrEnum):
    """Which lines of a skill rank: all medium and high ones, those of the slim skill, none."""

    FULL = "full"
    SLIM = "slim"
    NONE = "none"
