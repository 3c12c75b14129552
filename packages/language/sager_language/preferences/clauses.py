"""Clauses with statements of a person, each by its first pattern."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from sager_language.corrections.tokens import COLON, INNER_QUOTE, PAUSE, QUOTE, STOP, STOPS
from sager_language.corrections.units import Spelt, Unit
from sager_language.preferences.language import FORGETS, Group, Kind, Language, Pattern, Tail
from sager_language.preferences.values import Phrase, alone_of, phrase_from, trimmed
from sager_language.types import Scope

# Of a sentence; what follows is not read.
MAX_CLAUSES: Final = 24
MAX_ELLIPTIC_UNITS: Final = 60
# Of a clause without news, before one that goes on without a subject.
MAX_FIRST_UNITS: Final = 10
_MARKS: Final = frozenset({QUOTE, INNER_QUOTE})
_WITHOUT_SUBJECT: Final = frozenset({Kind.PREFERS, Kind.AVOIDS, Kind.HABITS, Kind.NEVER})


@dataclass(frozen=True)
class Clause:
    """A pattern's match.

    Attributes:
        pattern: that found it.
        match: what it matched, in `spelt`.
        units: of the sentence.
        spelt: the same as one text.
        begins: the unit with which the clause begins, fillers included.
        end: the unit behind it.
        phrase: what it is about.
        led_now: whether `now` or the like precedes it.
    """

    pattern: Pattern
    match: re.Match[str]
    units: Sequence[Unit]
    spelt: Spelt
    begins: int
    end: int
    phrase: Phrase
    led_now: bool = False

    @property
    def kind(self) -> Kind:
        """The meaning of the clause."""
        return self.pattern.kind

    @property
    def verb(self) -> str:
        """The activity in a clause of a habit, or an empty text."""
        return (self.match.groupdict().get("v") or "").strip()

    @property
    def noun(self) -> str:
        """Of what something is the favourite; or nothing."""
        return " ".join((self.match.groupdict().get("noun") or self.pattern.noun).split())

    def slot(self, name: str) -> tuple[int, int] | None:
        """The units of a slot, if the pattern has it."""
        if self.match.groupdict().get(name) is None:
            return None
        return self.spelt.unit_at(self.match.start(name)), self.spelt.unit_at(self.match.end(name))


class ClauseReader:
    """Reads a sentence clause by clause.

    Args:
        units: of the sentence.
        language: whose patterns apply.
    """

    def __init__(self, units: Sequence[Unit], language: Language) -> None:
        self._units = units
        self._spelt = Spelt.of(units)
        self._language = language
        self._groups = language.statements

    def forgets(self) -> Clause | None:
        """The first clause in which the person wants something forgotten, or None."""
        groups = self._language.forgets
        clauses = (self._clause(self._units, self._spelt, at, groups) for at in self._starts())
        return next(filter(None, clauses), None)

    def read(self) -> Iterator[Clause]:
        """Return the clauses in their order, without conditional ones."""
        condition = self._language.condition.search(self._spelt.text)
        read_until = 0
        for at in self._starts():
            if at < read_until or (condition and self._spelt.starts[at] > condition.start()):
                continue
            clause = self._clause(self._units, self._spelt, at, self._groups)
            if clause is None or clause.kind is Kind.INSTEAD:
                # "Drink coffee" behind "no tea any more" names the successor; by itself it states the same or less.
                clause = self._second(at) or self._otherwise(at) or clause
            while clause is not None:
                read_until = max(clause.end + len(self._units) - len(clause.units), at + 1)
                if not self._is_conditional(clause):
                    yield clause
                clause = self._elliptic(clause)

    def _starts(self) -> Iterator[int]:
        units, begun = self._units, self._filled(self._spelt, 0)
        count = 0
        for at in range(len(units)):
            begins = at == 0 or units[at - 1].text in (PAUSE, STOP) or units[at - 1].text in self._language.begins
            begins = begins or (at == 1 and units[0].text in _MARKS)
            if at and units[at - 1].text == COLON:
                # "Tell him: I hate tea" is for another person; "honestly: I hate tea" is not.
                begins = begun >= self._spelt.starts[at - 1]
            if begins:
                count += 1
                if count > MAX_CLAUSES:
                    return
                yield at

    def _filled(self, spelt: Spelt, place: int) -> int:
        match = self._language.fill.match(spelt.text, place)
        return match.end() if match else place

    def _clause(self, units: Sequence[Unit], spelt: Spelt, at: int, groups: Sequence[Group]) -> Clause | None:
        place = spelt.starts[at]
        instead: Clause | None = None
        for start in dict.fromkeys((place, self._filled(spelt, place))):
            for group in groups:
                if group.any.match(spelt.text, start) is None or self._says_nothing(group.kind, spelt, start):
                    continue
                clause = self._first(group.patterns, units, spelt, at, start)
                if clause is not None and group.kind is not Kind.INSTEAD:
                    return clause
                # "Lately I only watch comedies" implies a change by itself.
                instead = instead or clause
        return instead

    def _first(
        self, patterns: Sequence[Pattern], units: Sequence[Unit], spelt: Spelt, at: int, start: int
    ) -> Clause | None:
        for pattern in patterns:
            match = pattern.clause.match(spelt.text, start)
            clause = match and self._meant(pattern, match, units, spelt, at)
            if match and clause:
                led = self._language.leads_now.search(spelt.text, spelt.starts[at], match.end()) is not None
                return replace(clause, led_now=led or Tail.SINCE in clause.phrase.tails)
        return None

    def _says_nothing(self, kind: Kind, spelt: Spelt, start: int) -> bool:
        return kind is Kind.NEVER and self._language.not_never.match(spelt.text, start) is not None

    def _meant(
        self, pattern: Pattern, match: re.Match[str], units: Sequence[Unit], spelt: Spelt, begins: int
    ) -> Clause | None:
        behind = spelt.unit_at(match.end())
        if pattern.is_open:
            is_wish = pattern.kind in FORGETS
            phrase = phrase_from(units, spelt, behind, self._language, over_commas=is_wish)
            end = phrase.until
            if (other := self._compared(match, phrase, spelt)) is not None:
                if pattern.kind is Kind.AVOIDS:
                    return None  # "I don't prefer trains to planes" does not mean that they avoid trains.
                phrase.end = other
        else:
            first, until = spelt.unit_at(match.start("x")), spelt.unit_at(match.end("x"))
            if units[first].text in self._language.begins | {self._language.me}:
                return None  # "but tea suits me" is about tea
            phrase, end = trimmed(units, first, until, self._language), behind
            tail = trimmed(units, behind, _stop(units, behind), self._language)
            if tail.end == behind < tail.until:
                phrase.tails |= tail.tails
                phrase.scope = phrase.scope or tail.scope
                end = tail.until
        is_told = phrase.end > phrase.first or match.groupdict().get("v")
        is_wish_of_now = pattern.kind is not Kind.WISHES or pattern.scope or phrase.scope is Scope.NOW
        is_of_past = pattern.kind is not Kind.NOT_AVOIDS or Tail.GONE in phrase.tails
        if not (is_told and is_wish_of_now and is_of_past):
            return None
        return Clause(pattern, match, units, spelt, begins, end, phrase)

    def _compared(self, match: re.Match[str], phrase: Phrase, spelt: Spelt) -> int | None:
        language, text = self._language, spelt.text
        for at in range(phrase.first, phrase.end - 1):
            before = spelt.starts[at]
            weighs = language.versus_weighed.match(text, before) and language.weighs.search(text, match.start(), before)
            if weighs or language.versus.match(text, before):
                return at + 1
        return None

    def _elliptic(self, before: Clause) -> Clause | None:
        units, at = before.units, before.end
        if at < len(units) and units[at].text == PAUSE:
            at += 1
        if not at < len(units) - 1 <= at + MAX_ELLIPTIC_UNITS or units[at].text not in self._language.joins:
            return None
        clause = self._joined(at)
        return clause and replace(clause, begins=before.begins)

    def _second(self, at: int) -> Clause | None:
        units, join = self._units, at - 1
        if at == 0 or at >= len(units) or units[join].text not in self._language.joins:
            return None
        first = next((to + 1 for to in range(join - 1, -1, -1) if units[to].text in STOPS), 0)
        before = units[first:join]
        is_mine = 1 < len(before) <= MAX_FIRST_UNITS and before[0].text == self._language.me
        words = {unit.text for unit in before[1:]}
        others = self._language.not_in_values | self._language.to | self._language.lets | {self._language.me}
        return self._joined(join) if is_mine and words.isdisjoint(others) else None

    def _otherwise(self, at: int) -> Clause | None:
        place = self._filled(self._spelt, self._spelt.starts[at])
        first = self._spelt.unit_at(place)
        units = self._reworded(at, first, place)
        clause = self._clause(units, Spelt.of(units), first, self._groups) if units else None
        # The habits of several people, as of a firm, reveal less of one of them than their tastes.
        is_of_us = clause is not None and clause.kind is Kind.USES and self._units[first].text in self._language.us
        if clause is None or is_of_us:
            return None
        led = self._language.leads_now.search(self._spelt.text, self._spelt.starts[at], place) is not None
        return replace(clause, begins=at, led_now=clause.led_now or led)

    def _reworded(self, at: int, first: int, place: int) -> Sequence[Unit]:
        language, units, text = self._language, self._units, self._spelt.text
        if first >= len(units):
            return ()
        unit = units[first]
        if at == 0 and language.bare.match(text, place):
            return [*units[:first], replace(unit, text=language.me, end=unit.start), *units[first:]]
        if (long := language.plainly.match(text, place)) is not None:
            end = self._spelt.unit_at(long.end())
            am = [replace(unit, text=word) for word in language.am]
            return [*units[:first], *am, *units[end:]]
        if unit.text in language.us:
            # "We go camping every summer": one of them is the person.
            verb = units[first + 1 : first + 2]
            alone = [replace(each, text=language.us.get(each.text, alone_of(each.text, language))) for each in verb]
            return [*units[:first], replace(unit, text=language.us[unit.text]), *alone, *units[first + 2 :]]
        is_led = at < first < len(units) - 1 and units[first + 1].text == language.me
        if is_led and language.inverted.fullmatch(unit.text):
            return [*units[:first], units[first + 1], unit, *units[first + 2 :]]
        return ()

    def _joined(self, at: int) -> Clause | None:
        units = self._units
        if not at < len(units) - 1 <= at + MAX_ELLIPTIC_UNITS:
            return None
        me = replace(units[at], text=self._language.me)
        rest = [*units[:at], me, *units[at + 1 :]]
        groups = [group for group in self._groups if group.kind in _WITHOUT_SUBJECT]
        return self._clause(rest, Spelt.of(rest), at, groups)

    def _is_conditional(self, clause: Clause) -> bool:
        behind = clause.spelt.text[clause.spelt.starts[clause.end] :].removeprefix(f"{PAUSE} ")
        return self._language.condition.match(behind) is not None


def _stop(units: Sequence[Unit], first: int) -> int:
    return next((at for at in range(first, len(units)) if units[at].text in STOPS), len(units))
