"""Looks for what must not be kept in everything that a play leaves: the card and its log, as bytes."""

import re
from collections.abc import Iterable
from typing import Final

from evaluation.conversations.play import Played
from schemas import encode

_WORD: Final = re.compile(r"[^\W_]+")
_MIN_NUMBER: Final = 4
"""A shorter number, such as of a flat, tells nobody apart, and times and versions have them too."""
_MIN_WHOLE: Final = 7
"""Of a whole value without its spaces and hyphens; shorter ones are looked for as words."""


def stored(played: Played) -> str:
    """All that is kept of a person, as the topics have it."""
    parts = [] if played.card is None else [encode(played.card)]
    return b"\n".join([*parts, *(encode(diff) for diff in played.log)]).decode()


def kept(values: Iterable[str], played: Played) -> list[str]:
    """The values of which something is kept: all of it, however it is spaced, or a number or word of it alone."""
    text = stored(played)
    words, whole = told_words(played), _squashed(text)
    return [value for value in values if is_kept(value, words, whole)]


def is_kept(value: str, words: frozenset[str], whole: str) -> bool:
    """Whether something of a value is among these words, or all of it in a text without spaces.

    >>> is_kept("M-4711-X", frozenset({"tea", "4711"}), ""), is_kept("DE 12 34 56 78", frozenset(), "iamde12345678")
    (True, True)
    """
    squashed = _squashed(value)
    if len(squashed) >= _MIN_WHOLE and squashed in whole:
        return True
    return any(word in words for word in _WORD.findall(value.casefold()) if _tells(word))


def _tells(word: str) -> bool:
    return len(word) >= _MIN_NUMBER and any(letter.isdigit() for letter in word)


def told_words(played: Played) -> frozenset[str]:
    """The words of all that is said on the card and in the log: not those of ids and times, which are no one's."""
    lines = [] if played.card is None else [*played.card.lines, *played.card.past]
    lines += [change.line for diff in played.log for change in diff.changes if change.line is not None]
    told = [f"{line.dimension} {line.value} {line.words} {line.line_id}" for line in lines]
    told += [change.reason for diff in played.log for change in diff.changes]
    return frozenset(word for text in told for word in _WORD.findall(text.casefold()))


def _squashed(text: str) -> str:
    return "".join(_WORD.findall(text.casefold()))
