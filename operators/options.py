"""Options that settings name; imports nothing, so settings stay light."""

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
    """The rule of a choice: counts, or tiers (paper 2.5)."""

    COUNTS = "counts"
    INCREMENTAL = "incremental"
