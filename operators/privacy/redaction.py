"""Texts with placeholders for what is personal: of one line, or of a turn of a conversation."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from operators.options import Category
from operators.privacy.personal import FINDERS, IN_WORKS, Finder
from operators.privacy.reading import line
from operators.privacy.sensitive import claims
from operators.privacy.streets import streets
from operators.privacy.turns import answers, by_lines, may_answer
from schemas.utterances import MAX_UTTERANCE_CHARS

_ROUNDS: Final = 20
_CLOSING: Final = frozenset("'\"\u2019\u201d\u201c\u00bb\u203a")
_OPENING: Final = re.compile(r"(?<!\w)['\"\u2018\u201c\u201e\u00ab\u2039]")
Place = tuple[int, int, str]
Found = Mapping[str, int]
"""How many of each kind."""


@dataclass(frozen=True)
class Redacted:
    """A text with placeholders such as `[e-mail]`, and what they stand for."""

    text: str
    found: Found = field(default_factory=dict)


@lru_cache(maxsize=4_096)
def redact(
    text: str,
    allowed: frozenset[Category] = frozenset(),
    most: int = 2_000,
    *,
    of_a_person: bool = False,
    of_a_work: bool = False,
) -> Redacted:
    """The text with a placeholder for all that tells who a person is, or what of a category that is not allowed."""
    if not text:
        return Redacted(text)
    found: Counter[str] = Counter()
    said = line(text)

    def places(said: str) -> list[Place]:
        return _joined(_personal(said, IN_WORKS)) if of_a_work else _spans(said, allowed, of_a_person=of_a_person)

    for _ in range(_ROUNDS):
        spans = places(said)
        if not spans:
            return Redacted(said if found else text, dict(found))
        found.update(kind for _, _, kind in spans)
        said = _replaced(said, spans)[:most].rstrip()
    return Redacted("", dict(found))


def _spans(said: str, allowed: frozenset[Category], *, of_a_person: bool) -> list[Place]:
    told = [(start, end, category.value) for category, start, end in claims(said, of_a_person=of_a_person)
            if category not in allowed]  # fmt: skip
    lives = _personal(said, (("address", streets),)) if of_a_person else []
    return _joined([*_personal(said, FINDERS), *lives, *told])


def _personal(said: str, finders: Sequence[tuple[str, Finder]]) -> list[Place]:
    return [(start, _unquoted(said, start, end), kind) for kind, find in finders for start, end in find(said)]


def _unquoted(said: str, start: int, end: int) -> int:
    """Where a place ends without a mark that closes a quotation begun before it: whose words they are hangs on it."""
    while end - start > 1 and said[end - 1] in _CLOSING and not _OPENING.search(said, start, end - 1):
        end -= 1
    return end


def _joined(places: Sequence[Place]) -> list[Place]:
    """What is found, in the order of the text; of places that overlap one, of the kind that was found first."""
    joined: list[Place] = []
    for start, end, kind in places:
        over = [place for place in joined if start < place[1] and place[0] < end]
        joined = [place for place in joined if place not in over]
        whole = [*over, (start, end, kind)]
        joined.append((min(at[0] for at in whole), max(at[1] for at in whole), whole[0][2]))
    return sorted(joined)


def _replaced(said: str, spans: list[tuple[int, int, str]]) -> str:
    parts: list[str] = []
    at = 0
    for start, end, kind in spans:
        parts += [said[at:start], f"[{kind}]"]
        at = end
    return "".join([*parts, said[at:]])


def redact_turn(text: str, before: str, allowed: frozenset[Category]) -> Redacted:
    """A turn of a conversation without what is personal, its lines still lines."""
    kept = _turn(text, allowed)
    return _answered(kept, before, allowed) if may_answer(before, text) else kept


def _turn(text: str, allowed: frozenset[Category]) -> Redacted:
    flat = redact(text, allowed, MAX_UTTERANCE_CHARS)
    if not flat.found or "\n" not in text.strip():
        return flat
    lines = by_lines(text, lambda part: _pair(redact(part, allowed, MAX_UTTERANCE_CHARS)))
    return flat if lines is None else Redacted(*lines)


def _pair(redacted: Redacted) -> tuple[str, dict[str, int]]:
    return redacted.text, dict(redacted.found)


def _answered(kept: Redacted, before: str, allowed: frozenset[Category]) -> Redacted:
    first, newline, rest = kept.text.partition("\n")
    told = answers(before, first, lambda said: _spans(said, allowed, of_a_person=False))
    if not told:
        return kept
    found = Counter(kept.found)
    found.update(kind for _, kind in told)
    first = _replaced(line(first), [(*span, kind) for span, kind in told])
    return Redacted(first + newline + rest, dict(found))
