"""The facts that words about a domain can name."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import groupby
from typing import TypeVar

from sager_language.corrections.language import LANGUAGES, language_of
from sager_language.corrections.names import Words, name_words, stem_of
from sager_language.corrections.tokens import STOPS
from sager_language.types import Fact

_Fact = TypeVar("_Fact", bound=Fact)


def joined(trusted: Sequence[_Fact], *of_others: Sequence[_Fact]) -> tuple[_Fact, ...]:
    """Return each fact once; other people's only if they add a name.

    A few accounts can make a value common. The longest name in a sentence wins: a value such as "no horror" would turn
    everyone's "no horror, please" into a preference, and a second dimension with "horror" would make it ambiguous. So a
    value of others is left out if it is a name known before, in any form, or such names with words of sentences.
    >>> horror, sentence = Fact(dimension="genre", value="horror"), Fact(dimension="z", value="no horror")
    >>> joined((horror,), (sentence, Fact(dimension="z", value="folk horror")))[1].value
    'folk horror'
    """
    found = dict.fromkeys(trusted)
    known = {name for fact in trusted for name in _names(fact.value)}
    for source in of_others:
        for fact in source:
            if fact not in found and not _says_nothing_new(fact.value, known):
                found[fact] = None
                known.update(_names(fact.value))
    return tuple(found)


def _says_nothing_new(value: str, known: set[Words]) -> bool:
    return any(runs and known.issuperset(runs) for runs in _runs(value)) or not known.isdisjoint(_names(value))


@lru_cache(maxsize=65_536)
def _names(value: str) -> tuple[Words, ...]:
    words, found = _words(value), []
    for name in LANGUAGES:
        reserved = language_of(name).reserved
        found += [_simple(words, name), _simple([word for word in words if word not in reserved], name)]
    return tuple(name for name in dict.fromkeys(found) if name)


@lru_cache(maxsize=65_536)
def _runs(value: str) -> tuple[tuple[Words, ...], ...]:
    found = []
    for name in LANGUAGES:
        parts = groupby(_words(value), key=language_of(name).reserved.__contains__)
        found.append(tuple(_simple(words, name) for is_reserved, words in parts if not is_reserved))
    return tuple(found)


def _words(value: str) -> list[str]:
    return [word for word in name_words(value) if word not in STOPS]


def _simple(words: Iterable[str], language: str) -> Words:
    endings = language_of(language).endings
    return tuple(stem_of(word, endings) for word in words)
