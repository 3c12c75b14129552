"""Known preferences, found in a sentence in any wording."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

from sager_language.corrections.patterns import FACT
from sager_language.corrections.tokens import STOPS
from sager_language.corrections.units import Unit
from sager_language.preferences.finding import Effect, Finding
from sager_language.preferences.similarity import Words, listed, stem, words_of
from sager_language.style import DIMENSIONS
from sager_language.text import normalise
from sager_language.types import Line, Stance

# So many other words may stand among those of a name, as in `runs on long mornings`.
MAX_BETWEEN: Final = 2
# Letters by which a word is looked up.
_KEY: Final = 4
_WORDS: Final = re.compile(r"\w+")
_SHORTEST_HEAD: Final = 3
_LONG: Final = 6
_MAX_ENDING: Final = 3


@dataclass(frozen=True)
class Known:
    """Something that a person likes or does not.

    Attributes:
        stance: whether they like it.
        value: what; with `dimension` and `domain` as in a line of a card.
        words: the stems of its words.
        holds: whether it is not past.
        head: the stem by which it is called in short: `camping` of `going camping in summer`; empty if nothing will do.
    """

    stance: Stance
    dimension: str
    value: str
    domain: str | None
    words: Words
    holds: bool = True
    head: str = ""

    @classmethod
    def of(cls, held: Line | Finding, *, holds: bool = True) -> Self:
        """Return the entry of a line or a finding."""
        # What it is the favourite of is no part of the name: "green tea (drink)".
        bare = held.value.rpartition(" (")[0] if held.value.endswith(")") else held.value
        said = name_of(held) if held.dimension in DIMENSIONS else bare or held.value
        return cls(Stance(held.stance), held.dimension, held.value, held.domain, words_of(said), holds, _head(said))


def name_of(held: Line | Finding) -> str:
    """Return what names a preference: "direct" alone may be about flights, not answers."""
    return f"{held.value} answers" if held.dimension in DIMENSIONS else held.value


@dataclass(frozen=True)
class Naming:
    """A mention of a known preference, from `first` up to `end`."""

    known: Known
    first: int
    end: int


class Knowledge:
    """A person's known preferences, from the card and from this chunk."""

    def __init__(self, lines: Iterable[Line], past: Iterable[Line]) -> None:
        self._by_key: dict[str, list[Known]] = {}
        self._by_head: dict[str, list[Known]] = {}
        for line in lines:
            self._add(Known.of(line))
        for line in past:
            self._add(Known.of(line, holds=False))

    def learn(self, findings: Iterable[Finding]) -> None:
        """Add findings."""
        for finding in findings:
            if finding.effect in (Effect.STATES, Effect.UPDATES):
                self._add(Known.of(finding))

    def may_name(self, text: str) -> bool:
        """Return True if a text may name a known preference."""
        return any(word[:_KEY] in self._by_key for word in _WORDS.findall(text.casefold()))

    def named(self, units: Sequence[Unit]) -> list[Naming]:
        """Return full mentions in order; longer ones win overlaps."""
        if not self._by_key:
            return []
        stems = ["" if unit.text in STOPS else stem(normalise(unit.text)) for unit in units]
        found = dict.fromkeys(known for word in stems for known in self._by_key.get(word[:_KEY], ()) if word)
        namings = [naming for known in found for naming in _places(known, stems)]
        namings.sort(key=lambda each: (-len(each.known.words), each.end - each.first, each.first))
        taken: list[Naming] = []
        for each in namings:
            if all(each.end <= one.first or one.end <= each.first or _spans(each, one) for one in taken):
                taken.append(each)
        return sorted(taken, key=lambda each: each.first)

    def those(self, values: Iterable[str]) -> list[Known]:
        """Those of these values that are liked and hold."""
        of_these = {normalise(value) for value in values}
        return [each for each in self._holding() if each.stance is Stance.PREFERS and normalise(each.value) in of_these]

    def _holding(self) -> list[Known]:
        return [known for each in self._by_key.values() for known in each if known.holds]

    def named_in_short(self, units: Sequence[Unit], around: frozenset[str]) -> list[Naming]:
        """Return mentions by the head noun alone, if it is unambiguous.

        `White wine` is not the `red wine` that is known.
        """
        stems = ["" if unit.text in STOPS else stem(normalise(unit.text)) for unit in units]
        found = []
        for at, said in enumerate(stems):
            called = self._called(said)
            before = units[at - 1].text if at and stems[at - 1] else ""
            if called is None or _goes_on(units, at):
                continue
            is_other = before and stems[at - 1] not in called.words and before not in around and not _is_light(before)
            if not is_other and before not in listed("pointing"):
                found.append(Naming(called, at, at + 1))
        return found

    def named_in_part(self, units: Sequence[Unit]) -> list[Naming]:
        """Return mentions by a word that only one known preference has."""
        found: list[Naming] = []
        every = {known for each in self._by_key.values() for known in each}
        for at, unit in enumerate(units):
            if unit.text in STOPS or _is_light(unit.text) or len(unit.text) < _SHORTEST_HEAD:
                continue
            said = stem(normalise(unit.text))
            called = [known for known in every if any(_is_same(said, word) for word in known.words)]
            if len({normalise(known.value) for known in called}) != 1:
                continue
            behind = stem(normalise(units[at + 1].text)) if at + 1 < len(units) else ""
            if _goes_on(units, at) and not any(_is_same(behind, word) for word in called[0].words if behind):
                continue  # "a black mood" is not the black coffee
            if found and found[-1].known in called and found[-1].end == at:
                # "the romance novels" is one name of it, and not two.
                found = [replace(each, end=at + 1) if each.end == at else each for each in found]
            else:
                found += [Naming(known, at, at + 1) for known in called]
        return found

    def _called(self, said: str) -> Known | None:
        holding = [known for known in self._by_head.get(said[:_KEY], ()) if said and _is_same(said, known.head)]
        return holding[0] if len({known.value for known in holding}) == 1 else None

    def _add(self, known: Known) -> None:
        if known.head and known.holds:
            self._by_head.setdefault(known.head[:_KEY], []).append(known)
        if known.words:
            # Any of its words will do: a sentence that names it has them all.
            self._by_key.setdefault(min(known.words)[:_KEY], []).append(known)


def with_signs(units: Sequence[Unit], namings: Sequence[Naming]) -> tuple[list[Unit], list[Sequence[Known]]]:
    """Replace each mention by the sign `{k}`, and return the mentions too."""
    signed: list[Unit] = []
    meant: list[Sequence[Known]] = []
    at = 0
    for first, end in dict.fromkeys((each.first, each.end) for each in namings):
        signed += units[at:first]
        signed.append(replace(units[first], text=FACT, end=units[end - 1].end))
        meant.append([each.known for each in namings if (each.first, each.end) == (first, end)])
        at = end
    return [*signed, *units[at:]], meant


def _parted(value: str) -> tuple[list[str], list[str]]:
    words = [word for word in normalise(value).split("-") if word]
    ends = next((at for at, word in enumerate(words) if at and word in listed("prepositions")), len(words))
    return words[:ends], words[ends:]


def _head(value: str) -> str:
    for part in _parted(value):  # "shopping at Walmart" is called by where
        told = [word for word in part if not _is_light(word) and word not in listed("doing")]
        if told:
            return stem(told[-1]) if len(told[-1]) >= _SHORTEST_HEAD else ""
    return ""


def _has_place(value: str) -> bool:
    return bool(_parted(value)[1])


def _goes_on(units: Sequence[Unit], at: int) -> bool:
    behind = units[at + 1].text if at + 1 < len(units) else ""
    return bool(behind) and behind not in STOPS and not (_is_light(behind) or normalise(behind) in listed("behind"))


def _is_light(word: str) -> bool:
    return normalise(word) in listed("light") | listed("prepositions")


def _spans(one: Naming, other: Naming) -> bool:
    return (one.first, one.end) == (other.first, other.end)


def _places(known: Known, stems: Sequence[str]) -> Iterator[Naming]:
    most = len(known.words) + MAX_BETWEEN
    for first in range(len(stems)):
        if not any(_is_same(stems[first], word) for word in known.words):
            continue
        left = set(known.words)
        for at in range(first, min(len(stems), first + most)):
            if not stems[at]:
                break
            left -= {word for word in left if _is_same(stems[at], word)}
            if not left:
                yield Naming(known, first, at + 1)
                break


def _is_same(said: str, known: str) -> bool:
    if said == known:
        return True
    short, long = sorted((said, known), key=len)
    if long == f"{short}n" and long.endswith("en"):
        return True  # German "jogge" and "joggen"
    return len(short) >= _LONG and long.startswith(short) and len(long) - len(short) <= _MAX_ENDING
