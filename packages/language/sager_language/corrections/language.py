"""A language's patterns, compiled from its file."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Final

from sager_language.corrections.names import Endings, OtherNames, Words
from sager_language.corrections.patterns import (
    BETWEEN,
    ENDED,
    FACT,
    ITEM,
    LAST_FACT,
    LAST_ITEM,
    WORD,
    BadPattern,
    Sections,
    literals,
)
from sager_language.corrections.tokens import tokens
from sager_language.lists import language_sections
from sager_language.text import Lazy
from sager_language.types import Measure, Scope

# Those that have a file; where words could be of either, the first.
LANGUAGES: Final = ("en", "de")


def sections(language: str) -> dict[str, tuple[str, ...]]:
    """Return the lines of a language's file by section."""
    return language_sections("corrections", language)


class Meaning(StrEnum):
    """Meanings of sentences by section, most specific first."""

    NO_LONGER = "no-longer"
    NOW_PREFERS = "now-prefers"
    INSTEAD = "instead"
    CONTRAST = "contrast"
    COMPARES = "compares"
    IGNORES = "ignores"
    TOO = "too"
    BELOW = "below"
    AT_MOST = "at-most"
    ABOVE = "above"
    AT_LEAST = "at-least"
    BEFORE = "before"
    UNTIL = "until"
    SINCE = "since"
    AFTER = "after"
    PREFERS = "prefers"
    AVOIDS = "avoids"
    EATS = "eats"
    SUITS = "suits"


_LISTS: Final = {"scope-now": Scope.NOW, "scope-session": Scope.SESSION, "scope-always": Scope.ALWAYS}
_AMOUNT: Final = rf"(?:(?:eur|usd|gbp|chf|[€$£]){BETWEEN})?[€$£]?\d[\d.,]{{{{0,11}}}}[€$£]?{BETWEEN}(?:{{units}})?"


@dataclass(frozen=True, slots=True)
class Pattern:
    """One kind of sentence.

    Attributes:
        name: of the language, the section and the line, such as `en.avoids.dont-want`.
        meaning: the meaning of such a sentence.
        sentence: matched where a clause begins.
        scope: the duration that such sentences state, if any.
    """

    name: str
    meaning: Meaning
    sentence: Lazy
    scope: Scope | None = None


@dataclass(frozen=True, slots=True)
class More:
    """A comparison: its measure, and its direction."""

    measure: Measure
    is_more: bool


@dataclass(frozen=True)
class Language:
    """A language's file in compiled form.

    Attributes:
        name: BCP 47.
        patterns: of sentences, in the order in which they are tried.
        reasons: why a person wants what they have just named, or does not.
        items: how items are named by their place: letter, ordinal, number, or the one in question.
        fill: words that may begin a clause and carry no meaning.
        begins: words behind which a clause begins.
        why: those of them behind which a reason stands.
        ends: what may follow a sentence's pattern.
        not_then: phrases that may not follow, because they change the meaning.
        negations: words at a sentence's end that turn it into its opposite.
        not_why: words before such a word that make it no reason.
        blocks: patterns of sentences that are not read.
        unread: patterns of texts that are not read.
        asks: how questions begin that ask for something.
        scopes: phrases for a duration.
        for_another: that something is for another person.
        of_another: that another person likes it.
        for_person_too: that it is the person's wish nevertheless.
        first_person: words by which a person speaks of themselves.
        changed: that the person's taste has changed.
        light: words around a name that have no content.
        nouns: what things are called in general.
        definite: words before a noun that make it one that is known.
        pronouns: words for the item in question.
        joins: words between the names of a list.
        ordinals: places by their names; -1 is the last.
        comparisons: what more or less of a measure is called.
        too: words for too much or too little of a measure, with the bound that is wanted instead.
        measures: the names of measures.
        units: measure and factor of a unit.
        everything: words for all that is shown.
        endings: of words, with their simple form.
        names: other names of values, such as "science fiction" for `sci-fi`.
        behind_letter: words behind a letter that names an option, where it could be an article.
        reserved: words that patterns are made of.
    """

    name: str
    patterns: tuple[Pattern, ...]
    reasons: tuple[Lazy, ...]
    items: tuple[Lazy, ...]
    fill: Lazy
    begins: frozenset[str]
    why: frozenset[str]
    ends: Lazy
    not_then: Lazy
    negations: frozenset[str]
    not_why: frozenset[str]
    blocks: Lazy
    unread: Lazy
    asks: Lazy
    scopes: tuple[tuple[Scope, Lazy], ...]
    for_another: Lazy
    of_another: Lazy
    for_person_too: Lazy
    first_person: frozenset[str]
    changed: Lazy
    light: frozenset[str]
    nouns: frozenset[str]
    definite: frozenset[str]
    pronouns: frozenset[str]
    joins: frozenset[str]
    ordinals: Mapping[str, int]
    comparisons: Mapping[str, More]
    too: Mapping[str, More]
    measures: Mapping[str, More]
    units: Mapping[str, tuple[Measure, float]]
    everything: frozenset[str]
    endings: Endings
    names: OtherNames
    behind_letter: frozenset[str]
    reserved: frozenset[str]


@cache
def language_of(name: str) -> Language:
    """The language of this name, from its file.

    Raises:
        BadPattern: a line of it cannot be read; the message names it.
    """
    return _Loader(name).load()


class _Loader(Sections):
    def __init__(self, name: str) -> None:
        super().__init__(name, sections(name))
        self.words = dict(_pairs(self.lines("words")))
        self._ordinals = {_spaced(word): int(place) for word, place in _pairs(self.lines("ordinals"))}
        self._comparisons = self._measures("comparisons")
        self._too = self._measures("too-much")
        self._named_measures = self._measures("measures")
        self._units = dict(self._read_units())
        units = _any(self._units)
        self.words |= {
            "m": f"(?P<m>{_any(self._comparisons)})",
            "too": f"(?P<m>{_any(self._too)})",
            "measure": f"(?P<m>{_any(self._named_measures)})",
            "n": f"(?P<n>{_AMOUNT.format(units=units)})",
            "ordinal": f"(?P<ordinal>{_any(self._ordinals)})",
            "letter": f"(?P<letter>[a-z]{BETWEEN})",
            "number": rf"(?P<number>#?\d{{1,2}}{BETWEEN})",
            "fact": f"(?P<fact>[{FACT}-{LAST_FACT}]{BETWEEN})",
            "w": f"(?:{WORD})",
            "end": rf"(?:$|[.,:?]{BETWEEN})",
            "item": f"(?:[{ITEM}-{LAST_ITEM}]{BETWEEN})",
        }
        self.expand()

    def load(self) -> Language:
        return Language(
            name=self.name,
            patterns=tuple(self._patterns()),
            reasons=tuple(self._sentence(line) for line in self.lines("reasons")),
            items=tuple(Lazy(rf"(?<!\S){self.made(line)}") for line in self.lines("items")),
            fill=Lazy(rf"(?:{self.alternatives('fill')}|, ){{0,6}}"),
            begins=self.plain("begins") | self.plain("why"),
            why=self.plain("why"),
            ends=Lazy(rf"$|[.,:?]{BETWEEN}|{self.alternatives('ends')}|[^\w\s{FACT}-{LAST_ITEM}]{BETWEEN}"),
            not_then=Lazy(rf"(?:,{BETWEEN})?{self.alternatives('not-then')}"),
            negations=self.plain("negations"),
            not_why=self.plain("not-why"),
            blocks=self.anywhere("blocks"),
            unread=self.anywhere("unread"),
            asks=Lazy(self.alternatives("asks")),
            scopes=tuple((scope, self.anywhere(name)) for name, scope in _LISTS.items()),
            for_another=self.anywhere("for-another"),
            of_another=self.anywhere("of-another"),
            for_person_too=self.anywhere("for-person-too"),
            first_person=self.plain("first-person"),
            changed=self.anywhere("changed"),
            light=self.plain("light"),
            nouns=self.plain("nouns"),
            definite=self.plain("definite"),
            pronouns=self.plain("pronouns"),
            joins=self.plain("joins"),
            ordinals=self._ordinals,
            comparisons=self._comparisons,
            too=self._too,
            measures=self._named_measures,
            units=self._units,
            everything=self.plain("everything"),
            endings=self._endings(),
            names=self._names(),
            behind_letter=self.plain("behind-letter"),
            reserved=self._reserved(),
        )

    def _patterns(self) -> Iterable[Pattern]:
        for meaning in Meaning:
            for line in self.lines(meaning.value):
                head, _, pattern = line.partition(": ")
                name, _, scope = head.partition(" @")
                if not pattern:
                    raise BadPattern(f"{self.name}: {line!r} has no name")
                whole = f"{self.name}.{meaning.value}.{name}"
                yield Pattern(whole, meaning, self._sentence(pattern), Scope(scope) if scope else None)

    def _sentence(self, pattern: str) -> Lazy:
        return Lazy(self.made(pattern) + ENDED)

    def _measures(self, section: str) -> dict[str, More]:
        found: dict[str, More] = {}
        for name, phrases in _pairs(self.lines(section)):
            measure, _, which = name.partition(" ")
            more = More(Measure(measure), which == "more")
            found |= {_spaced(phrase): more for phrase in phrases.split(" | ")}
        return found

    def _read_units(self) -> Iterable[tuple[str, tuple[Measure, float]]]:
        for name, phrases in _pairs(self.lines("units")):
            measure, _, factor = name.partition(" ")
            for phrase in phrases.split(" | "):
                yield _spaced(phrase), (Measure(measure), float(factor or 1))

    def _endings(self) -> Endings:
        pairs = (line.partition(">") for line in self.lines("endings"))
        found = [(ending.strip(), simple.strip()) for ending, _, simple in pairs]
        return tuple(sorted(found, key=lambda pair: -len(pair[0])))

    def _names(self) -> dict[Words, tuple[Words, ...]]:
        found: dict[Words, list[Words]] = {}
        for value, phrases in _pairs(self.lines("names")):
            for phrase in phrases.split(" | "):
                found.setdefault(tuple(_spaced(phrase).split()), []).append(tuple(_spaced(value).split()))
        return {name: tuple(values) for name, values in found.items()}

    def _reserved(self) -> frozenset[str]:
        named = {"endings", "nouns", "units", "ordinals", "comparisons", "too-much", "measures", "names"}
        lines = [line for name, found in self._sections.items() if name not in named for line in found]
        told = [line.partition(": ")[2] or line.partition(" = ")[2] or line for line in lines]
        words = {word for line in told for word in literals(line)}
        phrases = (*self._comparisons, *self._too, *self._ordinals)
        return frozenset(words | {word for phrase in phrases for word in phrase.split()})


def _pairs(lines: Iterable[str]) -> Iterable[tuple[str, str]]:
    for line in lines:
        name, _, said = line.partition(" = ")
        yield name.strip(), said.strip()


def _spaced(phrase: str) -> str:
    return "".join(f"{word.text} " for word in tokens(phrase))


def _any(phrases: Iterable[str]) -> str:
    longest_first = sorted(phrases, key=lambda phrase: (-len(phrase), phrase))
    made = ("".join(re.escape(word) + BETWEEN for word in phrase.split()) for phrase in longest_first)
    return f"(?:{'|'.join(made)})"
