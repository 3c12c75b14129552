"""Targets of a phrase, such as `the red or the blue ones`."""

from collections.abc import Sequence
from itertools import pairwise

from sager_language.corrections.language import Language
from sager_language.corrections.names import Named, Names
from sager_language.corrections.tokens import PAUSE
from sager_language.corrections.units import Unit
from sager_language.types import Fact

MAX_LIST = 8


class Phrases:
    """Reads phrases about what can be named.

    Args:
        names: what can be named.
        language: which words have no content.
        domain: what the items are; its words have no content either.
        about: the item that `it` means, if there is one.
    """

    def __init__(self, names: Names, language: Language, domain: Sequence[str], about: str | None) -> None:
        self._names = names
        self._language = language
        self._nouns = language.nouns | frozenset(domain) | names.shared_titles
        self._empty = language.light | language.pronouns
        self._about = about

    def named(self, units: Sequence[Unit]) -> tuple[Named, ...]:
        """Return everything that a phrase names; empty if any part is unclear."""
        found: list[Named] = []
        for part in _parts(units, self._language.joins):
            one = self.one(part)
            if one is None:
                return ()
            found.append(one)
        return tuple(found) if len(found) <= MAX_LIST else ()

    def one(self, units: Sequence[Unit]) -> Named | None:
        """Return the single fact or item of a phrase without `and`."""
        if not units:
            return None
        if len(units) == 1 and units[0].text in self._language.pronouns:
            return Named(items=(self._about,)) if self._about else None
        begins, ends = self._core(units)
        for size in range(len(units), 0, -1):
            for first in range(min(begins, len(units) - size) + 1):
                if first + size >= ends and (found := self._exactly(units[first : first + size])):
                    is_general = all(map(self._is_noun, units[first : first + size]))
                    if is_general and any(unit.text in self._language.definite for unit in units):
                        # "This book" is one of them, not the category "book".
                        return None
                    return self._told(found, units)
        parts = (self._part(units[first:ends]) for first in range(begins + 1))
        return next(filter(None, parts), None)

    def all_shown(self, units: Sequence[Unit]) -> bool:
        """Return True if a phrase means everything that is shown."""
        return all(unit.text in self._language.everything for unit in units)

    def _core(self, units: Sequence[Unit]) -> tuple[int, int]:
        first, end = 0, len(units)
        while first < end and self._is_light(units[first]):
            first += 1
        while end > first and self._is_noun(units[end - 1]):
            end -= 1
        return first, end

    def _is_light(self, unit: Unit) -> bool:
        return unit.named is None and (unit.text in self._language.light or self._is_noun(unit))

    def _is_noun(self, unit: Unit) -> bool:
        return unit.named is None and (unit.text in self._nouns or unit.text in self._names.dimension_words)

    def _exactly(self, units: Sequence[Unit]) -> Named | None:
        if len(units) == 1 and units[0].named is not None:
            return units[0].named
        words = _words(units)
        # "I don't want any other" is no word against a category that is called "other".
        return None if self._empty.issuperset(words) else self._names.of(words)

    def _told(self, found: Named, units: Sequence[Unit]) -> Named | None:
        """Return one target; a stated dimension decides between facts of one name.

        Or all of them where one shown item has them all, as a person who directs and plays.
        """
        if found.fact or found.item:
            return found
        said = {unit.text for unit in units if unit.named is None}
        told = [fact for fact in found.facts if said.issuperset(fact.dimension.split("_"))]
        if len(told) == 1:
            return Named((told[0],))
        return Named(found.facts) if found.facts and self._names.together(found.facts) else None

    def _part(self, units: Sequence[Unit]) -> Named | None:
        fact: Fact | None = None
        if units and all(unit.named is None for unit in units) and not self._empty.issuperset(_words(units)):
            fact = self._names.part(_words(units))
        return Named((fact,)) if fact else None


def _words(units: Sequence[Unit]) -> tuple[str, ...]:
    return tuple(word for unit in units for word in (unit.words or (unit.text,)))


def _parts(units: Sequence[Unit], joins: frozenset[str]) -> list[Sequence[Unit]]:
    cuts = [-1, *(at for at, unit in enumerate(units) if unit.text in joins or unit.text == PAUSE), len(units)]
    parts = [units[first + 1 : end] for first, end in pairwise(cuts)]
    # "a, b, and c" has nothing between the comma and the word.
    return [part for part in parts if part] if len(parts) > 1 else parts
