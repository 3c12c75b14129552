"""A person's own words in a turn, without quoted and pasted text."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from sager_language.preferences.pasted_text import any_of, pasted
from sager_language.types import Turn

USER: Final = "user"
# A longer turn of the assistant is no request for a text.
MAX_REQUEST_CHARS: Final = 800


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a turn in the person's own words."""

    text: str
    start: int

    @property
    def end(self) -> int:
        """The end in the turn's text."""
        return self.start + len(self.text)


def own_words(turn: Turn, before: Sequence[Turn] = ()) -> tuple[Span, ...]:
    """Return the parts of a turn in the person's own words.

    In doubt, words are not theirs: a text that the assistant asked for is not, and a draft is not.
    """
    if turn.role != USER or _answers_a_request(before):
        return ()
    text = turn.text
    own = _without([(0, len(text))], _joined(pasted(text)))
    spans = (_stripped(Span(text[start:end], start)) for start, end in own)
    return tuple(span for span in spans if span.text)


def _answers_a_request(before: Sequence[Turn]) -> bool:
    if not before or before[-1].role == USER or len(before[-1].text) > MAX_REQUEST_CHARS:
        return False
    last = before[-1].text
    return any_of("hand-over").search(last) is not None and any_of("text-nouns").search(last) is not None


def _joined(parts: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in sorted(parts):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _without(parts: Sequence[tuple[int, int]], gone: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    left: list[tuple[int, int]] = []
    at = 0
    for start, end in parts:
        while at < len(gone) and gone[at][1] <= start:
            at += 1
        begins, then = start, at
        while then < len(gone) and gone[then][0] < end:
            if gone[then][0] > begins:
                left.append((begins, gone[then][0]))
            begins = max(begins, gone[then][1])
            then += 1
        if begins < end:
            left.append((begins, end))
    return left


def _stripped(span: Span) -> Span:
    text = span.text.strip()
    return Span(text, span.start + len(span.text) - len(span.text.lstrip()))
