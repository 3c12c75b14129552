"""Checks of the values that a card may keep, and of the lines that a prompt may show."""

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
# Longer free values read like sentences, which could instruct a model.
MAX_PLAIN_WORDS: Final = 7
# Free words are often unknown; few plain ones are harmless.
_PLAIN: Final = frozenset({Rejection.UNKNOWN, Rejection.LONG})
_WORD: Final = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*\.?|\d{1,4}", re.UNICODE)


def clean_value(text: str) -> str:
    """Return a value on one line; empty if it is unreadable or too long."""
    shown = " ".join(visible(text).split())
    return shown if len(shown) <= MAX_VALUE and normalise(shown) else ""


def clean_dimension(name: str) -> str:
    """Return a dimension, or `FREE` for an invalid name."""
    return name if 0 < len(name) <= _MAX_DIMENSION and name.isprintable() else FREE


def reject_reason(dimension: str, value: str, words: str, privacy: Privacy) -> str | None:
    """Return the reason not to keep a value, such as a kind of personal data.

    A value is rejected too if it repeats personal data from the `words` that it was found in. The exceptions of single
    domains do not apply, because a card is read in all domains.
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
    """Return a quotation, or an empty text if any of it is private."""
    shown = " ".join(visible(words).split())[:MAX_WORDS].rstrip()
    if privacy.routine_kind(shown) is not None:
        return ""
    return shown if privacy.strict.redact_about_person(shown, "", MAX_WORDS).text == shown else ""


def is_safe_for_prompt(line: CardLine, gate: OutputGate) -> bool:
    """Return True if a line may enter a prompt.

    It passes the gate for skill lines, or it is a few plain words that no order needs.
    """
    rejection = gate.rejection(line.dimension, line.value)
    if rejection is None or line.dimension != FREE:
        return rejection is None
    words = line.value.split()
    return rejection in _PLAIN and len(words) <= MAX_PLAIN_WORDS and all(_WORD.fullmatch(word) for word in words)
