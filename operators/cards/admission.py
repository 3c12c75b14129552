"""Checks which values may stand on a card, and which lines may enter a prompt."""

import re
from typing import Final

from operators.attributes import normalise
from operators.language.output_policy import OutputGate, Rejection
from operators.language.privacy import Privacy
from operators.prompts import visible
from schemas.cards import FREE, CardLine
from schemas.statements import MAX_WORDS

MAX_VALUE: Final = 100
UNREADABLE: Final = "unreadable"
_MAX_DIMENSION: Final = 40
# The words of a free value that may enter a prompt.
MAX_PLAIN_WORDS: Final = 7
# Reasons that do not hold back free words, if these are few and plain.
_PLAIN: Final = frozenset({Rejection.UNKNOWN, Rejection.LONG})
_WORD: Final = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*\.?|\d{1,4}", re.UNICODE)


def clean_value(text: str) -> str:
    """Return a value on one line, without invisible characters; empty if it has no word or is too long."""
    shown = " ".join(visible(text).split())
    return shown if len(shown) <= MAX_VALUE and normalise(shown) else ""


def clean_dimension(name: str) -> str:
    """Return a dimension, or that of free words for a name that cannot be one."""
    return name if 0 < len(name) <= _MAX_DIMENSION and name.isprintable() else FREE


def reject_reason(dimension: str, value: str, words: str, privacy: Privacy) -> str | None:
    """Return the reason not to keep a value, such as a kind of personal data; None if it may be kept.

    A value is refused too if it repeats personal data in the `words` that it comes from. Exceptions of single domains
    do not count: a card is read in all of them.
    """
    if not value:
        return UNREADABLE
    strict = privacy.strict
    if (kind := strict.refuses("", dimension, value)) is not None:
        return kind
    if dimension == FREE:
        found = strict.redact_about_person(value, "", MAX_VALUE).found
        if found:
            return next(iter(found))
        if (kind := privacy.routine_kind(value)) is not None:
            return kind
    redacted = strict.redact(words, "")
    if redacted.found and normalise(value) in normalise(words) and normalise(value) not in normalise(redacted.text):
        return next(iter(redacted.found))
    return None


def safe_quotation(words: str, privacy: Privacy) -> str:
    """Return a quotation to the letter, or nothing if any of it is private."""
    shown = " ".join(visible(words).split())[:MAX_WORDS].rstrip()
    if privacy.routine_kind(shown) is not None:
        return ""
    return shown if privacy.strict.redact_about_person(shown, "", MAX_WORDS).text == shown else ""


def is_safe_for_prompt(line: CardLine, gate: OutputGate) -> bool:
    """Return True if a line may stand in a prompt.

    It passes the gate of skills' lines, or it is at most seven plain words without one that orders need.
    """
    held = gate.rejection(line.dimension, line.value)
    if held is None or line.dimension != FREE:
        return held is None
    words = line.value.split()
    return held in _PLAIN and len(words) <= MAX_PLAIN_WORDS and all(_WORD.fullmatch(word) for word in words)
