"""The phrase of a value, without words that only colour it."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from sager_language.corrections.names import may_be_named, name_words, stem_of
from sager_language.corrections.tokens import INNER_QUOTE, PAUSE, QUOTE, STOPS
from sager_language.corrections.units import Spelt, Unit
from sager_language.preferences.language import Language, Tail
from sager_language.preferences.similarity import listed as listed_words
from sager_language.text import normalise
from sager_language.types import Fact, Scope

# Verbs of one short syllable double their last letter: `swapping`.
_SHORT: Final = re.compile(r"[^aeiou]*[aeiou][^aeiouwxy]")


def doing(verb: str, language: Language) -> str:
    """Return a habit's verb as a noun, such as `bringing`."""
    if verb in language.verbs:
        return language.verbs[verb]
    return _infinitive(verb) if language.name == "de" else _gerund(verb)


def alone_of(verb: str, language: Language) -> str:
    """The verb behind `we`, as it follows `I`."""
    return verb.removesuffix("n") if language.name == "de" else verb


def _gerund(verb: str) -> str:
    word, _, rest = verb.partition(" ")
    if word.endswith("ing"):
        return verb  # as it was said: "I've been volunteering at ..."
    if word.endswith("ie"):
        word = word[:-2] + "y"
    elif word.endswith("e") and not word.endswith(("ee", "oe", "ye")):
        word = word[:-1]
    elif _SHORT.fullmatch(word):
        word += word[-1]
    return f"{word}ing {rest}".rstrip()


def _infinitive(verb: str) -> str:
    return verb if verb.endswith("n") else f"{verb.removesuffix('e')}en"


MAX_VALUE_CHARS: Final = 100
MAX_VALUE_WORDS: Final = 18
MAX_LIST: Final = 6
# `a and b` may be one thing.
MIN_LIST: Final = 3
MAX_TAIL_WORDS: Final = 6
MAX_ADJECTIVES: Final = 3
# Of a part of a list; longer parts are clauses of their own.
MAX_PART_WORDS: Final = 3
_EMPTY: Final = frozenset({"for", "to", "on"})
_DOING: Final = "ing"
_MARKS: Final = frozenset({QUOTE, INNER_QUOTE})
_AROUND: Final = (
    " \t\r\n.,;:!?*_~`'\"()[]{}<>-\u2013\u2014\u2026"
    "\u201c\u201d\u201e\u201f\u00ab\u00bb\u2039\u203a\u2018\u2019\u201a\u300c\u300d"
)


@dataclass
class Phrase:
    """The phrase of a value, from unit `first` up to `end`.

    Attributes:
        first: where it begins.
        end: where it ends, without tails.
        until: where it ends, with them.
        tails: what its tails mean.
        scope: the duration that they state, if any.
    """

    first: int
    end: int
    until: int
    tails: set[Tail] = field(default_factory=set)
    scope: Scope | None = None


def phrase_from(
    units: Sequence[Unit], spelt: Spelt, first: int, language: Language, *, over_commas: bool = False
) -> Phrase:
    """Return the phrase from there on; `over_commas` adds what follows commas."""
    end = first
    while end < len(units) and end - first < MAX_VALUE_WORDS:
        is_stop = units[end].text in STOPS and units[end].text not in _MARKS
        if is_stop and not (over_commas or _is_adjectives(units, spelt, first, end, language)):
            break
        if is_stop and not _goes_on(units, end, language):
            break
        at = spelt.starts[end]
        if end > first and (language.ends.match(spelt.text, at) or language.condition.match(spelt.text, at)):
            break
        end += 1
    return trimmed(units, first, end, language)


def _is_adjectives(units: Sequence[Unit], spelt: Spelt, first: int, end: int, language: Language) -> bool:
    behind = spelt.starts[end + 1] if end + 1 < len(units) else len(spelt.text)
    if language.not_values.match(spelt.text, behind) or language.ends.match(spelt.text, behind):
        return False
    first = next((at + 1 for at in range(end - 1, first, -1) if units[at].text in language.joins), first)
    parts = [unit.text for unit in units[first:end] if unit.text != PAUSE]
    if parts[:1] and parts[0] not in language.adjectives and parts[0].endswith(_DOING):
        parts = parts[1:]
    if not 0 < len(parts) <= MAX_ADJECTIVES:
        return False
    return all(part in language.adjectives or part.endswith(language.adjective_endings) for part in parts)


def _goes_on(units: Sequence[Unit], comma: int, language: Language) -> bool:
    behind = _words(units[comma + 1 : comma + 2 + MAX_PART_WORDS])
    is_clause = not behind or behind[0] in language.begins or language.me in behind
    return units[comma].text == PAUSE and not is_clause and behind not in language.tails


def trimmed(units: Sequence[Unit], first: int, until: int, language: Language) -> Phrase:
    """Return these units as a phrase, without words that only colour it."""
    found = Phrase(first, until, until)
    for size in range(min(MAX_TAIL_WORDS, until - first - 1), 0, -1):
        if language.tails.get(_words(units[first : first + size])) is Tail.NOW:
            found.first, found.scope = first + size, Scope.NOW
            break
    while found.first < found.end - 1 and units[found.first].text in language.before_values:
        found.first += 1
    while found.end > found.first:
        if units[found.end - 1].text in language.dangling:
            found.end -= 1
            continue
        sizes = range(min(MAX_TAIL_WORDS, found.end - found.first), 0, -1)
        kinds = ((size, language.tails.get(_words(units[found.end - size : found.end]))) for size in sizes)
        size, kind = next(((size, kind) for size, kind in kinds if kind is not None), (0, None))
        if kind is None:
            break
        found.tails.add(kind)
        found.end -= size
        if kind is Tail.NOW:
            found.scope = Scope.NOW
    return found


def _words(units: Sequence[Unit]) -> tuple[str, ...]:
    return tuple(unit.text for unit in units)


def listed(units: Sequence[Unit], spelt: Spelt, phrase: Phrase, language: Language) -> list[tuple[int, int]]:
    """Return the parts of a list that begins with the phrase."""
    alone = [(phrase.first, phrase.end)]
    joins = language.corrections.joins
    comma = next((at for at in range(phrase.first, len(units)) if units[at].text in STOPS), len(units))
    if _is_adjectives(units, spelt, phrase.first, comma, language):
        return alone
    first, join = phrase.first, None
    parts: list[tuple[int, int]] = []
    for at in range(first, min(len(units), first + MAX_LIST * (MAX_PART_WORDS + 2)) + 1):
        ends = at == len(units) or units[at].text in STOPS
        if not ends and units[at].text not in joins:
            continue
        if at > first:
            parts.append((first, at))
        if join is not None or (ends and (at == len(units) or units[at].text != PAUSE)):
            break
        join = None if ends else at
        first = at + 1
    goes_on = join is None or language.ends.match(spelt.text, spelt.starts[join])
    is_list = phrase.until == phrase.end and MIN_LIST <= len(parts) <= MAX_LIST and not goes_on
    no_part = language.begins - joins | {language.me}
    if not is_list or any(end - at > MAX_PART_WORDS or no_part & {*_words(units[at:end])} for at, end in parts):
        return alone
    return parts


def in_words(text: str, units: Sequence[Unit], first: int, end: int) -> str:
    """Return these units as written, on one line, at most 100 characters."""
    if first >= end:
        return ""
    written = " ".join(text[units[first].start : units[end - 1].end].split()).strip(_AROUND)
    if len(written) > MAX_VALUE_CHARS:
        written = written[: MAX_VALUE_CHARS + 1].rpartition(" ")[0].strip(_AROUND)[:MAX_VALUE_CHARS]
    return written


def spoken(text: str, units: Sequence[Unit], first: int, end: int, verb: str, language: Language) -> str | None:
    """Return a phrase's value; None without a general preference."""
    said = "".join(f"{unit.text} " for unit in units[first:end])
    is_where = verb and end - first > 1 and units[first].text in listed_words("prepositions")
    # "I read in bed" has a value; "I read in this" has none.
    is_nothing = language.not_values.match(said) and not (
        is_where and language.not_values.match(said.partition(" ")[2]) is None
    )
    if is_nothing or language.never_in_values.search(said):
        return None
    words = _words(units[first:end])
    if not language.not_in_values.isdisjoint(words) or _is_empty(words, verb, language):
        return None
    if end > first and units[first].text in language.to and not verb:
        verb, first = _verb_at(units, first + 1, end, language)
    written = in_words(text, units, first, end)
    if verb:
        called = doing(verb, language)
        # "reading the news", but "Zeitung lesen".
        order = (written, called) if language.name == "de" else (called, written)
        written = " ".join(part for part in order if part)[:MAX_VALUE_CHARS].strip()
    return written if normalise(written) and any(map(str.isalpha, written)) else None


def _is_empty(words: tuple[str, ...], verb: str, language: Language) -> bool:
    if verb:
        # "opting for activities", but also "cooking", without a verb of its own.
        called = doing(verb, language).partition(" ")[0]
        return bool(words) and called in language.empty_verbs and _EMPTY.union(language.not_alone).issuperset(words)
    begins = 1 if len(words) > 1 and words[0] in language.empty_verbs else 0
    return language.not_alone.issuperset(words[begins:])


def _verb_at(units: Sequence[Unit], first: int, end: int, language: Language) -> tuple[str, int]:
    for size in (3, 2, 1):
        phrase = " ".join(_words(units[first : first + size]))
        if first + size <= end and language.verbs.get(phrase):
            return phrase, first + size
    return "", first


class Vocabularies:
    """Look up words in the vocabularies of domains.

    Args:
        vocabulary: the facts of a domain.
    """

    def __init__(self, vocabulary: Callable[[str], Sequence[Fact]]) -> None:
        self._vocabulary = vocabulary
        self._facts: dict[str, Sequence[Fact]] = {}

    def fact(self, value: str, domain: str | None, language: Language) -> Fact | None:
        """Return the single fact that these words name without light words."""
        if domain is None:
            return None
        if domain not in self._facts:
            self._facts[domain] = tuple(self._vocabulary(domain))
        said = [word for word in name_words(value) if word not in STOPS]
        facts = may_be_named(
            self._facts[domain], (stem for word in said for stem in (word, self._stem(word, language)))
        )
        for words in self._ways(said, domain, language):
            stems = tuple(self._stem(word, language) for word in words)
            found = {fact for fact in facts if self._stems(fact, language) == stems}
            if len(found) == 1:
                return found.pop()
        return None

    def _ways(self, said: Sequence[str], domain: str, language: Language) -> Iterator[Sequence[str]]:
        yield said
        words = language.corrections
        nouns = words.nouns | set(name_words(domain.replace("_", " ").replace(".", " ")))
        first, end = 0, len(said)
        while first < end - 1 and said[first] in words.light:
            first += 1
        yield said[first:end]
        while end - 1 > first and (said[end - 1] in nouns or self._stem(said[end - 1], language) in nouns):
            end -= 1
        yield said[first:end]

    def _stems(self, fact: Fact, language: Language) -> tuple[str, ...]:
        return tuple(self._stem(word, language) for word in name_words(fact.value) if word not in STOPS)

    @staticmethod
    def _stem(word: str, language: Language) -> str:
        return stem_of(word, language.corrections.endings)
