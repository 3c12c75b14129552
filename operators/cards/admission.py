"""Values that may stand on a card, and lines that may enter a prompt."""

import re
from typing import Final

from operators.attributes import normalise
from operators.language.finding import Finding
from operators.privacy import Privacy
from operators.prompts import visible
from operators.vouch import Held, Vouching
from schemas.cards import FREE, CardLine
from schemas.statements import MAX_WORDS

MAX_VALUE: Final = 100
UNREADABLE: Final = "unreadable"
_MAX_DIMENSION: Final = 40
MOST_WORDS: Final = 7
"""Of a person's own words, a line that is let out has at most so many."""
_PLAIN: Final = frozenset({Held.UNKNOWN, Held.LONG})
"""Free words are seldom labels: those that nobody knows may pass if they are few, plain, and no part of an order."""
_WORD: Final = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*\.?|\d{1,4}", re.UNICODE)


def value_of(text: str) -> str:
    """A value on one line, without what nobody sees; empty if no word is in it or it is too long."""
    shown = " ".join(visible(text).split())
    return shown if len(shown) <= MAX_VALUE and normalise(shown) else ""


def dimension_of(name: str) -> str:
    """A dimension's name; that of free words for one that is none."""
    return name if 0 < len(name) <= _MAX_DIMENSION and name.isprintable() else FREE


def refused(dimension: str, value: str, words: str, privacy: Privacy) -> str | None:
    """Why something is not kept, as a kind that quotes nothing of it; None if it may be.

    Args:
        dimension: of what would stand on the card.
        value: what would stand there.
        words: of which it was understood. What they tell of a person and the value repeats is refused too.
        privacy: the deployment's filter; what it allows single domains does not count here.
    """
    strict = privacy.strict
    if (kind := strict.refuses("", dimension, value)) is not None:
        return kind
    if dimension == FREE:
        found = strict.redact_about_person(value, "", MAX_VALUE).found
        if found:
            return next(iter(found))
        if (kind := privacy.in_routine(value)) is not None:
            return kind
    told = strict.redact(words, "")
    if told.found and normalise(value) in normalise(words) and normalise(value) not in normalise(told.text):
        return next(iter(told.found))
    return None


def refusal_of(finding: Finding, privacy: Privacy) -> str | None:
    """Why a finding is not kept; None if it may be."""
    value = value_of(finding.value)
    return refused(dimension_of(finding.dimension), value, finding.words, privacy) if value else UNREADABLE


def quoted(words: str, privacy: Privacy) -> str:
    """A person's words as a card keeps them: to the letter, or, where anything in them may not be kept, not at all."""
    shown = " ".join(visible(words).split())[:MAX_WORDS].rstrip()
    if privacy.in_routine(shown) is not None:
        return ""
    return shown if privacy.strict.redact_about_person(shown, "", MAX_WORDS).text == shown else ""


def is_let_out(line: CardLine, vouching: Vouching) -> bool:
    """Whether a line may stand in a prompt.

    What a vocabulary names passes the gate that lines of skills pass. Free words pass it too, or are at most seven
    plain words of which none is one that orders need.
    """
    held = vouching.held(line.dimension, line.value)
    if held is None or line.dimension != FREE:
        return held is None
    words = line.value.split()
    return (
        held in _PLAIN
        and vouching.by_shape
        and len(words) <= MOST_WORDS
        and all(_WORD.fullmatch(word) for word in words)
    )
