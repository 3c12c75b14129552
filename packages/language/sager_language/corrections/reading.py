"""Reads a text by the patterns of one language, clause by clause."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Final

from sager_language.corrections.bounds import bounded, compared
from sager_language.corrections.directives import SAYS, of_facts
from sager_language.corrections.language import Language, Meaning, Pattern
from sager_language.corrections.names import Named
from sager_language.corrections.phrases import MAX_LIST, Phrases
from sager_language.corrections.tokens import ASKS, COLON, PAUSE, STOP, STOPS
from sager_language.corrections.units import Spelt, Unit, plain, spans
from sager_language.types import MAX_QUOTED_CHARS, Bound, Item, Scope, Stance, Statement

# Of a text; what follows is not read.
MAX_CLAUSES: Final = 96
MAX_READS: Final = 16
_SENTENCE_ENDS: Final = frozenset({STOP, ASKS})


@dataclass(frozen=True, slots=True)
class Read:
    """One statement of the person.

    Attributes:
        statement: the wish.
        words: the span of the text that states it, at most 200 characters.
        scope: the duration that they state, if any.
        pattern: the name of the pattern that matched.
    """

    statement: Statement
    words: str
    scope: Scope | None
    pattern: str


@dataclass
class Reading:
    """The directives read so far.

    Attributes:
        says: the person's statements.
        suits: items that would do.
        changed: True if the person states that their taste has changed.
    """

    says: list[Read] = field(default_factory=list)
    suits: list[str] = field(default_factory=list)
    changed: bool = False


@dataclass(frozen=True)
class _Sentence:
    """A sentence without its phrases for durations, which are kept apart."""

    units: tuple[Unit, ...]
    scopes: tuple[tuple[int, Scope], ...]
    is_question: bool
    spelt: Spelt


@dataclass(frozen=True)
class _Clause:
    """A pattern's match: the units from `first` up to `end`."""

    first: int
    end: int
    pattern: Pattern
    says: tuple[Statement, ...]
    suits: tuple[str, ...] = ()
    scope: Scope | None = None
    reasons: bool = False


class Reader:
    """Reads texts about the items on screen.

    Args:
        text: as the person wrote it.
        language: whose patterns apply.
        phrases: reads what phrases name.
        items: the items on screen.
        about: the item in question, if there is one.
        only_of_me: True to read only clauses with `I` or `me`, if another person's taste is mentioned too.
    """

    def __init__(
        self,
        text: str,
        language: Language,
        phrases: Phrases,
        items: Sequence[Item],
        about: str | None,
        *,
        only_of_me: bool = False,
    ) -> None:
        self._text = text
        self._language = language
        self._phrases = phrases
        self._items = items
        self._about = about
        self._only_of_me = only_of_me
        self._clauses = 0

    def read(self, units: Sequence[Unit]) -> Reading:
        """Return all statements of the text."""
        reading, self._clauses = Reading(), 0
        if self._language.unread.search(Spelt.of(units).text):
            return reading
        for first, end in spans(units, _SENTENCE_ENDS):
            asks = end < len(units) and units[end].text == ASKS
            self._sentence(self._scoped(units[first:end], is_question=asks), reading)
        return reading

    def _scoped(self, units: Sequence[Unit], *, is_question: bool) -> _Sentence:
        spelt = Spelt.of(units)
        gone: dict[int, Scope] = {}
        for scope, pattern in self._language.scopes:
            for match in pattern.finditer(spelt.text):
                for at in range(spelt.unit_at(match.start()), spelt.unit_at(match.end())):
                    gone.setdefault(at, scope)
        kept = tuple(unit for at, unit in enumerate(units) if at not in gone)
        scopes = tuple((units[at].start, scope) for at, scope in gone.items())
        return _Sentence(kept, scopes, is_question, Spelt.of(kept).marked(self._language))

    def _sentence(self, sentence: _Sentence, reading: Reading) -> None:
        language, spelt = self._language, sentence.spelt
        begins = self._fill(spelt, 0)
        if language.blocks.search(spelt.text) or (sentence.is_question and not language.asks.match(spelt.text, begins)):
            return
        reading.changed = reading.changed or language.changed.search(spelt.text) is not None
        before: _Clause | None = None
        for clause in self._unnegated(sentence.units, list(self._read_clauses(sentence))):
            if before is not None and clause.reasons and _rejects_items(before) and _names_facts(clause):
                # "B won't do because I don't want red": red is unwanted, and B only for that reason.
                del reading.says[-len(before.says) :]
            self._keep(clause, sentence, reading)
            before = clause

    def _unnegated(self, units: Sequence[Unit], clauses: Sequence[_Clause]) -> Iterator[_Clause]:
        for clause, behind in zip_longest(clauses, clauses[1:]):
            tail = units[clause.end : behind.first if behind else len(units)]
            words = [unit.text for unit in tail if unit.text not in STOPS]
            is_wish = clause.suits or any(said.stance is not Stance.AVOIDS for said in clause.says)
            if not (is_wish and words and words[-1] in self._language.negations):
                yield clause

    def _keep(self, clause: _Clause, sentence: _Sentence, reading: Reading) -> None:
        units = sentence.units
        start, end = units[clause.first].start, units[clause.end - 1].end
        words = " ".join(self._text[start:end].split())[:MAX_QUOTED_CHARS].rstrip()
        scope = clause.scope or clause.pattern.scope or _nearest(sentence.scopes, start, end)
        for said in clause.says:
            changed = reading.changed and said.stance is Stance.AVOIDS and said.item_id is None
            told = replace(said, changed=True) if changed else said
            reading.says.append(Read(told, words, scope, clause.pattern.name))
        reading.suits.extend(clause.suits)

    def _read_clauses(self, sentence: _Sentence) -> Iterator[_Clause]:
        units, spelt = sentence.units, sentence.spelt
        read_until = 0
        for at in range(len(units)):
            begins = at == 0 or units[at - 1].text == PAUSE or units[at - 1].text in self._language.begins
            if units[at - 1].text == COLON and at > 0:
                # "Tell him: no red" is for another person; "honestly: no red" is not.
                begins = self._fill(spelt, 0) >= spelt.starts[at - 1]
            if not begins or at < read_until:
                continue
            self._clauses += 1
            if self._clauses > MAX_CLAUSES:
                return
            why = at > 0 and units[at - 1].text in self._language.why
            if why and at > 1 and units[at - 2].text in self._language.not_why:
                continue
            clause = self._clause(units, spelt, at, why=why)
            if clause is None:
                continue
            read_until = clause.end
            of_me = any(unit.text in self._language.first_person for unit in units[clause.first : clause.end])
            if of_me or not self._only_of_me:
                yield clause

    def _clause(self, units: Sequence[Unit], spelt: Spelt, at: int, *, why: bool) -> _Clause | None:
        place = spelt.starts[at]
        for start in dict.fromkeys((place, self._fill(spelt, place))):
            for pattern in self._language.patterns:
                match = pattern.sentence.match(spelt.text, start)
                clause = match and self._meant(pattern, match, units, spelt, why=why)
                if clause:
                    return clause
        return None

    def _fill(self, spelt: Spelt, place: int) -> int:
        match = self._language.fill.match(spelt.text, place)
        return match.end() if match else place

    def _meant(
        self, pattern: Pattern, match: re.Match[str], units: Sequence[Unit], spelt: Spelt, *, why: bool
    ) -> _Clause | None:
        first, end = spelt.unit_at(match.start()), spelt.unit_at(match.end())
        groups = match.groupdict()
        slots = {
            name: units[spelt.unit_at(match.start(name)) : spelt.unit_at(match.end(name))]
            for name in ("x", "y")
            if groups.get(name) is not None
        }
        if pattern.meaning in _MEASURES:
            said = self._measured(pattern, groups, slots.get("x"))
            return _Clause(first, end, pattern, (said,), reasons=why) if said else None
        named = {name: self._phrases.named(phrase) for name, phrase in slots.items()}
        if not all(named.values()):
            return None
        if "x" in match.re.groupindex and match.end("x") == match.end():
            more, end = self._listed(units, end)
            named["x"] += more
        says, suits = SAYS[pattern.meaning](named)
        if not says and not suits:
            return None
        if any(said.item_id for said in says):
            says, end = self._with_reason(says, units, spelt, end)
        return _Clause(first, end, pattern, says, suits, reasons=why)

    def _listed(self, units: Sequence[Unit], end: int) -> tuple[tuple[Named, ...], int]:
        stop = end
        last = None
        while stop < len(units) and stop - end < 4 * MAX_LIST and units[stop].text != STOP:
            stop += 1
            if units[stop - 1].text in self._language.joins:
                last = stop
        if end >= len(units) or units[end].text != PAUSE or last is None:
            return (), end
        for until in range(stop, last, -1):
            ends = until == len(units) or units[until].text == PAUSE
            if ends and (more := self._phrases.named(units[end + 1 : until])):
                return more, until
        return (), end

    def _with_reason(
        self, says: tuple[Statement, ...], units: Sequence[Unit], spelt: Spelt, end: int
    ) -> tuple[tuple[Statement, ...], int]:
        for reason in self._language.reasons:
            match = reason.match(spelt.text, spelt.starts[end])
            if match is None:
                continue
            phrase = units[spelt.unit_at(match.start("x")) : spelt.unit_at(match.end("x"))]
            named = self._phrases.named(phrase)
            if named and all(one.facts for one in named):
                stance = says[0].stance
                facts = tuple(said for one in named for said in of_facts(stance, one))
                told = facts if stance is Stance.AVOIDS else (*says, *facts)
                return told, spelt.unit_at(match.end())
        return says, end

    def _measured(
        self, pattern: Pattern, groups: Mapping[str, str | None], phrase: Sequence[Unit] | None
    ) -> Statement | None:
        measure = plain(groups.get("m") or "")
        if pattern.meaning is Meaning.IGNORES:
            return Statement(stance=Stance.PREFERS, bound=Bound(self._language.measures[measure].measure))
        more = self._language.comparisons.get(measure) or self._language.too.get(measure)
        if amount := plain(groups.get("n") or ""):
            meaning = pattern.meaning
            if meaning is Meaning.COMPARES and more:
                meaning = Meaning.ABOVE if more.is_more else Meaning.BELOW
            bound = bounded(meaning, amount, self._language, self._items, more.measure if more else None)
        elif more is None:
            return None
        else:
            measured, strictly = self._compared_with(phrase, too=pattern.meaning is Meaning.TOO)
            bound = compared(more, measured, strictly=strictly)
        return Statement(stance=Stance.PREFERS, bound=bound) if bound else None

    def _compared_with(self, phrase: Sequence[Unit] | None, *, too: bool) -> tuple[Sequence[Item], bool]:
        if phrase is None:
            about = [item for item in self._items if item.item_id == self._about]
            return about or self._items, too
        named = self._phrases.named(phrase)
        ids = {one.item for one in named}
        if named and None not in ids:
            return [item for item in self._items if item.item_id in ids], True
        return (self._items, True) if self._phrases.all_shown(phrase) else ((), True)


_MEASURES: Final = frozenset(
    {
        *(Meaning.COMPARES, Meaning.IGNORES, Meaning.TOO),
        *(Meaning.BELOW, Meaning.AT_MOST, Meaning.ABOVE, Meaning.AT_LEAST),
        *(Meaning.BEFORE, Meaning.UNTIL, Meaning.SINCE, Meaning.AFTER),
    }
)


def _rejects_items(clause: _Clause) -> bool:
    return bool(clause.says) and all(said.item_id and said.stance is Stance.AVOIDS for said in clause.says)


def _names_facts(clause: _Clause) -> bool:
    return bool(clause.says) and all(said.value and said.stance is Stance.AVOIDS for said in clause.says)


def _nearest(scopes: Sequence[tuple[int, Scope]], start: int, end: int) -> Scope | None:
    if not scopes:
        return None
    return min(scopes, key=lambda told: max(start - told[0], told[0] - end, 0))[1]
