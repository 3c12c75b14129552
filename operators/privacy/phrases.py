"""Plain phrases by which people tell what is nobody's business, as anybody who speaks the language can add them.

A list holds a category and its phrases. They are regular expressions with two shorthands: `...` stands for up to three
words, `*` behind a letter for any ending. `{drug}` is a medicine, `{party}` a party.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from operators.privacy.statements import medicine, party
from operators.privacy.words import patterns

_UNSPACED: Final = re.compile(r"[\u0900-\u0dff\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_ENDING: Final = re.compile(r"(?<!\\)(?<=[^\W_])\*")
_PLAIN: Final = re.compile(r"[^\W_][\w'-]*")
_WORD: Final = re.compile(r"\w+")
_ANY: Final = ""
"""Under which the few phrases are looked up that need no certain word."""

_Phrase = tuple[str, re.Pattern[str]]


def _parts(phrase: str, at: str) -> list[str]:
    """The phrase cut at this sign, where no parenthesis is open."""
    parts, depth = [""], 0
    for sign in phrase:
        depth += (sign == "(") - (sign == ")")
        if sign == at and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return parts


def needed(phrase: str) -> frozenset[str]:
    """Words of which a text has one where it has the phrase; none if that cannot be said.

    >>> sorted(needed("(my|our) ... baby")), sorted(needed("expecting* (a child|twins)"))
    (['baby'], ['child', 'twins'])
    """
    sure: set[str] = set()
    for branch in _parts(phrase, "|"):
        each: list[frozenset[str]] = []
        for part in _parts(branch, " "):
            if _PLAIN.fullmatch(part):
                each.append(frozenset({max(_WORD.findall(part), key=len)}))
            elif part.startswith("(") and part.endswith(")") and not part.startswith(("(?!", "(?=")):
                each.append(needed(part[1:-1].removeprefix("?:")))
        best = max(filter(None, each), key=lambda words: min(map(len, words)), default=frozenset())
        if not best:
            return frozenset()
        sure |= best
    return frozenset(sure)


def _compiled(phrase: str) -> re.Pattern[str]:
    told = _ENDING.sub(r"\\w*", phrase.replace("... ", r"(?:\S+ ){0,3}"))
    told = told.replace("{drug}", medicine()).replace("{party}", party())
    return re.compile(told if _UNSPACED.search(phrase) else rf"(?<!\w)(?:{told})(?!\w)")


@cache
def _index() -> tuple[Mapping[str, tuple[_Phrase, ...]], tuple[_Phrase, ...]]:
    """The phrases by a word that a text needs to hold one; those of scripts without spaces together."""
    spaced: dict[str, list[_Phrase]] = {}
    joined: list[_Phrase] = []
    for row in patterns("phrases"):
        category, _, listed = row.partition(": ")
        for phrase in map(str.strip, listed.split("; ")):
            said = category, _compiled(phrase)
            if _UNSPACED.search(phrase):
                joined.append(said)
                continue
            for word in needed(phrase) or {_ANY}:
                spaced.setdefault(word, []).append(said)
    return {word: tuple(said) for word, said in spaced.items()}, tuple(joined)


def phrases(said: str, words: frozenset[str]) -> Iterator[tuple[str, int, int]]:
    """Category and place of each phrase.

    Args:
        said: as `reading.folded` gives it.
        words: those of the text.
    """
    spaced, joined = _index()
    looked = dict.fromkeys(phrase for word in (*words & spaced.keys(), _ANY) for phrase in spaced[word])
    if _UNSPACED.search(said):
        looked |= dict.fromkeys(joined)
    for category, pattern in looked:
        yield from ((category, *found.span()) for found in pattern.finditer(said) if found[0])
