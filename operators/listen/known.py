"""What is known of a person, as a sentence of theirs names it: what they take back, they name in whatever wording."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, Self

from operators.attributes import normalise
from operators.cards.alike import Words, stem, words_of
from operators.listen.finding import Effect, Finding
from operators.understand.patterns import FACT
from operators.understand.tokens import STOPS
from operators.understand.units import Unit
from schemas.cards import CardLine
from schemas.statements import Stance

MAX_BETWEEN: Final = 2
"""So many other words may stand among those of a name, as in `runs on long mornings`."""
_KEY: Final = 4
"""Letters by which a word is looked up."""
_WORDS: Final = re.compile(r"\w+")
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
    """

    stance: Stance
    dimension: str
    value: str
    domain: str | None
    words: Words
    holds: bool = True

    @classmethod
    def of(cls, held: CardLine | Finding, *, holds: bool = True) -> Self:
        """A line, or what was found in the same chunk."""
        # What it is the favourite of is no part of the name: "green tea (drink)".
        bare = held.value.rpartition(" (")[0] if held.value.endswith(")") else held.value
        return cls(held.stance, held.dimension, held.value, held.domain, words_of(bare or held.value), holds)


@dataclass(frozen=True)
class Naming:
    """Where a sentence names what is known: the units from `first` up to `end`."""

    known: Known
    first: int
    end: int


class Knowledge:
    """All that is known of a person: a card, and what was found in the chunk so far."""

    def __init__(self, lines: Iterable[CardLine], past: Iterable[CardLine]) -> None:
        self._by_key: dict[str, list[Known]] = {}
        for line in lines:
            self._add(Known.of(line))
        for line in past:
            self._add(Known.of(line, holds=False))

    def learn(self, findings: Iterable[Finding]) -> None:
        """Add what was found."""
        for finding in findings:
            if finding.effect in (Effect.STATES, Effect.UPDATES):
                self._add(Known.of(finding))

    def may_name(self, text: str) -> bool:
        """Whether a text has a word with which what is known may be named; said quickly."""
        return any(word[:_KEY] in self._by_key for word in _WORDS.findall(text.casefold()))

    def named(self, units: Sequence[Unit]) -> list[Naming]:
        """What a sentence names by all of its words, in order; of what overlaps, what has more words."""
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

    def _add(self, known: Known) -> None:
        if known.words:
            # Any of its words will do: a sentence that names it has them all.
            self._by_key.setdefault(min(known.words)[:_KEY], []).append(known)


def with_signs(units: Sequence[Unit], namings: Sequence[Naming]) -> tuple[list[Unit], list[Sequence[Known]]]:
    """The units with one sign, which patterns call `{k}`, for each name; and what each sign stands for, in order."""
    signed: list[Unit] = []
    meant: list[Sequence[Known]] = []
    at = 0
    for first, end in dict.fromkeys((each.first, each.end) for each in namings):
        signed += units[at:first]
        signed.append(replace(units[first], text=FACT, end=units[end - 1].end))
        meant.append([each.known for each in namings if (each.first, each.end) == (first, end)])
        at = end
    return [*signed, *units[at:]], meant


def _spans(one: Naming, other: Naming) -> bool:
    return (one.first, one.end) == (other.first, other.end)


def _places(known: Known, stems: Sequence[str]) -> Iterator[Naming]:
    """The shortest places that have all of its words, and few others between."""
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
    """Whether two stems are of one word: long ones may still differ in an ending."""
    if said == known:
        return True
    short, long = sorted((said, known), key=len)
    return len(short) >= _LONG and long.startswith(short) and len(long) - len(short) <= _MAX_ENDING
