"""Which lines of a card may be let out to models: data in a shape that cannot act. People are shown all of them."""

import re
from collections.abc import Iterable
from typing import Final

from operators.vouch import Held, Vouching
from schemas.cards import FREE, CardLine

MOST_WORDS: Final = 7
"""Of a person's own words, a line that is let out has at most so many."""
_PLAIN: Final = frozenset({Held.UNKNOWN, Held.LONG})
"""Free words are seldom labels: those that nobody knows may pass if they are few, plain, and no part of an order."""
_WORD: Final = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*\.?|\d{1,4}", re.UNICODE)


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


def let_out(lines: Iterable[CardLine], vouching: Vouching | None) -> list[CardLine]:
    """The lines that may stand in a prompt, in their order; without a gate, for people, all."""
    return [line for line in lines if vouching is None or is_let_out(line, vouching)]
