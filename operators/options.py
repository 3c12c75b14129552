"""Options of operators that settings name. It imports nothing, so that settings load no operator."""

from enum import StrEnum


class Category(StrEnum):
    """A sensitive category that a domain may be allowed to learn."""

    HEALTH = "health"
    RELIGION = "religion"
    SEXUALITY = "sexuality"
    POLITICS = "politics"
    # Ethnic origin, and papers to stay.
    ORIGIN = "origin"
    # Convictions and offences.
    RECORD = "record"
    DEBTS = "debts"
    # A postal code or a square of some kilometres, never a street.
    LOCATION = "location"


class EvolveMode(StrEnum):
    """How a choice changes a skill: by counts or, to compare, by one tier a choice as in the paper (2.5)."""

    COUNTS = "counts"
    INCREMENTAL = "incremental"


class RankSkill(StrEnum):
    """The lines of a skill that rank: all medium and high ones, those of the slim skill, none."""

    FULL = "full"
    SLIM = "slim"
    NONE = "none"
