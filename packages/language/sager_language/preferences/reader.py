"""Reads the turns of a conversation."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from sager_language.corrections.language import LANGUAGES
from sager_language.preferences.authored_text import USER, Span, own_words
from sager_language.preferences.finding import Effect, Extraction, Finding
from sager_language.preferences.known import Knowledge
from sager_language.preferences.language import language_of
from sager_language.preferences.pasted_text import any_of
from sager_language.preferences.rules import SentenceReader
from sager_language.preferences.sentences import Sentence, sentences, sentences_of_play, units_before
from sager_language.preferences.similarity import words_of
from sager_language.preferences.values import Vocabularies
from sager_language.style import Style, read_styles
from sager_language.text import normalise
from sager_language.types import Fact, Line, Stance, Turn

# Of sentences that speak of the person; later ones are not read.
MAX_READ_CHARS: Final = 6_000
MAX_FINDINGS: Final = 64


def extract_preferences(
    turns: Sequence[Turn],
    vocabulary: Callable[[str], Sequence[Fact]] = lambda _: (),
    *,
    known: Sequence[Line] = (),
    past: Sequence[Line] = (),
) -> Extraction:
    """Return the preferences that a conversation states, in English and German."""
    return _Reader((*known, *past), Knowledge(known, past), Vocabularies(vocabulary)).read(turns)


def warm() -> None:
    """Compile the patterns, so that the first conversation does not wait."""
    for name in LANGUAGES:
        language = language_of(name)
        for group in (*language.statements, *language.forgets):
            group.any.compiled  # noqa: B018 - compiles


class _Reader:
    def __init__(self, lines: tuple[Line, ...], knowledge: Knowledge, vocabularies: Vocabularies) -> None:
        self._lines = lines
        self._knowledge = knowledge
        self._vocabularies = vocabularies
        self._found: list[Finding] = []
        self._last: list[Finding] = []
        self._of_others = 0
        self._budget = MAX_READ_CHARS
        self._in_role = False

    def read(self, turns: Sequence[Turn]) -> Extraction:
        about_text = False
        for at, turn in enumerate(turns):
            if turn.role != USER:
                continue
            spans = own_words(turn, turns[:at])
            self._in_role = self._plays(spans)
            if self._in_role:
                continue
            # "Keep it short" may be about a text that is being written.
            is_alone = not about_text and read_styles(turn.text)[1]
            about_text = about_text or any_of("text-nouns").search(turn.text) is not None
            for span in spans:
                self._read(turn, span, is_alone)
        found = _settled(self._found)
        return Extraction(tuple(found[:MAX_FINDINGS]), min(self._of_others, MAX_FINDINGS))

    def _plays(self, spans: Sequence[Span]) -> bool:
        playing = self._in_role
        for span in spans:
            for sentence in sentences_of_play(span.text, self._budget):
                spelt, language = sentence.spelt.text, sentence.language
                if language.roleplay_ends.search(spelt):
                    playing = False
                elif language.roleplay.search(spelt):
                    playing = True
        return playing

    def _read(self, turn: Turn, span: Span, is_alone: bool) -> None:
        reader = SentenceReader(turn, self._lines, self._knowledge, self._vocabularies)
        styles = [each for each in read_styles(span.text)[0] if each.lasts or is_alone]
        if styles:
            self._last = [_of_answers(each, turn) for each in styles]
            self._found += self._last
            self._knowledge.learn(self._last)
        for sentence in sentences(span.text, self._budget, self._knowledge.may_name):
            language, spelt = sentence.language, sentence.spelt.text
            self._budget -= len(spelt)
            if any(each.start <= sentence.start < each.end for each in styles):
                continue
            if language.takes_back.match(spelt):
                self._take_back()
                continue
            if language.forgets_last.match(spelt):
                self._forget_last(turn, span, sentence, reader)
                continue
            found = reader.read(sentence)
            if language.others.search(spelt):
                self._of_others += 1
            if found:
                self._last = found
                self._found += found
                self._knowledge.learn(found)
            if len(self._found) > 2 * MAX_FINDINGS or self._budget < 0:
                return

    def _take_back(self) -> None:
        gone = self._last
        self._found = [finding for finding in self._found if not any(finding is each for each in gone)]
        self._last = []

    def _forget_last(self, turn: Turn, span: Span, sentence: Sentence, reader: SentenceReader) -> None:
        named = self._knowledge.named(units_before(span.text, sentence.start))
        if not named:
            last = self._last
            self._take_back()
            self._found += [
                replace(finding, effect=Effect.FORGETS, replaces=None, stated_at=turn.stated_at) for finding in last
            ]
        self._found += reader.forgotten([each.known for each in named], sentence)


def _of_answers(style: Style, turn: Turn) -> Finding:
    return Finding(
        stance=Stance.PREFERS,
        dimension=style.dimension,
        value=style.value,
        words=style.words,
        event_id=turn.event_id,
        stated_at=turn.stated_at,
    )


def _settled(found: Sequence[Finding]) -> list[Finding]:
    kept: list[Finding] = []
    for finding in found:
        if finding.effect is Effect.FORGETS:
            about = words_of(finding.value)
            kept = [each for each in kept if each.effect is Effect.FORGETS or not _is_near(about, words_of(each.value))]
        if finding.effect is Effect.UPDATES:
            gone = finding.replaces
            kept = [each for each in kept if each.effect is not Effect.WITHDRAWS or each.value != gone]
        kept = [each for each in kept if _identity(each) != _identity(finding)]
        kept.append(finding)
    return kept


def _is_near(about: frozenset[str], said: frozenset[str]) -> bool:
    return about <= said or said <= about


def _identity(finding: Finding) -> tuple[object, ...]:
    return finding.stance, finding.dimension, normalise(finding.value), finding.domain, finding.effect, finding.scope
