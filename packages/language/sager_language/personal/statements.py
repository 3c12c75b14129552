"""Revealing statements without a sensitive word, such as "I voted for"."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

from sager_language.personal.text import patterns
from sager_language.text import Lazy

_WHO: Final = (
    r"\b(?:i|we|he|she|they|(?:the )?(?:user|customer|client|reader|viewer|person|guest))(?:'(?:m|ve|re|d|ll|s)|m|ve)?"
)
_ICH: Final = r"(?:ich|wir|er|sie|man|(?:der|die) (?:nutzer|kunde|leser|kund|person)(?:in)?|weil)"
_JE: Final = (
    r"(?:je|j'ai|j'|nous|on|il|elle|(?:l'|le |la )(?:utilisateur|utilisatrice|client|cliente|lecteur|lectrice))"
)
_MOST: Final = (
    r"(?:(?:am|are|is|was|were|been|be|have|has|had|do|did|will|would|also|still|now|just|always|usually|only|recently"
    r"|currently|really|once|never|regularly|often|proudly|both|already|used to|sometimes|a|an|to|not|get|got|getting"
    r"|started|actually|about|from|devoutly|secretly|openly|currently|previously|happily|legally|literally) ){0,4}"
)
_NAMED: Final = (
    r"[^\s,.;:!?()]{1,30}(?: (?:of |of the )?(?:party|democrats?|union|movement|front|national|pen|left|right|sclerosis"
    r"|disease|disorder|cancer|attack|syndrome|depression|pain|failure|arthritis|anxiety|infection|injury|pressure"
    r"|type \d))?"
)
_LETTER: Final = Lazy(r"[^\W\d_]")
_SPACED: Final = Lazy(r"[a-z\u00df-\u024f\u0370-\u052f\u0590-\u06ff][\w'\u00df-\u06ff]*")
_UNWORDED: Final = Lazy(r"[\u0900-\u0dff\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


@dataclass(frozen=True)
class _Statement:
    category: str
    pattern: Lazy


@cache
def medicine() -> str:
    """A pattern of medicines, in any of their grammatical forms."""
    begins: list[str] = []
    ends: list[str] = []
    whole: list[str] = []
    for row in patterns("medicines"):
        for word in filter(None, row.split(", ")):
            {"*": ends, "=": whole}.get(word[0], begins).append(re.escape(word.lstrip("*=")))
    unspaced = "|".join(word for row in patterns("medicines-unspaced") for word in row.split(", "))
    spaced = (rf"(?:{'|'.join(begins)})\w{{0,8}}", "|".join(whole), rf"\w{{3,20}}(?:{'|'.join(ends)})\w{{0,2}}")
    return rf"(?:(?<!\w)(?:{'|'.join(spaced)})(?!\w)|{unspaced})"


@cache
def party() -> str:
    """Return a pattern of the names of parties and their leaders."""
    named = {w for row in patterns("politics-said") for w in row.partition(": ")[2].split(", ")}
    listed = "|".join(sorted(map(re.escape, named), key=lambda word: (-len(word), word)))
    return rf"(?:{listed})(?!\w)"


@cache
def _index() -> tuple[Mapping[str, tuple[_Statement, ...]], tuple[tuple[str, _Statement], ...]]:
    spaced: dict[str, list[_Statement]] = {}
    joined: list[tuple[str, _Statement]] = []
    places = {
        "i": _WHO,
        "ich": _ICH,
        "je": _JE,
        "most": _MOST,
        "drug": medicine(),
        "party": party(),
        "x": _NAMED,
    }
    for row in patterns("statements"):
        category, words, pattern = row.split(" | ", 2)
        for name, filled in places.items():
            pattern = pattern.replace(f"{{{name}}}", filled)
        statement = _Statement(category, Lazy(rf"(?<!\w)(?:{pattern})" if _LETTER.match(words) else pattern))
        for word in words.split(", "):
            if _UNWORDED.search(word) or " " in word or "'" in word:
                joined.append((word, statement))
            else:
                spaced.setdefault(word, []).append(statement)
    return {word: tuple(said) for word, said in spaced.items()}, tuple(joined)


def statements(said: str, words: frozenset[str]) -> Iterator[tuple[str, int, int]]:
    """Category and place of each statement."""
    spaced, joined = _index()
    looked = dict.fromkeys(s for word in words & spaced.keys() for s in spaced[word])
    looked |= dict.fromkeys(s for word, s in joined if word in said)
    for statement in looked:
        for found in statement.pattern.finditer(said):
            if found.end() > found.start():
                yield statement.category, found.start(), found.end()


@cache
def _does() -> Mapping[str, str]:
    rows = (row.partition(": ") for row in patterns("does"))
    return {word: who for who, _, words in rows for word in words.split(", ")}


def stated(said: str, words: frozenset[str]) -> str | None:
    """Return the category of a line without a subject: "votes for Greens"."""
    who = _does().get(said.partition(" ")[0])
    if who is None:
        return None
    return next((category for category, _, _ in statements(f"{who} {said}", words)), None)


_UNSPACED: Final = Lazy(r"[\u0900-\u0dff\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_ENDING: Final = Lazy(r"(?<!\\\w)(?<=[^\W_])\*")
_PLAIN: Final = Lazy(r"[^\W_][\w'-]*")
_WORD: Final = Lazy(r"\w+")
# Under which the few phrases are looked up that need no certain word.
_ANY: Final = ""

_Phrase = tuple[str, Lazy]


def _parts(phrase: str, at: str) -> list[str]:
    parts, depth = [""], 0
    for sign in phrase:
        depth += (sign == "(") - (sign == ")")
        if sign == at and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return parts


def needed(phrase: str) -> frozenset[str]:
    """Return words, one in every text with the phrase; empty if unknown.

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


def _expression(phrase: str) -> Lazy:
    pattern = _ENDING.sub(r"\\w*", phrase.replace("... ", r"(?:\S+ ){0,3}"))
    pattern = pattern.replace("{drug}", medicine()).replace("{party}", party())
    return Lazy(pattern if _UNSPACED.search(phrase) else rf"(?<!\w)(?:{pattern})(?!\w)")


@cache
def _phrase_index() -> tuple[Mapping[str, tuple[_Phrase, ...]], tuple[_Phrase, ...]]:
    spaced: dict[str, list[_Phrase]] = {}
    joined: list[_Phrase] = []
    for row in patterns("phrases"):
        category, _, listed = row.partition(": ")
        for phrase in map(str.strip, listed.split("; ")):
            said = category, _expression(phrase)
            if _UNSPACED.search(phrase):
                joined.append(said)
                continue
            for word in needed(phrase) or {_ANY}:
                spaced.setdefault(word, []).append(said)
    return {word: tuple(said) for word, said in spaced.items()}, tuple(joined)


def phrases(said: str, words: frozenset[str]) -> Iterator[tuple[str, int, int]]:
    """Category and place of each phrase."""
    spaced, joined = _phrase_index()
    looked = dict.fromkeys(phrase for word in (*words & spaced.keys(), _ANY) for phrase in spaced[word])
    if _UNSPACED.search(said):
        looked |= dict.fromkeys(joined)
    for category, pattern in looked:
        yield from ((category, *found.span()) for found in pattern.finditer(said) if found[0])
