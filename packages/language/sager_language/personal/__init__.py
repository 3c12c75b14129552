"""Personal data in text: found by rules, and replaced by placeholders."""

from sager_language.personal.opt_out import OptOut, find_opt_out
from sager_language.personal.persons import USERS, given_names
from sager_language.personal.redaction import KINDS, PLACEHOLDER, Redacted, redact, redact_turn, refusal, version
from sager_language.personal.routines import routine_reveals
from sager_language.personal.sensitive import Category
from sager_language.personal.text import words_of

__all__ = [
    "KINDS",
    "PLACEHOLDER",
    "USERS",
    "Category",
    "OptOut",
    "Redacted",
    "find_opt_out",
    "given_names",
    "redact",
    "redact_turn",
    "refusal",
    "routine_reveals",
    "version",
    "words_of",
]
