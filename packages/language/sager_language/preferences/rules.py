"""Reads people's statements about themselves by the patterns of their language."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from sager_language.corrections.tokens import PAUSE, STOPS
from sager_language.corrections.units import Spelt, Unit
from sager_language.personal import PLACEHOLDER
from sager_language.preferences.clauses import Clause, ClauseReader
from sager_language.preferences.finding import Effect, Finding
from sager_language.preferences.forget_intent import ForgetIntent, forget_intent_in, may_forget, patterned
from sager_language.preferences.known import Knowledge, Known, Naming, name_of
from sager_language.preferences.language import FORGETS, Kind, Language, Tail
from sager_language.preferences.sentences import Sentence
from sager_language.preferences.values import MAX_VALUE_CHARS, Vocabularies, in_words, listed, spoken, trimmed
from sager_language.style import Style, read_styles, style_named
from sager_language.text import normalise
from sager_language.types import FREE, MAX_QUOTED_CHARS, Line, Scope, Stance, Strength, Turn

_STANCE: Final = {
    Kind.FORGETS_AVOIDS: Stance.AVOIDS,
    Kind.NO_LONGER_AVOIDS: Stance.AVOIDS,
    Kind.NOT_AVOIDS: Stance.AVOIDS,
    Kind.GIVEN_UP: Stance.AVOIDS,
    Kind.LEAST_FAVOURITE: Stance.AVOIDS,
    Kind.NEVER: Stance.AVOIDS,
    Kind.AVOIDS: Stance.AVOIDS,
}
_EFFECT: Final = {
    **dict.fromkeys(FORGETS, Effect.FORGETS),
    Kind.NO_LONGER: Effect.WITHDRAWS,
    Kind.NO_LONGER_AVOIDS: Effect.WITHDRAWS,
    Kind.NOT_AVOIDS: Effect.WITHDRAWS,
    Kind.GIVEN_UP: Effect.UPDATES,
    Kind.SWITCHES: Effect.UPDATES,
}
# Words for tools: further words describe an outcome, as `React and the page is blank`.
MOST_USED: Final = 3
_CUT_BEFORE: Final = re.compile(rf"{PLACEHOLDER.pattern}\s*$")
# The privacy filter's placeholders: the words beside them are a part, as `going to` of a doctor's.
_CUT_BEHIND: Final = re.compile(rf"\s*{PLACEHOLDER.pattern}")
_OPPOSITE: Final = {Stance.PREFERS: Stance.AVOIDS, Stance.AVOIDS: Stance.PREFERS}
_LISTS: Final = frozenset({Kind.PREFERS, Kind.AVOIDS, Kind.FAVOURITE, Kind.HABITS, Kind.NEVER, Kind.USES})
_CHOSEN: Final = frozenset({Kind.HABITS, Kind.USES})
_PRONOUNS: Final = frozenset({"it", "them", "that", "this", "es", "ihn", "sie", "das"})


class SentenceReader:
    """Reads the sentences of a turn.

    Args:
        turn: in which they stand.
        lines: the person's known lines.
        knowledge: the same and the chunk's findings, by name.
        vocabularies: what words name in a domain.
    """

    def __init__(self, turn: Turn, lines: Sequence[Line], knowledge: Knowledge, vocabularies: Vocabularies) -> None:
        self._turn = turn
        self._lines = lines
        self._knowledge = knowledge
        self._vocabularies = vocabularies
        self._before: Finding | None = None

    def read(self, sentence: Sentence) -> list[Finding]:
        """Return the preferences in a sentence."""
        language, spelt = sentence.language, sentence.spelt
        if forgets := self.wishes(sentence):
            return forgets
        if language.blocks.search(spelt.text) or language.corrections.unread.search(spelt.text):
            return []
        if language.tags.search(spelt.text):
            return []
        units: Sequence[Unit] = sentence.units
        if sentence.is_question and language.reminds.match(spelt.text) is None:
            units = _before_question(units, spelt, language)
        units, scope = _scoped(units, language)
        return self._statements(sentence, units, scope)

    def wishes(self, sentence: Sentence) -> list[Finding]:
        """Return a sentence's requests to forget, by patterns or by known values."""
        language = sentence.language
        if not may_forget(sentence, self._knowledge):
            return []
        clause = ClauseReader(sentence.units, language).forgets()
        found = list(self._found(clause, sentence.text, language, Scope.ALWAYS, "")) if clause else []
        wish = forget_intent_in(sentence, self._knowledge)
        if (found or wish is not None) and (styles := _styles_at_end(sentence)):
            # "Forget that I want short answers" is not about "short stories".
            return self.forgotten(
                [Known(Stance.PREFERS, each.dimension, each.value, None, frozenset()) for each in styles], sentence
            )
        if wish is None or (found and not wish.known):
            return found
        named = {_subject(each) for each in found}
        known = [each for each in wish.known if _subject(each) not in named]
        return [*found, *self.forgotten(known, sentence), *self._guessed(wish, sentence)]

    def forgotten(self, known: Sequence[Known], sentence: Sentence) -> list[Finding]:
        """Return a sentence's wishes to forget known preferences."""
        return [self._about(each, sentence, Effect.FORGETS) for each in known]

    def _guessed(self, wish: ForgetIntent, sentence: Sentence) -> list[Finding]:
        if wish.known or not wish.guess:
            return []
        return [self._about(Known(Stance.PREFERS, FREE, wish.guess, None, frozenset()), sentence, Effect.FORGETS)]

    def _about(self, known: Known, sentence: Sentence, effect: Effect) -> Finding:
        units = sentence.units
        return Finding(
            stance=known.stance,
            dimension=known.dimension,
            value=known.value,
            domain=known.domain,
            words=sentence.text[units[0].start : units[-1].end][:MAX_QUOTED_CHARS].rstrip(),
            event_id=self._turn.event_id,
            stated_at=self._turn.stated_at,
            effect=effect,
        )

    def _turned(self, sentence: Sentence, units: Sequence[Unit], language: Language) -> list[Finding]:
        end = len(units) - (bool(units) and units[-1].text in STOPS)
        whole = trimmed(units, 0, end, language)
        if whole.scope is Scope.NOW and whole.first == 0:
            return []  # "I'm tired of jazz today" ends nothing; "today I'd rather have tea" may
        namings = [each for each in self._knowledge.named(units) if each.known.holds]
        over = _over(units, namings, language)
        if not over:
            over = _over(units, self._knowledge.named_in_short(units, language.turning), language)
        back = [each for each in patterned(units, namings, language.reconciled) if each.stance is Stance.AVOIDS]
        stated = [self._about(replace(each, stance=Stance.PREFERS), sentence, Effect.STATES) for each in back]
        if language.ends_diets.search(Spelt.of(units).text):
            over += [each for each in self._knowledge.those(language.liked.values()) if each not in over]
        return [*stated, *(self._about(each, sentence, Effect.WITHDRAWS) for each in over)]

    def _statements(self, sentence: Sentence, units: Sequence[Unit], scope: Scope) -> list[Finding]:
        text, language = sentence.text, sentence.language
        is_so = language.not_turned.search(sentence.spelt.text) is not None
        is_of_others = language.others.search(sentence.spelt.text) is not None
        found = [] if is_so or is_of_others else self._turned(sentence, units, language)
        before = found[-1] if found and found[-1].effect is Effect.WITHDRAWS else self._before
        over = {_subject(each) for each in found}
        self._before = None
        for clause in ClauseReader(units, language).read():
            stated = list(self._found(clause, text, language, scope, before.value if before else ""))
            stated = [each for each in stated if not (is_so and each.effect is Effect.WITHDRAWS)]
            if clause.kind is Kind.INSTEAD:
                stated = [each for each in stated if _subject(each) not in over]
            if before and stated and stated[0].effect is Effect.STATES and _is_instead(clause, stated[0]):
                # "I used to like tea, but now I like coffee": this one in the place of that one.
                stated[0] = replace(stated[0], effect=Effect.UPDATES, replaces=before.value, scope=Scope.ALWAYS)
            elif clause.kind is Kind.INSTEAD:
                continue
            found += [each for each in stated if each.effect is Effect.UPDATES or _subject(each) not in over]
            if stated and stated[-1].effect is Effect.WITHDRAWS:
                before = stated[-1]
            elif stated and stated[-1].stance is Stance.PREFERS:
                before = None
        self._before = before
        return found

    def _found(self, clause: Clause, text: str, language: Language, scope: Scope, before: str) -> Iterator[Finding]:
        units, phrase, verb = clause.units, clause.phrase, clause.verb
        stance, effect = self._says(clause)
        parts = (
            listed(units, clause.spelt, phrase, language) if clause.kind in _LISTS and clause.pattern.is_open else []
        )
        is_against = stance is Stance.AVOIDS or effect is Effect.WITHDRAWS
        last = clause.spelt.starts[parts[-1][1] if parts else phrase.end]
        if is_against and effect is not Effect.FORGETS and language.relatives.match(clause.spelt.text, last):
            return  # "hotels that are loud" are not all hotels
        end = max(clause.end, parts[-1][1] if parts else 0)
        words = text[units[clause.begins].start : units[end - 1].end][:MAX_QUOTED_CHARS].rstrip()
        for first, to in parts or [(phrase.first, phrase.end)]:
            # What there is one of needs no further test: "longer" has no content alone, but of answers.
            of_one = clause.pattern.noun and in_words(text, units, first, to)
            value = of_one or spoken(text, units, first, to, verb, language)
            if value is None and before and to - first == 1 and units[first].text in _PRONOUNS:
                value = before
            is_long = clause.kind is Kind.USES and to - first > MOST_USED
            if value is None or is_long or _is_cut(text, units[first:to]):
                continue
            finding = Finding(
                stance=stance,
                value=value,
                words=words,
                event_id=self._turn.event_id,
                stated_at=self._turn.stated_at,
                strength=Strength.IMPLIED if clause.kind is Kind.USES else Strength.SAID,
                scope=clause.pattern.scope or phrase.scope or scope,
                effect=effect,
                replaces=_replaced(clause, text, value) if effect is Effect.UPDATES else None,
            )
            if clause.pattern.noun and stance is Stance.PREFERS and (typed := style_named(finding.value)) is not None:
                yield replace(finding, dimension=typed[0], value=typed[1], effect=Effect.STATES, replaces=None)
                continue
            named = self._named(finding, clause.noun, language)
            yield from self._all_about(named, clause.kind) if effect is Effect.FORGETS else (named,)

    def _says(self, clause: Clause) -> tuple[Stance, Effect]:
        tails = clause.phrase.tails
        stance, effect = _STANCE.get(clause.kind, Stance.PREFERS), _EFFECT.get(clause.kind, Effect.STATES)
        if Tail.NOT in tails:
            stance = _OPPOSITE[stance]
        if effect is not Effect.STATES:
            return stance, effect
        if Tail.NOT_GONE in tails:
            return stance, Effect.WITHDRAWS
        if Tail.GONE in tails:
            # "I don't eat meat any more" is a dislike; "I don't like jazz any more" ends a liking.
            is_habit = clause.verb and stance is Stance.AVOIDS
            return (stance, Effect.UPDATES) if is_habit else (_OPPOSITE[stance], Effect.WITHDRAWS)
        return stance, effect

    def _named(self, finding: Finding, noun: str, language: Language) -> Finding:
        fact = self._vocabularies.fact(finding.value, self._turn.domain, language)
        domain = self._turn.domain if fact or finding.scope is not Scope.ALWAYS else None
        if fact is not None:
            return replace(finding, dimension=fact.dimension, value=fact.value, domain=domain)
        if (liked := language.liked.get(finding.value.casefold())) is not None:
            replaces = finding.replaces and language.liked.get(finding.replaces.casefold(), finding.replaces)
            finding = replace(finding, value=liked, replaces=replaces)
            others = self._knowledge.those(language.liked.values())
            diet = next((each.value for each in others if normalise(each.value) != normalise(liked)), None)
            if diet and finding.effect is Effect.STATES and finding.stance is Stance.PREFERS:
                finding = replace(finding, effect=Effect.UPDATES, replaces=diet)
        value = f"{finding.value} ({noun})"
        if not noun or len(value) > MAX_VALUE_CHARS or normalise(noun) in normalise(finding.value):
            return replace(finding, domain=domain)
        other = next((line.value for line in self._lines if line.value.endswith(f" ({noun})")), value)
        if normalise(other) == normalise(value) or finding.effect is not Effect.STATES:
            return replace(finding, value=value, domain=domain)
        return replace(finding, value=value, domain=domain, effect=Effect.UPDATES, replaces=other)

    def _all_about(self, finding: Finding, kind: Kind) -> Iterator[Finding]:
        about = _words_of(finding.value)
        ways = (
            [line for line in self._lines if normalise(name_of(line)) == normalise(finding.value)],
            [line for line in self._lines if about <= _words_of(name_of(line))],
            [line for line in self._lines if about >= _words_of(name_of(line))],
        )
        lines = [*ways[0], *ways[1]] or ways[2]
        known = {(line.stance, line.dimension, line.value, line.domain): None for line in lines}
        for stance, dimension, value, domain in known:
            yield replace(finding, stance=Stance(stance), dimension=dimension, value=value, domain=domain)
        if not known:
            yield finding
            if kind is Kind.FORGETS_ANY:
                yield replace(finding, stance=Stance.AVOIDS)


def _styles_at_end(sentence: Sentence) -> tuple[Style, ...]:
    """Return the lasting wishes about answers that the longest end of a sentence states."""
    ends = (read_styles(sentence.text[unit.start :]) for unit in sentence.units)
    return next((styles for styles, is_whole in ends if is_whole and styles[0].lasts), ())


def _over(units: Sequence[Unit], namings: Sequence[Naming], language: Language) -> list[Known]:
    return [each for each in patterned(units, namings, language.turned) if each.stance is Stance.PREFERS]


def _is_cut(text: str, units: Sequence[Unit]) -> bool:
    if not units or "[" not in text:
        return False
    before, behind = _CUT_BEFORE.search(text, 0, units[0].start), _CUT_BEHIND.match(text, units[-1].end)
    return before is not None or behind is not None


def _subject(about: Finding | Known) -> tuple[Stance, str]:
    return about.stance, normalise(about.value)


def _is_instead(clause: Clause, finding: Finding) -> bool:
    is_now = clause.kind is Kind.INSTEAD or Tail.NOW in clause.phrase.tails
    return clause.led_now or (is_now and finding.stance is Stance.PREFERS)


def _words_of(value: str) -> frozenset[str]:
    return frozenset(normalise(value).split("-"))


def _replaced(clause: Clause, text: str, value: str) -> str:
    slot = clause.slot("y") if clause.kind is Kind.SWITCHES else None
    return in_words(text, clause.units, *slot) if slot else value


def _before_question(units: Sequence[Unit], spelt: Spelt, language: Language) -> Sequence[Unit]:
    asks = language.asks.search(spelt.text)
    if asks is not None:
        return units[: spelt.unit_at(asks.start())]
    if not units or units[0].text in language.asking:
        return ()
    last = max((at for at, unit in enumerate(units) if unit.text == PAUSE or unit.text in language.begins), default=0)
    return units[:last]


def _scoped(units: Sequence[Unit], language: Language) -> tuple[Sequence[Unit], Scope]:
    spelt = Spelt.of(units)
    stated = language.session.search(spelt.text)
    if stated is None:
        return units, Scope.ALWAYS
    return [*units[: spelt.unit_at(stated.start())], *units[spelt.unit_at(stated.end()) :]], Scope.SESSION
