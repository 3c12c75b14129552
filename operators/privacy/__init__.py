"""Privacy: what must not become a line of a skill, a part of a prompt or a row. Pure, bounded, without any model."""

from operators.options import Category
from operators.privacy.filter import DEFAULT, KINDS, OFF, PLACES, TAKEN_OUT, UNREADABLE, Privacy
from operators.privacy.redaction import Found, Redacted
from operators.privacy.wishes import wish_of

__all__ = [
    "DEFAULT",
    "KINDS",
    "OFF",
    "PLACES",
    "TAKEN_OUT",
    "UNREADABLE",
    "Category",
    "Found",
    "Privacy",
    "Redacted",
    "wish_of",
]
