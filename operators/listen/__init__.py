"""Listening: what a chunk of a conversation says of the person who speaks, by rules or by a model."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from operators.attributes import normalise
from operators.cards.alike import words_of
from operators.listen.finding import Effect, Finding, Heard
from operators.listen.known import Knowledge
from operators.listen.language import language_of
from operators.listen.own import Span, own_words
from operators.listen.rules import SentenceReader
from operators.listen.sentences import Sentence, sentences, sentences_of_play, units_before
from operators.listen.values import Vocabularies
from operators.understand.words import LANGUAGES
from schemas import Fact
from schemas.cards import MAX_FINDINGS, Card, Strength, Turn
from schemas.utterances import Role

MAX_READ_CHARS: Final = 6_000
"""Of a chunk, of sentences that speak of the person; what stands behind is not read."""

__all__ = ["Effect", "Finding", "Heard", "Span", "own_words", "understand", "warm"]


def understand(turns: Sequence[Turn], card: Card | None, vocabulary: Callable[[str], Sequence[Fact]]) -> Heard:
    """What plain statements of a chunk say of the person, in English and German.

    Args:
        turns: of one conversation, in their order.
        card: what is known of the person, if anything is.
        vocabulary: the facts of a domain.
    """
    return _Listener(card, Vocabularies(vocabulary)).hear(turns)


def warm() -> None:
    """Compiles the patterns, so that the first conversation does not wait for it."""
    for name in LANGUAGES:
        language_of(name)


class _Listener:
    def __init__(self, card: Card | None, vocabularies: Vocabularies) -> None:
        self._card = card
        self._knowledge = Knowledge(card.lines, card.past) if card else Knowledge((), ())
        self._vocabularies = vocabularies
        self._found: list[Finding] = []
        self._last: list[Finding] = []
        self._of_others = 0
        self._budget = MAX_READ_CHARS
        self._in_role = False

    def hear(self, turns: Sequence[Turn]) -> Heard:
        for at, turn in enumerate(turns):
            if turn.role is not Role.USER:
                continue
            spans = own_words(turn, turns[:at])
            self._in_role = self._plays(spans)
            if self._in_role:
                continue
            for span in spans:
                self._hear(turn, span)
        found = _settled(self._found)
        return Heard(tuple(found[:MAX_FINDINGS]), min(self._of_others, MAX_FINDINGS))

    def _plays(self, spans: Sequence[Span]) -> bool:
        """Whether somebody else speaks through the person, as in a game of roles, until they end it."""
        playing = self._in_role
        for span in spans:
            for sentence in sentences_of_play(span.text, self._budget):
                spelt, language = sentence.spelt.text, sentence.language
                if language.roleplay_ends.search(spelt):
                    playing = False
                elif language.roleplay.search(spelt):
                    playing = True
        return playing

    def _hear(self, turn: Turn, span: Span) -> None:
        reader = SentenceReader(turn, span, self._card, self._knowledge, self._vocabularies)
        for sentence in sentences(span.text, self._budget, self._knowledge.may_name):
            language, spelt = sentence.language, sentence.spelt.text
            self._budget -= len(spelt)
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
        """Have forgotten what the sentence before names, else what was understood last."""
        named = self._knowledge.named(units_before(span.text, sentence.start))
        if not named:
            last = self._last
            self._take_back()
            self._found += [
                replace(finding, effect=Effect.FORGETS, replaces=None, said_at=turn.said_at) for finding in last
            ]
        self._found += reader.forgotten([each.known for each in named], sentence)


def _settled(found: Sequence[Finding]) -> list[Finding]:
    """Each finding once; and nothing that the person wants forgotten, but for that wish."""
    kept: list[Finding] = []
    for finding in found:
        if finding.effect is Effect.FORGETS:
            about = words_of(finding.value)
            kept = [each for each in kept if each.effect is Effect.FORGETS or not _is_near(about, words_of(each.value))]
        elif finding.strength is Strength.IMPLIED and _is_unwanted(finding, kept):
            continue
        if finding.effect is Effect.UPDATES:
            gone = finding.replaces
            kept = [each for each in kept if each.effect is not Effect.WITHDRAWS or each.value != gone]
        kept = [each for each in kept if _identity(each) != _identity(finding)]
        kept.append(finding)
    return kept


def _is_unwanted(finding: Finding, wishes: Sequence[Finding]) -> bool:
    """Whether something was to be forgotten that a text only tells of: what is said plainly is learned anew."""
    said = words_of(finding.value)
    return any(each.effect is Effect.FORGETS and _is_near(words_of(each.value), said) for each in wishes)


def _is_near(about: frozenset[str], said: frozenset[str]) -> bool:
    return about <= said or said <= about


def _identity(finding: Finding) -> tuple[object, ...]:
    return finding.stance, finding.dimension, normalise(finding.value), finding.domain, finding.effect, finding.scope
