"""Preferences that people state in conversations, read by rules: English and German."""

from sager_language.preferences.authored_text import Span, own_words
from sager_language.preferences.finding import Effect, Extraction, Finding, SentenceSubject, subject_of, withdraws
from sager_language.preferences.reader import extract_preferences, warm
from sager_language.preferences.sentences import MAX_PIECE_CHARS, pieces

__all__ = [
    "MAX_PIECE_CHARS",
    "Effect",
    "Extraction",
    "Finding",
    "SentenceSubject",
    "Span",
    "extract_preferences",
    "own_words",
    "pieces",
    "subject_of",
    "warm",
    "withdraws",
]
