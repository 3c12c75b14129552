"""A text as units: words, stops, and names, each as one sign."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest
from typing import Final

from sager_language.corrections.language import Language
from sager_language.corrections.names import Named, Names
from sager_language.corrections.patterns import FACT, ITEM, OPAQUE
from sager_language.corrections.tokens import INNER_QUOTE, PAUSE, QUOTE, STOPS, Token, tokens

MAX_QUOTED_NAME: Final = 1
MAX_LETTERS: Final = 26
_MOST_NAMES: Final = 0x8FE


@dataclass(frozen=True, slots=True)
class Unit:
    """A word, a stop or a name.

    Attributes:
        text: the word or stop, or one sign for a name.
        start: where it begins in the text.
        end: where it ends.
        named: what it names, if it is a name.
        words: those of a name.
    """

    text: str
    start: int
    end: int
    named: Named | None = None
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Spelt:
    """Units as one text, for patterns: each with a space behind it."""

    text: str
    starts: tuple[int, ...]

    @classmethod
    def of(cls, units: Sequence[Unit]) -> "Spelt":
        """The text of these units."""
        starts, at = [], 0
        for unit in units:
            starts.append(at)
            at += len(unit.text) + 1
        return cls("".join(f"{unit.text} " for unit in units), (*starts, at))

    def marked(self, language: Language) -> "Spelt":
        """With a tab where a sentence may end, which patterns look for."""
        letters = list(self.text)
        for place in self.starts[1:]:
            end = language.ends.match(self.text, place)
            # "Red at all" ends behind "red", but not where "not" follows that.
            if end and not any(language.not_then.match(self.text, then) for then in (place, end.end())):
                letters[place - 1] = "\t"
        return Spelt("".join(letters), self.starts)

    def unit_at(self, place: int) -> int:
        """The index of the unit that begins there, or of the next."""
        return bisect_left(self.starts, place)


def units_of(
    text: str,
    names: Names,
    language: Language,
    items: Sequence[str],
    about: str | None,
    never_names: frozenset[str] = frozenset(),
) -> list[Unit]:
    """The units of a text."""
    found = tokens(text)
    units = _with_names(found, names, language.reserved | never_names)
    units = _with_letters(units, found, language, items, shouts=text.upper() == text)
    return _with_places(_with_single_pauses(_without_quotations(units)), language, names, items, about)


def _with_names(found: Sequence[Token], names: Names, reserved: frozenset[str]) -> list[Unit]:
    units: list[Unit] = []
    at = 0
    for count, mention in enumerate(names.find(found, reserved)[:_MOST_NAMES]):
        units += [Unit(token.text, token.start, token.end) for token in found[at : mention.first]]
        sign = chr(ord(FACT if mention.named.facts else ITEM) + count)
        covered = found[mention.first : mention.end]
        words = tuple(token.text for token in covered)
        units.append(Unit(sign, covered[0].start, covered[-1].end, mention.named, words))
        at = mention.end
    return units + [Unit(token.text, token.start, token.end) for token in found[at:]]


def _with_letters(
    units: Sequence[Unit], found: Iterable[Token], language: Language, items: Sequence[str], *, shouts: bool
) -> list[Unit]:
    capitals = {token.start for token in found if token.is_letter} if not shouts else set()
    lettered: list[Unit] = []
    for unit, behind in zip_longest(units, units[1:]):
        place = ord(unit.text) - ord("a") if unit.start in capitals and unit.named is None else MAX_LETTERS
        is_article = unit.text == "a" and not (
            behind is None or behind.text in STOPS or behind.text in language.behind_letter
        )
        if place < len(items) and unit.text != "i" and not is_article:
            lettered.append(_item(unit, unit, items[place], place))
        else:
            lettered.append(unit)
    return lettered


def _without_quotations(units: Sequence[Unit]) -> list[Unit]:
    kept: list[Unit] = []
    at = 0
    closing = {mark: _last(units, mark) for mark in (QUOTE, INNER_QUOTE)}
    while at < len(units):
        mark = units[at].text
        if mark not in closing:
            kept.append(units[at])
        elif at < closing[mark]:
            end = next(place for place in range(at + 1, len(units)) if units[place].text == mark)
            inside = [unit for unit in units[at + 1 : end] if unit.text not in STOPS]
            if len(inside) == MAX_QUOTED_NAME and inside[0].named:
                kept.append(inside[0])
            else:
                kept.append(Unit(OPAQUE, units[at].start, units[end].end))
            at = end
        at += 1
    return kept


def _with_single_pauses(units: Sequence[Unit]) -> list[Unit]:
    # A bracket and a comma behind it are one pause.
    return [unit for before, unit in pairwise([None, *units]) if unit and not _both_pause(before, unit)]


def _both_pause(before: Unit | None, unit: Unit) -> bool:
    return before is not None and before.text == unit.text == PAUSE


def _last(units: Sequence[Unit], mark: str) -> int:
    return next((place for place in range(len(units) - 1, -1, -1) if units[place].text == mark), -1)


def _with_places(
    units: list[Unit], language: Language, names: Names, items: Sequence[str], about: str | None
) -> list[Unit]:
    spelt = Spelt.of(units)
    taken: dict[int, tuple[int, str]] = {}
    for pattern in language.items:
        for match in pattern.finditer(spelt.text):
            first, end = spelt.unit_at(match.start()), spelt.unit_at(match.end())
            item = _meant(match, units, language, names, items, about)
            if item is not None and not any(first < other_end and at < end for at, (other_end, _) in taken.items()):
                taken[first] = (end, item)
    placed: list[Unit] = []
    at = 0
    for count, first in enumerate(sorted(taken)):
        end, item = taken[first]
        placed += [*units[at:first], _item(units[first], units[end - 1], item, MAX_LETTERS + count)]
        at = end
    return placed + units[at:]


def _meant(
    match: re.Match[str],
    units: Sequence[Unit],
    language: Language,
    names: Names,
    items: Sequence[str],
    about: str | None,
) -> str | None:
    groups = {name: said for name, said in match.groupdict().items() if said is not None}
    if letter := groups.get("letter"):
        place = ord(letter[0]) - ord("a")
    elif ordinal := groups.get("ordinal"):
        place = language.ordinals[plain(ordinal)]
        place = place - 1 if place > 0 else len(items) + place
    elif number := groups.get("number"):
        place = int(number.strip().lstrip("#")) - 1
    elif sign := groups.get("fact"):
        named = next(unit.named for unit in units if unit.text == sign[0])
        having = names.having(named.fact) if named and named.fact else ()
        return having[0] if len(having) == 1 else None
    else:
        return about
    return items[place] if 0 <= place < len(items) else None


def plain(spelt: str) -> str:
    """Return a part of a spelt text, without its tabs."""
    return spelt.replace("\t", " ")


def _item(first: Unit, last: Unit, item: str, count: int) -> Unit:
    # Signs of items named by title count up from the first, these down from the last.
    sign = chr(ord(ITEM) + _MOST_NAMES - 1 - count)
    return replace(first, text=sign, end=last.end, named=Named(items=(item,)), words=(sign,))


def spans(units: Sequence[Unit], stops: frozenset[str]) -> list[tuple[int, int]]:
    """Return the ranges between stops, each with its stop at the end."""
    found, first = [], 0
    for at, unit in enumerate(units):
        if unit.text in stops:
            found.append((first, at))
            first = at + 1
    return [*found, (first, len(units))]
