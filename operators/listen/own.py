"""The person's own words in a turn: not what they quote, paste or have translated. In doubt, words are not theirs."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from operators.listen.pasted import Pasted, any_of, pasted, words_of
from operators.listen.quotes import is_title, quotations
from schemas.cards import Strength, Turn
from schemas.utterances import Role

MAX_CLAIM_CHARS: Final = 800
"""So much before a text is searched for whose it is, and behind it."""
MAX_HEAD_CHARS: Final = 400
"""So much of a text that one wants help with is searched for who wrote it."""


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a turn in the person's own words.

    Attributes:
        text: to the letter.
        start: where it begins in the turn's text.
        strength: `said`; or `implied`, of a text of their own that they want to be worked on.
    """

    text: str
    start: int
    strength: Strength = Strength.SAID

    @property
    def end(self) -> int:
        """Where it ends in the turn's text."""
        return self.start + len(self.text)


def own_words(turn: Turn, before: Sequence[Turn] = ()) -> tuple[Span, ...]:
    """The parts of a turn that are the person's own words; none of a turn that is not theirs.

    Args:
        turn: any turn.
        before: the turns before it, if at hand: a text that the assistant asked for is no statement.

    >>> from datetime import UTC, datetime
    >>> said = 'I love tea. Translate this: "I hate tea and all who drink it."'
    >>> turn = Turn(event_id="e", turn=0, role=Role.USER, text=said, said_at=datetime(2026, 1, 1, tzinfo=UTC))
    >>> own_words(turn)
    (Span(text='I love tea. Translate this:', start=0, strength=<Strength.SAID: 'said'>),)
    """
    if turn.role is not Role.USER:
        return ()
    text = turn.text
    found = list(pasted(text))
    asked = _asked_for(before)
    if asked is not None:
        found.append(Pasted(0, len(text), True))
    never = _joined((part.start, part.end) for part in found if not part.is_text)
    texts = _joined((part.start, part.end) for part in found if part.is_text)
    said = _without(_without([(0, len(text))], texts), never)
    spans = [Span(text[start:end], start) for start, end in said]
    around = (asked or "") + _around(text, texts, said)
    # What is handed over later needs a clear word: by then, somebody else's may be at hand.
    if texts and _is_claimed(around, None if asked is not None else [text[start:end] for start, end in texts]):
        # Of a draft, what it quotes itself is somebody else's again.
        inner = [(start + at, start + to) for start, end in texts for at, to in _quoted_in(text[start:end])]
        drafts = _without(_without(texts, _joined(inner)), never)
        spans += [Span(text[start:end], start, Strength.IMPLIED) for start, end in drafts]
    stripped = (_stripped(span) for span in sorted(spans, key=lambda span: span.start))
    return tuple(span for span in stripped if span.text)


def _asked_for(before: Sequence[Turn]) -> str | None:
    """What the person said before the assistant asked them for a text, if that is what it did last."""
    if not before or before[-1].role is Role.USER or len(before[-1].text) > MAX_CLAIM_CHARS:
        return None
    last = before[-1].text
    if not (any_of("hand-over").search(last) and any_of("text-nouns").search(last)):
        return None
    return next((turn.text[-MAX_CLAIM_CHARS:] for turn in reversed(before) if turn.role is Role.USER), "") + "\n"


def _around(text: str, texts: Sequence[tuple[int, int]], said: Iterable[tuple[int, int]]) -> str:
    if not texts:
        return ""
    first, last = texts[0][0], texts[-1][1]
    told = [text[max(start, first - MAX_CLAIM_CHARS) : min(end, last + MAX_CLAIM_CHARS)] for start, end in said]
    return "\n".join(told)


def _is_claimed(told: str, texts: Sequence[str] | None) -> bool:
    """Whether a person says that texts are their own, and nobody else's.

    Args:
        told: what they say of them.
        texts: in which a request for help with the wording counts as such a word; None if it does not.
    """
    if _theirs().search(told):
        return False
    if _mine().search(told) is None:
        is_helped = _helped().search(told) is not None and _author().search(told) is None
        if texts is None or not is_helped or any(map(_is_of_others, texts)):
            return False
    return any_of("fiction").search(told) is None or any_of("of-own-life").search(told) is not None


def _is_of_others(text: str) -> bool:
    """Whether a text or its first lines say that somebody else wrote it, or it gives orders to a model."""
    if _ordering().search(text):
        return True
    head = text.lstrip()[:MAX_HEAD_CHARS]
    return _author().search(head) is not None or _theirs().search(head.partition("\n\n")[0]) is not None


@cache
def _mine() -> re.Pattern[str]:
    return re.compile("|".join(_filled(words_of("mine"))), re.IGNORECASE)


@cache
def _helped() -> re.Pattern[str]:
    return re.compile("|".join(_filled(words_of("helped"))), re.IGNORECASE)


@cache
def _ordering() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(words_of('orders'))})", re.IGNORECASE)


@cache
def _author() -> re.Pattern[str]:
    return re.compile("|".join(words_of("authors")), re.MULTILINE)


@cache
def _theirs() -> re.Pattern[str]:
    # A name is told by its capital letter.
    named = r"\b(?:from|by|von)\s+(?!(?:me|I|mir)\b)[A-Z\u00c0-\u00de]\w+"
    return re.compile("|".join([f"(?i:{line})" for line in _filled(words_of("theirs"))] + [named]))


def _filled(lines: Iterable[str]) -> list[str]:
    nouns = "|".join(sorted(map(re.escape, words_of("text-nouns")), key=len, reverse=True))
    return [rf"\b{line.replace('{noun}', f'(?:{nouns})').replace('{w}', '(?:[^ ]{1,30} )')}\b" for line in lines]


def _quoted_in(text: str) -> list[tuple[int, int]]:
    begins = len(text) - len(text.lstrip())
    found = quotations(text)
    if found and found[0][0] == begins and not is_title(text[slice(*found[0])]):
        start, end = found[0]
        return [(start + 1 + at, start + 1 + to) for at, to in quotations(text[start + 1 : end - 1])] + found[1:]
    return [(start, end) for start, end in found if not is_title(text[start:end])]


def _joined(parts: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, end in sorted(parts):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _without(parts: Sequence[tuple[int, int]], gone: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The parts without those that are gone; both in order, in linear time."""
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
    return Span(text, span.start + len(span.text) - len(span.text.lstrip()), span.strength)
