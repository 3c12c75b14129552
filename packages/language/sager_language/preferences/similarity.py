"""Stems of words, to find other names of the same thing."""

import re
from functools import cache, lru_cache
from typing import Final

from sager_language.lists import sections
from sager_language.text import normalise

Words = frozenset[str]
_SHORTEST: Final = 3
_VOWEL: Final = re.compile(r"[aeiouyäöü]")
_DOUBLED: Final = re.compile(r"([bdgkmnprt])\1$")
_NOT_PLURAL: Final = ("ss", "us", "is")
_ENDINGS: Final = (("ing", 6), ("ed", 5), ("en", 6))


@cache
def listed(name: str) -> Words:
    """Return the words of a list of both languages, in normal form."""
    rows = (row.partition(": ")[2].split() for row in sections("preferences")[name])
    return frozenset(normalise(word) for row in rows for word in row)


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return an English or German word without its commonest endings, for comparison.

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
    """Return the stems of a text's content words, or else of all.

    >>> sorted(words_of("really spicy food")), sorted(words_of("long runs in the morning"))
    (['spici'], ['long', 'morn', 'run'])
    """
    every = [word for word in re.split(r"[-_]+", normalise(text)) if word]
    return frozenset(stem(word) for word in every if word not in listed("light")) or frozenset(map(stem, every))
