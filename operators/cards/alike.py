"""When two lines say nearly the same, by rule: their words without light ones, lightly stemmed."""

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from importlib.resources import files
from itertools import combinations
from typing import Final

from operators.attributes import normalise
from schemas.cards import FREE, CardLine

Words = frozenset[str]
LEAST_SHARED: Final = 2
"""Words that two texts of different length share, at least, to say nearly the same."""
MOST_COMBINED: Final = 8
"""Of a text with more words, no part is looked at."""
_SHORTEST: Final = 3
_VOWEL: Final = re.compile(r"[aeiouyäöü]")
_DOUBLED: Final = re.compile(r"([bdgkmnprt])\1$")
_NOT_PLURAL: Final = ("ss", "us", "is")
_ENDINGS: Final = (("ing", 6), ("ed", 5), ("en", 6))


@cache
def listed(name: str) -> Words:
    """The words of a data file of this folder, in normal form."""
    rows = files("operators.cards").joinpath(f"data/{name}.txt").read_text(encoding="utf-8").splitlines()
    told = (row.partition(": ")[2].split() for row in rows if row and not row.startswith("#"))
    return frozenset(normalise(word) for row in told for word in row)


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """A word without its commonest endings; English and German, and only to compare.

    >>> [stem(w) for w in ("runs", "running", "run", "hikes", "hiking", "movies", "movie", "berries", "berry")]
    ['run', 'run', 'run', 'hik', 'hik', 'movi', 'movi', 'berri', 'berri']
    """
    found = word
    if len(found) > _SHORTEST and found.endswith("s") and not found.endswith(_NOT_PLURAL):
        found = found[:-1]
    for ending, least in _ENDINGS:
        cut = found[: -len(ending)]
        if len(found) >= least and found.endswith(ending) and len(cut) >= _SHORTEST and _VOWEL.search(cut):
            found = _DOUBLED.sub(r"\1", cut)
            break
    if len(found) > _SHORTEST and found.endswith("e"):
        found = found[:-1]
    return f"{found[:-1]}i" if len(found) > _SHORTEST and found.endswith("y") else found


@lru_cache(maxsize=16_384)
def words_of(text: str) -> Words:
    """The stems of a text's words that say what it is about; of one that has only light words, all of them.

    >>> sorted(words_of("really spicy food")), sorted(words_of("long runs in the morning"))
    (['spici'], ['long', 'morn', 'run'])
    """
    every = [word for word in re.split(r"[-_]+", normalise(text)) if word]
    return frozenset(stem(word) for word in every if word not in listed("light")) or frozenset(map(stem, every))


@cache
def _turning() -> Words:
    return frozenset(map(stem, listed("turning")))


@cache
def _doing() -> Words:
    return frozenset(map(stem, listed("doing")))


def says_nearly(one: Words, other: Words) -> bool:
    """Whether two texts say nearly the same: the same words, or one has all of the other's and few more.

    What a text has more must not turn it: neither a number nor a word such as `without`.

    >>> says_nearly(words_of("dark chocolate"), words_of("very dark chocolates"))
    True
    >>> says_nearly(words_of("coffee with milk"), words_of("coffee without milk"))
    False
    """
    if one == other:
        return bool(one)
    short, long = (one, other) if len(one) <= len(other) else (other, one)
    if not short < long or len(short) < LEAST_SHARED or 3 * len(short) < 2 * len(long):
        return False
    return not any(word in _turning() or any(map(str.isdigit, word)) for word in long - short)


def broader(words: Words) -> Iterator[Words]:
    """A text's words, and those parts of them that say nearly the same.

    >>> [sorted(each) for each in broader(words_of("slow dark waltzes"))]
    [['dark', 'slow', 'waltz'], ['dark', 'slow'], ['dark', 'waltz'], ['slow', 'waltz']]
    """
    yield words
    least = max(LEAST_SHARED, -(-2 * len(words) // 3))
    for size in range(least, len(words)) if len(words) <= MOST_COMBINED else ():
        parts = map(frozenset, combinations(sorted(words), size))
        yield from (part for part in parts if says_nearly(part, words))


def may_meet(domain: str | None, dimension: str, line: CardLine) -> bool:
    """Whether something of this domain and dimension can be about what a line is about.

    A value of a vocabulary is about another of the same dimension, or about free words; what holds anywhere meets all.
    """
    if domain is not None and line.domain is not None and domain != line.domain:
        return False
    return dimension == line.dimension or FREE in (dimension, line.dimension)


def holds_where(domain: str | None, line: CardLine) -> bool:
    """Whether what is said of this domain holds wherever a line does: what holds in one does not hold elsewhere.

    A line that names the domain in its words, `horror films`, holds there alone.
    """
    if domain is None or domain == line.domain:
        return True
    return line.domain is None and words_of(domain) <= words_of(line.value)


def about(value: str, *domains: str | None) -> Words:
    """The words of a value; a domain's own name says nothing in it: `horror films` of `films` are `horror`."""
    words = words_of(value)
    named = frozenset().union(*(words_of(name) for name in domains if name))
    return words - named or words


def same_subject(value: str, domain: str | None, line: CardLine) -> bool:
    """Whether a value names what a line is about, in the same words."""
    return about(value, domain, line.domain) == about(line.value, domain, line.domain)


def covers(value: str, domain: str | None, line: CardLine) -> bool:
    """Whether a value names what a line says somebody does with it: `horror films` of `watching horror films`."""
    words, held = about(value, domain, line.domain), about(line.value, domain, line.domain)
    return words < held and held - words <= _doing()


def near_subject(value: str, domain: str | None, line: CardLine) -> bool:
    """Whether a value says nearly what a line says."""
    return says_nearly(about(value, domain, line.domain), about(line.value, domain, line.domain))


def meant(text: str, lines: Iterable[CardLine]) -> list[CardLine]:
    """The lines that a person means when they speak of one in few words: those of the same words, else the nearest.

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
    if same := [line for line, words in found if words == spoken]:
        return same
    near = [(len(words & spoken) / len(words | spoken), at, line) for at, (line, words) in enumerate(found)
            if words < spoken or spoken < words]  # fmt: skip
    return [max(near, key=lambda each: each[:2])[2]] if near else []


def to_forget(text: str, lines: Iterable[CardLine]) -> list[CardLine]:
    """All lines that a person may mean when they want something forgotten: it leans to forgetting.

    Those that have all the words that they said, in their value, dimension or domain. People name by a paraphrase what
    they want gone: if there are none, those that have most of these words and at least half of them; their quotations
    count only where no value does, and two words are shared.
    """
    spoken = words_of(text)
    if not spoken:
        return []
    every = list(lines)
    if whole := [line for line in every if spoken <= words_of(line.value) | _named(line)]:
        return whole
    own = [len(spoken & (words_of(line.value) | _named(line))) for line in every]
    quoted = [len(spoken & words_of(line.words)) for line in every]
    for shared, least in ((own, 1), (quoted, LEAST_SHARED)):
        most = max(shared, default=0)
        if most >= least and 2 * most >= len(spoken):
            return [line for line, count in zip(every, shared, strict=True) if count == most]
    return []


def _named(line: CardLine) -> Words:
    return words_of(f"{'' if line.dimension == FREE else line.dimension} {line.domain or ''}")


def quotes(words: str, value: str) -> bool:
    """Whether a quotation has any word of a value: then it may tell it.

    >>> quotes("I love jazz and blues", "old jazz records"), quotes("I love blues", "jazz")
    (True, False)
    """
    return bool(words) and not words_of(value).isdisjoint(words_of(words) | stems_of(words))


def stems_of(text: str) -> Words:
    """The stems of all words of a text, light ones too."""
    return frozenset(stem(word) for word in re.split(r"[-_]+", normalise(text)) if word)
