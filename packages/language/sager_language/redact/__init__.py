"""Personal data in text: found, and replaced by placeholders. Pure, bounded in time, without a model."""

from sager_language.redact.persons import USERS, given_names
from sager_language.redact.redaction import KINDS, Redacted, redact, redact_turn, refusal, version
from sager_language.redact.sensitive import Category
from sager_language.redact.text import words_of
from sager_language.redact.wishes import Wish, wish_of

__all__ = [
    "KINDS",
    "USERS",
    "Category",
    "Redacted",
    "Wish",
    "given_names",
    "redact",
    "redact_turn",
    "refusal",
    "version",
    "wish_of",
    "words_of",
]
