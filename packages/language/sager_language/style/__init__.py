"""Reads how a person wants to be answered: length, formality, tone, language and the like."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple

from sager_language.corrections.language import LANGUAGES
from sager_language.corrections.patterns import Sections, literals
from sager_language.corrections.tokens import ASKS, COLON, PAUSE, STOP, Token, tokens
from sager_language.lists import language_sections
from sager_language.text import Lazy
from sager_language.types import MAX_QUOTED_CHARS

DIMENSIONS: Final = tuple(
    f"answer_{name}" for name in ("verbosity", "formality", "tone", "proactivity", "vocabulary", "language")
)
# Of a sentence; longer ones say more than how to answer.
_MAX_WORDS: Final = 24
_JOINS: Final = frozenset({PAUSE, "and", "but", "und", "aber"})
_ENDS: Final = frozenset({STOP, ASKS})


@dataclass(frozen=True, slots=True)
class Style:
    """One wish about answers.

    Attributes:
        dimension: one of `DIMENSIONS`.
        value: of the dimension; a BCP 47 tag for the language.
        words: the person's sentence.
        start: where the sentence begins in the text.
        end: where it ends.
        lasts: the words state that it holds for good.
    """

    dimension: str
    value: str
    words: str
    start: int
    end: int
    lasts: bool


def read_styles(text: str) -> tuple[tuple[Style, ...], bool]:
    """Return a text's wishes about answers, and whether it states nothing else.

    A sentence counts only as a whole: "keep it short, I'm on the train" is no wish about answers in general.

    >>> [(each.dimension, each.value) for each in read_styles("Antworte mir immer auf Deutsch, kurz und knapp.")[0]]
    [('answer_language', 'de'), ('answer_verbosity', 'brief')]
    """
    found: list[Style] = []
    is_whole = True
    for sentence in _sentences(tokens(text)):
        styles = _read_sentence(text, sentence)
        is_whole = is_whole and styles is not None
        found += styles or ()
    # A later wish of a dimension replaces an earlier one.
    return tuple({each.dimension: each for each in found}.values()), is_whole and bool(found)


def style_named(value: str) -> tuple[str, str] | None:
    """Return the dimension and value that words name, such as `short`.

    >>> style_named("Deutsch"), style_named("purple")
    (('answer_language', 'de'), None)
    """
    words = "".join(f"{token.text} " for token in tokens(value))
    for name in LANGUAGES:
        for named in _language(name).values:
            if named.matches.fullmatch(words):
                return named.dimension, named.value
    return None


def _sentences(words: Sequence[Token]) -> Iterator[Sequence[Token]]:
    sentence: list[Token] = []
    for token in words:
        if token.text not in _ENDS:
            sentence.append(token)
        elif sentence:
            yield sentence
            sentence = []
    if sentence:
        yield sentence


def _read_sentence(text: str, sentence: Sequence[Token]) -> tuple[Style, ...] | None:
    """Return the wishes of a sentence without other content, else None."""
    if len(sentence) > _MAX_WORDS or any(token.text == COLON for token in sentence):
        return None
    start, end = sentence[0].start, sentence[-1].end
    words = text[start:end][:MAX_QUOTED_CHARS].rstrip()
    for name in LANGUAGES:
        read = _language(name).read(sentence)
        if read is not None:
            styles, lasts = read
            return tuple(Style(*each, words, start, end, lasts) for each in styles)
    return None


class _Value(NamedTuple):
    dimension: str
    value: str
    matches: Lazy


class _Clause(NamedTuple):
    dimension: str
    value: str
    matches: Lazy
    lasts: bool
    needs_lasting: bool


class _Language(NamedTuple):
    # All words of the clauses: most sentences have others, and no pattern is tried.
    vocabulary: frozenset[str]
    strip: Lazy
    lasting: Lazy
    values: tuple[_Value, ...]
    clauses: tuple[_Clause, ...]

    def read(self, sentence: Sequence[Token]) -> tuple[list[tuple[str, str]], bool] | None:
        """Return a sentence's wishes, and whether they last; None for other content."""
        if any(token.text not in self.vocabulary for token in sentence):
            return None
        found: list[tuple[str, str]] = []
        lasts = False
        for words in self._clauses_of(sentence):
            left = self.lasting.sub("", words)
            lasts = lasts or left != words
            left = self.strip.sub("", left)
            if not left:
                continue
            clause = next((each for each in self.clauses if each.matches.fullmatch(left)), None)
            if clause is not None and (lasts or not clause.needs_lasting):
                found.append((clause.dimension, clause.value))
                lasts = lasts or clause.lasts
            elif (named := self._named(left)) is not None and found:
                found.append(named)
            else:
                return None
        return found, lasts

    def _clauses_of(self, sentence: Sequence[Token]) -> Iterator[str]:
        whole = "".join(f"{token.text} " for token in sentence)
        # "Short and sweet" is one value.
        if any(each.matches.fullmatch(self.strip.sub("", self.lasting.sub("", whole))) for each in self.clauses):
            yield whole
            return
        clause = ""
        for token in sentence:
            if token.text in _JOINS:
                yield clause
                clause = ""
            else:
                clause += f"{token.text} "
        yield clause

    def _named(self, words: str) -> tuple[str, str] | None:
        return next(((each.dimension, each.value) for each in self.values if each.matches.fullmatch(words)), None)


@cache
def _language(name: str) -> _Language:
    return _Loader(name, language_sections("style", name)).load()


_DEFINES: Final = re.compile(r"(?P<value>[A-Za-z-]+) = (?P<words>.+)")
_FIXED: Final = re.compile(r"(?P<value>[A-Za-z-]+): (?P<clause>.+)")


class _Loader(Sections):
    def __init__(self, name: str, sections: Mapping[str, tuple[str, ...]]) -> None:
        super().__init__(name, sections)
        pairs = (line.partition(" = ") for line in self.lines("words"))
        self.words = {called.strip(): said.strip() for called, _, said in pairs}

    def load(self) -> _Language:
        values: list[_Value] = []
        clauses: list[_Clause] = []
        for dimension in DIMENSIONS:
            words: dict[str, str] = {}
            for line in self.lines(dimension):
                if defined := _DEFINES.fullmatch(line):
                    words[defined["value"]] = defined["words"]
                else:
                    clauses += self._clauses(dimension, line, words)
            values += [_Value(dimension, value, Lazy(self.made(f"({each})"))) for value, each in words.items()]
        lines = [line for section in ("strip", "lasting", *DIMENSIONS) for line in self.lines(section)]
        vocabulary = _JOINS.union(*map(literals, (*lines, *self.words.values())))
        return _Language(vocabulary, self._anywhere("strip"), self._anywhere("lasting"), tuple(values), tuple(clauses))

    def _anywhere(self, section: str) -> Lazy:
        longest_first = sorted(self.lines(section), key=len, reverse=True)
        return Lazy(rf"(?<!\S)(?:{'|'.join(map(self.made, longest_first))})")

    def _clauses(self, dimension: str, line: str, words: Mapping[str, str]) -> Iterator[_Clause]:
        flags = line.startswith("! "), line.startswith("~ ")
        line = line[2:] if any(flags) else line
        if fixed := _FIXED.fullmatch(line):
            yield _Clause(dimension, fixed["value"], Lazy(self.made(fixed["clause"])), *flags)
            return
        for value, each in words.items():
            yield _Clause(dimension, value, Lazy(self.made(line.replace("{value}", f"({each})"))), *flags)
