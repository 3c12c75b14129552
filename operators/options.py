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
    """What moves a line: evidence, in counts; or single verdicts, one tier each (paper 2.5)."""

    EVIDENCE = "evidence"
    PAPER = "paper"
