"""A card's line: its id, its words, its certainty, and which lines other words mean."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from operators.attributes import bounded, normalise
from operators.redact import placeholder
from operators.words import words
from schemas import ONE, derived_id, line_of
from schemas.cards import FREE, Card, CardLine, Strength
from schemas.statements import Stance

Words = frozenset[str]
MAX_LINE_CHARS: Final = 120
_WHY_NOT: Final = {
    "somebody-else": "about somebody else",
    "forgotten": "was to be forgotten",
    "unreadable": "no words that a card can hold",
    "order": "an order to a model",
}
WEIGHTS: Final = {Strength.SAID: ONE, Strength.IMPLIED: ONE // 2, Strength.SET: 4 * ONE}
"""What one statement of each strength speaks for a line, in 1/1024 of a plain one."""
MAX_WEIGHT: Final = 4 * ONE
"""More than four plain statements say no more."""
HALF_LIVES: Final = {Strength.SAID: 365.0, Strength.IMPLIED: 120.0, Strength.SET: None}
"""Days in which a line that is not confirmed loses half of its certainty; None: it does not fade."""
DOUBT: Final = ONE // 4
"""What speaks against any line from the start."""
FLOOR: Final = 0.1
"""A line that is less certain has faded."""
_MOST_REPEATS: Final = 15
_DAY_SECONDS: Final = 86_400.0
_PART: Final = 2_000
SAME_LETTERS: Final = 4
"""A word and its plural share at least so many letters."""


def line_id(stance: Stance, dimension: str, value: str, domain: str | None = None) -> str:
    """The id of a line; a line of a domain's own vocabulary is another one than the same words of another domain.

    >>> line_id(Stance.PREFERS, "stated", "Morning runs"), line_id(Stance.AVOIDS, "genre", "Horror", "films")
    ('prefers:stated:morning-runs', 'avoids:films:genre:horror')
    """
    about = f"{domain}:{dimension}" if domain else dimension
    return bounded(f"{stance.value}:{about}:{normalise(value) or derived_id(value)}")


def in_words(line: CardLine) -> str:
    """What a line says, in at most 120 characters; its dimension and domain where there is room for them.

    >>> from datetime import datetime, timezone
    >>> at = datetime(2026, 1, 1, tzinfo=timezone.utc)
    >>> said = CardLine(line_id="avoids:films:genre:horror", stance="avoids", dimension="genre", value="horror",
    ...     domain="films", weight=1024, since=at, confirmed_at=at, version=1)
    >>> in_words(said), in_words(said.model_copy(update={"dimension": "stated", "domain": None}))
    ('does not like horror (genre) in films', 'does not like horror')
    """
    told = f"{'does not like' if line.stance is Stance.AVOIDS else 'likes'} {line.value}"
    about = "" if line.dimension == FREE else f" ({line.dimension.replace('_', ' ')})"
    where = f" in {line.domain}" if line.domain else ""
    for part in (about, where):
        told += part if len(told) + len(part) <= MAX_LINE_CHARS else ""
    return told[:MAX_LINE_CHARS]


def names(card: Card | None) -> dict[str, str]:
    """What each line of a card says, by its id and by the digest that stands for it in a log that has forgotten it."""
    if card is None:
        return {}
    said = {line.line_id: in_words(line) for line in (*card.past, *card.lines)}
    return said | {placeholder(line_of(card.user_id, "", name)): says for name, says in said.items()}


def why_not(kind: str) -> str:
    """Why something that was said is not kept.

    >>> why_not("somebody-else"), why_not("id-number")
    ('about somebody else', 'id number')
    """
    return _WHY_NOT.get(kind, kind.replace("-", " "))


def certainty(line: CardLine, at: datetime) -> float:
    """How certain a line is, 0 to 1: its share of what speaks for and against it, halved every half-life.

    A plain statement is 0.8 certain on its day, a hint 0.67. The half-life is a year for what was said and 120 days for
    what was implied; twice as long for what is avoided, since an avoidance that is forgotten costs more than a taste;
    and longer each time that the repetitions double. What is pinned or was set by a command does not fade.

    >>> from datetime import timezone
    >>> said = CardLine(line_id="prefers:stated:tea", stance="prefers", value="tea", weight=1024,
    ...     since=datetime(2026, 1, 1, tzinfo=timezone.utc), confirmed_at=datetime(2026, 1, 1, tzinfo=timezone.utc),
    ...     version=1)
    >>> certainty(said, said.since), certainty(said, datetime(2027, 1, 1, tzinfo=timezone.utc))
    (0.8, 0.4)
    """
    share: float = line.weight / ((line.weight + line.against + DOUBT) or 1)
    days = HALF_LIVES[line.strength]
    if line.pinned or days is None:
        return share
    age = days_since(line, at)
    repeats = min(line.times, _MOST_REPEATS).bit_length()
    return float(share * 0.5 ** (age / (days * repeats * (2 if line.stance is Stance.AVOIDS else 1))))


def days_since(line: CardLine, at: datetime) -> float:
    """Days since a line was last confirmed; none where that lies ahead of the moment."""
    return max((at - line.confirmed_at).total_seconds() / _DAY_SECONDS, 0.0)


def faded(lines: Iterable[CardLine], at: datetime) -> list[CardLine]:
    """The lines that are too uncertain by now; what is pinned or was set is never among them."""
    return [
        line for line in lines if not (line.pinned or line.strength is Strength.SET) and certainty(line, at) < FLOOR
    ]


def words_of(text: str) -> Words:
    """The plain words of a text; all of them where it has only common ones.

    >>> sorted(words_of("Long runs in the morning")), sorted(words_of("for me"))
    (['long', 'morning', 'runs'], ['for', 'me'])
    """
    return words(text) or all_words(text)


def all_words(text: str) -> Words:
    """All words of a text in normal form, common ones too."""
    # In parts: `normalise` reads a short text only, and an erasure has to find a word anywhere in a long one.
    parts = (text[at : at + _PART] for at in range(0, len(text), _PART))
    return frozenset(word for part in parts for word in normalise(part).split("-")) - {""}


def has_word(spoken: Words, word: str) -> bool:
    """True if a text has a word, or one that begins with it or that it begins with.

    >>> has_word(words_of("noodles with peanut sauce"), "peanuts"), has_word(words_of("a teapot"), "tea")
    (True, False)
    """
    return word in spoken or any(
        min(len(one), len(word)) >= SAME_LETTERS and (one.startswith(word) or word.startswith(one)) for one in spoken
    )


def may_meet(domain: str | None, dimension: str, line: CardLine) -> bool:
    """True if a value of this domain and dimension can be about the same as a line.

    A value of a vocabulary is about another of the same dimension, or about free words; a value without a domain meets
    lines of all of them.
    """
    if domain is not None and line.domain is not None and domain != line.domain:
        return False
    return dimension == line.dimension or FREE in (dimension, line.dimension)


def holds_where(domain: str | None, line: CardLine) -> bool:
    """True if a statement of this domain holds wherever a line does."""
    return domain in (None, line.domain)


def same_subject(one: CardLine, other: CardLine) -> bool:
    """True if two lines are about the same, whether it is liked or not: they have the same plain words."""
    return may_meet(one.domain, one.dimension, other) and words_of(one.value) == words_of(other.value)


def meant(text: str, lines: Iterable[CardLine]) -> list[CardLine]:
    """The lines that a user means by few words: those with the same words, else the one with the most in common.

    >>> from datetime import datetime, timezone
    >>> def a(value):
    ...     at = datetime(2026, 1, 1, tzinfo=timezone.utc)
    ...     return CardLine(line_id=f"prefers:stated:{value}", stance="prefers", value=value, weight=1, since=at,
    ...                     confirmed_at=at, version=1)
    >>> [line.value for line in meant("my runs", [a("morning runs"), a("tea"), a("long morning runs")])]
    ['morning runs']
    """
    spoken = words_of(text)
    found = [(line, words_of(line.value)) for line in lines]
    if same := [line for line, known in found if known == spoken]:
        return same
    near = []
    for at, (line, known) in enumerate(found):
        shared = sum(has_word(known, word) for word in spoken)
        if spoken and known and shared >= min(len(spoken), len(known)):
            near.append((shared / (len(known) + len(spoken) - shared), at, line))
    return [max(near, key=lambda each: each[:2])[2]] if near else []


def to_forget(text: str, lines: Iterable[CardLine]) -> list[CardLine]:
    """All lines that a user may mean by a wish to forget; in doubt a line is forgotten.

    The lines that have all words of the wish in their value, dimension or domain. Users paraphrase: without such a
    line, those that share the most words, at least half of the wish's or of the line's. Quotations count only where no
    value does, and need two shared words.
    """
    spoken = words_of(text)
    every = [(line, words_of(line.value) | _named(line)) for line in lines]
    if not spoken:
        return []
    if whole := [line for line, known in every if all(has_word(known, word) for word in spoken)]:
        return whole
    values = [(line, known, 1) for line, known in every]
    quotations = [(line, words_of(line.words), 2) for line, _ in every if line.words]
    for candidates in (values, quotations):
        shared = [
            (count, line)
            for line, known, least in candidates
            if (count := sum(has_word(known, word) for word in spoken)) >= least
            and 2 * count >= (min(len(spoken), len(known)) if least == 1 else len(spoken))
        ]
        if shared:
            most = max(count for count, _ in shared)
            return [line for count, line in shared if count == most]
    return []


def _named(line: CardLine) -> Words:
    return words(f"{'' if line.dimension == FREE else line.dimension} {line.domain or ''}")


def quotes(quotation: str, value: str) -> bool:
    """True if a quotation has any word of a value, and so may reveal it.

    >>> quotes("I love jazz and blues", "old jazz records"), quotes("I love blues", "jazz")
    (True, False)
    """
    return bool(quotation) and any(has_word(all_words(quotation), word) for word in words_of(value))
