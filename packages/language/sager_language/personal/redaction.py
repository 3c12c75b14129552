"""Texts with placeholders for personal data: single lines and turns."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from importlib.resources import files
from typing import Final

from sager_language.personal import contacts, devices, documents, minors, numbers, persons, places
from sager_language.personal.numbers import Span
from sager_language.personal.sensitive import Category, claims, of_fact
from sager_language.personal.text import digits_in, line

Finder = Callable[[str], Iterator[Span]]

_OF_ANYTHING: Final[tuple[tuple[str, Finder], ...]] = (
    ("secret", devices.secrets),
    ("e-mail", contacts.emails),
    ("handle", contacts.handles),
    ("wallet", devices.wallets),
    ("device", devices.hardware),
    (numbers.IBAN, partial(numbers.numbered, numbers.IBAN)),
    (numbers.CARD, partial(numbers.numbered, numbers.CARD)),
    ("phone", contacts.phones),
    (numbers.ID, partial(numbers.numbered, numbers.ID)),
    (numbers.ID, documents.ids),
    ("coordinates", devices.points),
    ("address", places.addresses),
)
_OF_PEOPLE: Final[tuple[tuple[str, Finder], ...]] = (
    ("birth", persons.births),
    ("ip", devices.networks),
    (numbers.ID, documents.near_papers),
    ("plate", documents.plates),
    ("minor", minors.minors),
    ("name", places.residents),
    ("name", persons.names),
)

# The kinds in titles and descriptions: a work may be called "My Name Is Earl" and have a date.
IN_WORKS: Final = _OF_ANYTHING
# In their order of precedence: a key may contain digits like a number.
FINDERS: Final = (*_OF_ANYTHING[:3], *_OF_PEOPLE[:2], *_OF_ANYTHING[3:], *_OF_PEOPLE[2:])


# Kinds of personal data, which are also the placeholders.
KINDS: Final = (*dict.fromkeys(kind for kind, _ in FINDERS), *(category.value for category in Category))
PLACEHOLDER: Final = re.compile(r"\[(" + "|".join(map(re.escape, KINDS)) + r")\]")
MAX_TURN_CHARS: Final = 16_000
# Of a turn in which something is private; who pastes more of them has no content of themselves in the rest.
_MOST_LINES: Final = 200
_TAIL: Final = 160
_HEAD: Final = 200
_FEWEST_DIGITS: Final = 2
# Words of an answer that may be nothing but a name or a street.
_FEW_WORDS: Final = 8

Places = Callable[[str], list[tuple[int, int, str]]]


def by_lines(text: str, redacted: Callable[[str], tuple[str, dict[str, int]]]) -> tuple[str, dict[str, int]] | None:
    """Redact a text by lines, to keep quotes and pastes recognisable.

    None if private data spans several lines, and only the whole text can be redacted.
    """
    found: dict[str, int] = {}
    lines = []
    for each in text.splitlines()[:_MOST_LINES]:
        kept, kinds = redacted(each)
        lines.append(kept)
        for kind, times in kinds.items():
            found[kind] = found.get(kind, 0) + times
    joined = "\n".join(lines)
    return (joined, found) if not redacted(joined)[1] else None


def may_answer(before: str, text: str) -> bool:
    """Return True if private data may show only with the turn before."""
    if not before.strip():
        return False
    head = text[:_HEAD]
    return digits_in(head) >= _FEWEST_DIGITS or len(head.split()) <= _FEW_WORDS


def answers(before: str, text: str, places: Places) -> list[tuple[Span, str]]:
    """Return places in `line(text)` that are private after the turn before.

    >>> answers("Your passport number?", "It is C01X00T47", lambda text: [(len(text) - 9, len(text), "id-number")])
    [((6, 15), 'id-number')]
    """
    tail = line(before)[-_TAIL:]
    # Half a word has no content.
    tail = re.sub(r"^\S+\s", "", tail) if len(tail) == _TAIL else tail
    said = f"{tail} {line(text)[:_HEAD]}"
    begins = len(tail) + 1
    return [((max(start, begins) - begins, end - begins), kind) for start, end, kind in places(said) if end > begins]


_ROUNDS: Final = 20
_CLOSING: Final = frozenset("'\"\u2019\u201d\u201c\u00bb\u203a")
_OPENING: Final = re.compile(r"(?<!\w)['\"\u2018\u201c\u201e\u00ab\u2039]")
Place = tuple[int, int, str]
# How many of each kind.
Found = Mapping[str, int]


@dataclass(frozen=True)
class Redacted:
    """A text with placeholders such as `[e-mail]`, and what they represent."""

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
    """Replace personal data and categories that are not allowed by placeholders."""
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
    sensitive = [(start, end, category.value) for category, start, end in claims(said, of_a_person=of_a_person)
            if category not in allowed]  # fmt: skip
    lives = _personal(said, (("address", places.streets),)) if of_a_person else []
    return _joined([*_personal(said, FINDERS), *lives, *sensitive])


def _personal(said: str, finders: Sequence[tuple[str, Finder]]) -> list[Place]:
    return [(start, _unquoted(said, start, end), kind) for kind, find in finders for start, end in find(said)]


def _unquoted(said: str, start: int, end: int) -> int:
    while end - start > 1 and said[end - 1] in _CLOSING and not _OPENING.search(said, start, end - 1):
        end -= 1
    return end


def _joined(places: Sequence[Place]) -> list[Place]:
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
    """Redact a turn of a conversation, and keep its lines."""
    kept = _turn(text, allowed)
    return _answered(kept, before, allowed) if may_answer(before, text) else kept


def _turn(text: str, allowed: frozenset[Category]) -> Redacted:
    flat = redact(text, allowed, MAX_TURN_CHARS)
    if not flat.found or "\n" not in text.strip():
        return flat
    lines = by_lines(text, lambda part: _pair(redact(part, allowed, MAX_TURN_CHARS)))
    return flat if lines is None else Redacted(*lines)


def _pair(redacted: Redacted) -> tuple[str, dict[str, int]]:
    return redacted.text, dict(redacted.found)


def _answered(kept: Redacted, before: str, allowed: frozenset[Category]) -> Redacted:
    first, newline, rest = kept.text.partition("\n")
    answered = answers(before, first, lambda said: _spans(said, allowed, of_a_person=False))
    if not answered:
        return kept
    found = Counter(kept.found)
    found.update(kind for _, kind in answered)
    first = _replaced(line(first), [(*span, kind) for span, kind in answered])
    return Redacted(first + newline + rest, dict(found))


@lru_cache(maxsize=65_536)
def refusal(dimension: str, value: str) -> tuple[str | None, Category | None]:
    """Return a fact's kind of personal data, and its category if allowable.

    >>> refusal("genre", "christian fiction"), refusal("genre", "noir"), refusal("tag", "anna@example.org")
    (('religion', <Category.RELIGION: 'religion'>), (None, None), ('e-mail', None))
    """
    if personal := _personal_in(line(value)) or _personal_in(line(dimension.replace("_", " "))):
        return personal, None
    category = of_fact(dimension, value)
    return (category.value, category) if category else (None, None)


@lru_cache(maxsize=1_024)
def _personal_in(said: str) -> str | None:
    for kind, find in FINDERS:
        if next(find(said), None) is not None:
            return kind
    return numbers.ID if numbers.is_bare(said) else None


@cache
def version() -> str:
    """Return a digest of all rules and words of the redactor."""
    whole = hashlib.sha256()
    package = files("sager_language.personal")
    for folder in (package, package / "lists"):
        for file in sorted(folder.iterdir(), key=lambda file: file.name):
            if file.name.endswith((".py", ".txt")):
                whole.update(file.name.encode() + b"\0" + file.read_bytes())
    return whole.hexdigest()
