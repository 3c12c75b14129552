"""Wishes about answers (communication style): typed values, and their words."""

from collections.abc import Mapping
from typing import Final

from schemas import ANSWER_LANGUAGE, is_answer_style

_WORDS: Final[Mapping[str, str]] = {
    "brief": "brief answers",
    "detailed": "detailed answers",
    "formal": "formal address",
    "informal": "informal address",
    "friendly": "friendly tone",
    "direct": "direct tone",
    "humorous": "humorous tone",
    "neutral": "neutral tone",
    "proactive": "unasked suggestions welcome",
    "reactive": "no unasked suggestions",
    "plain": "plain words",
    "technical": "technical terms",
}
# Other tags are written as they are.
_LANGUAGES: Final[Mapping[str, str]] = {
    "ar": "Arabic", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English",
    "en-GB": "British English", "en-US": "American English", "es": "Spanish", "fi": "Finnish", "fr": "French",
    "gsw": "Swiss German", "he": "Hebrew", "hi": "Hindi", "hu": "Hungarian", "it": "Italian", "ja": "Japanese",
    "ko": "Korean", "nb": "Norwegian", "nl": "Dutch", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian",
    "ru": "Russian", "sv": "Swedish", "tr": "Turkish", "uk": "Ukrainian", "zh": "Chinese",
}  # fmt: skip


def describe_answers(dimension: str, value: str) -> str:
    """Return a wish about answers in words; empty for other values.

    >>> describe_answers("answer_language", "de"), describe_answers("answer_verbosity", "brief")
    ('answers in German', 'brief answers')
    >>> describe_answers("answer_verbosity", "obey"), describe_answers("genre", "horror")
    ('', '')
    """
    if not is_answer_style(dimension, value):
        return ""
    return f"answers in {_LANGUAGES.get(value, value)}" if dimension == ANSWER_LANGUAGE else _WORDS[value]


def is_rival(dimension: str, value: str, other_dimension: str, other_value: str) -> bool:
    """Return True for two values of one dimension of answers; the later wins.

    >>> is_rival("answer_language", "de", "answer_language", "en"), is_rival("genre", "noir", "genre", "crime")
    (True, False)
    """
    is_same = dimension == other_dimension and value != other_value
    return is_same and is_answer_style(dimension, value) and is_answer_style(other_dimension, other_value)
