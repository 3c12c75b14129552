"""Rules for personal data, words in prompts, corrections, and stated preferences.

Four functions, each pure, bounded in time and without a model::

    redact("Write to anna@example.org")          # personal data replaced by placeholders
    allow("film noir")                           # may these words enter a prompt?
    read_correction("no horror, please", ...)    # a person's wishes about the items on screen
    extract_preferences(turns)                   # preferences that a person states in a conversation
"""

from sager_language.corrections import Correction, read_correction
from sager_language.output import allow
from sager_language.personal import Redacted, redact
from sager_language.preferences import Extraction, Finding, extract_preferences

__all__ = [
    "Correction",
    "Extraction",
    "Finding",
    "Redacted",
    "allow",
    "extract_preferences",
    "read_correction",
    "redact",
]
