"""What a person said in pieces, each short enough to be quoted and to tell one thing or two."""

import re
from collections.abc import Iterator
from typing import Final

MAX_PIECE_CHARS: Final = 200
_SENTENCE: Final = re.compile(r"(?:[^.!?\n\u2026\u3002]|[.](?=\w)|\n(?=[a-z\u00e4\u00f6\u00fc]))+[.!?\u2026\u3002]*")
_PAUSE: Final = re.compile(r"[,;:\u2013\u2014](?=\s)")


def pieces(text: str) -> Iterator[tuple[int, int]]:
    """Where the sentences of a text stand; of a long one its parts, cut at pauses.

    >>> said = "Well. I run at 6.30 every day!"
    >>> [said[start:end] for start, end in pieces(said)]
    ['Well.', 'I run at 6.30 every day!']
    """
    for match in _SENTENCE.finditer(text):
        start, end = match.span()
        while end - start > MAX_PIECE_CHARS:
            cut = _cut(text, start)
            yield from _stripped(text, start, cut)
            start = cut
        yield from _stripped(text, start, end)


def _cut(text: str, start: int) -> int:
    """Where a piece of a long sentence ends: behind its last pause, else behind its last word."""
    last = start + MAX_PIECE_CHARS
    pauses = [match.end() for match in _PAUSE.finditer(text, start, last)]
    if pauses:
        return pauses[-1]
    space = max(text.rfind(" ", start, last), text.rfind("\n", start, last))
    return space if space > start else last


def _stripped(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    said = text[start:end]
    begins, ends = start + len(said) - len(said.lstrip()), start + len(said.rstrip())
    if begins < ends:
        yield begins, ends
