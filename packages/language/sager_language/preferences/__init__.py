"""Preferences that people state in conversations, read by rules: English and German."""

from sager_language.preferences.finding import Effect, Extraction, Finding, Speaks, speaks, withdraws
from sager_language.preferences.own import Span, own_words
from sager_language.preferences.reader import extract_preferences, warm
from sager_language.preferences.sentences import MAX_PIECE_CHARS, pieces

__all__ = [
    "MAX_PIECE_CHARS",
    "Effect",
    "Extraction",
    "Finding",
    "Span",
    "Speaks",
    "extract_preferences",
    "own_words",
    "pieces",
    "speaks",
    "warm",
    "withdraws",
]
