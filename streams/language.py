"""The language rules of this deployment: `sager-language` behind the operators' ports."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

from pydantic import TypeAdapter

import sager_language.corrections as corrections_rules
import sager_language.preferences as preference_rules
import sager_language.style as style_rules
from operators.language.output_policy import Rejection
from operators.language.ports import (
    Effect,
    Extraction,
    Interpretation,
    PreferenceFinding,
    ReadDirective,
    RedactedText,
    SentenceAbout,
    UserSentence,
)
from operators.prompts import visible
from sager_language import output, personal
from schemas import Card, Fact, ItemFacts, NotUnderstood, OptOut, Turn
from schemas.statements import Correction, Directive, Scope, Stance

KINDS: Final = personal.KINDS
_FINDING: Final = TypeAdapter(PreferenceFinding)


@lru_cache(maxsize=16_384)
def _redact_work(text: str, most: int) -> RedactedText:
    return personal.redact(text, frozenset(), most, of_a_work=True)


def _categories(names: frozenset[str]) -> frozenset[personal.Category]:
    return frozenset(map(personal.Category, names))


class Rules:
    """All ports of `operators.language.ports`, by rules."""

    @property
    def version(self) -> str:
        """A digest of the redactor's rules."""
        return personal.version()

    # Static, so that hot paths reach the cache without a Python call.
    refusal = staticmethod(personal.refusal)
    redact_work = staticmethod(_redact_work)
    is_about_another = staticmethod(corrections_rules.is_about_another)
    is_unread = staticmethod(corrections_rules.is_unread)

    def redact(self, text: str, allowed: frozenset[str], most: int) -> RedactedText:
        """Redact a text."""
        return personal.redact(text, _categories(allowed), most)

    def redact_about_person(self, text: str, allowed: frozenset[str], most: int) -> RedactedText:
        """Redact a text that speaks of a person as a whole."""
        return personal.redact(text, _categories(allowed), most, of_a_person=True)

    def redact_turn(self, text: str, before: str, allowed: frozenset[str]) -> RedactedText:
        """Redact a turn of a conversation."""
        return personal.redact_turn(text, before, _categories(allowed))

    def routine_kind(self, value: str) -> str | None:
        """Return the kind of personal data that a habit reveals."""
        return next(personal.routine_reveals(value), None)

    def speaks_of_a_user(self, words: str) -> bool:
        """Return True if words name a user, a customer or the like."""
        return not personal.words_of(words).isdisjoint(personal.USERS)

    def placeholders(self, text: str) -> tuple[str, ...]:
        """Return the kinds of the placeholders in a text."""
        return tuple(personal.PLACEHOLDER.findall(text)) if "[" in text else ()

    def opt_out(self, instruction: str) -> OptOut | None:
        """Return the user's wish that the choice is not learned."""
        found = personal.find_opt_out(instruction)
        return None if found is None else OptOut(found.value)

    def rejection(self, dimension: str, value: str) -> str | None:
        """Return the reason why models must not receive a value."""
        shape = output.judge(dimension, value)
        return None if shape is output.Shape.PHRASE else Rejection(shape.value)

    def is_phrase(self, text: str) -> bool:
        """Return True if a text is a short noun phrase."""
        return output.shape_of(text) is output.Shape.PHRASE

    def read(
        self, correction: Correction, items: Sequence[ItemFacts], known: Sequence[Fact], vocabulary: Sequence[Fact]
    ) -> Interpretation:
        """Read a correction's text."""
        found = corrections_rules.read_correction(
            correction.text,
            items=items,
            known=known,
            vocabulary=vocabulary,
            domain=correction.domain,
            about=correction.item_id,
            language=correction.language or "",
        )
        styles, is_whole = style_rules.read_styles(correction.text)
        read = [each for each in found.reads if not any(each.words in style.words for style in styles)]
        wishes = () if found.why is corrections_rules.Why.FOR_ANOTHER else tuple(map(_wish, styles))
        if wishes:
            directives = (*(() if is_whole else map(_read, read)), *wishes)
            return Interpretation(directives, () if is_whole else found.suits, found.language)
        return Interpretation(
            directives=tuple(map(_read, found.reads)),
            acceptable=found.suits,
            language=found.language,
            is_about_another=found.why is corrections_rules.Why.FOR_ANOTHER,
            why=None if found.why is None else NotUnderstood(found.why.value),
            examples=tuple(Fact(dimension=fact.dimension, value=fact.value) for fact in found.named),
        )

    def extract(
        self, turns: Sequence[Turn], card: Card | None, vocabulary: Callable[[str], Sequence[Fact]]
    ) -> Extraction:
        """Extract the user's statements about themselves."""
        found = preference_rules.extract_preferences(
            turns, vocabulary, known=card.lines if card else (), past=card.past if card else ()
        )
        return Extraction(tuple(_FINDING.validate_python(vars(each)) for each in found.findings), found.of_others)

    def sentences(self, turn: Turn, before: Sequence[Turn], most: int) -> Sequence[UserSentence]:
        """Return the sentences of a turn in the person's own words."""
        found: list[UserSentence] = []
        for span in preference_rules.own_words(turn, before):
            for start, end in preference_rules.pieces(span.text[: max(most, 0)]):
                text = span.text[start:end]
                speaks = SentenceAbout[preference_rules.subject_of(span, start, end).name]
                if personal.PLACEHOLDER.search(text):
                    # The rest of a sentence often reveals the private part.
                    speaks = SentenceAbout.NOT_FOR_THEM
                found.append(UserSentence(text, speaks))
            most -= len(span.text)
        return found

    def withdraws(self, words: str, effect: Effect) -> bool:
        """Return True if words withdraw a preference or ask to forget it."""
        return preference_rules.withdraws(words, preference_rules.Effect(effect.value))


joined_vocabulary: Final = corrections_rules.joined
warm_corrections: Final = corrections_rules.warm
warm_conversations: Final = preference_rules.warm


def _read(read: corrections_rules.Read) -> ReadDirective:
    directive = Directive.model_validate(read.statement, from_attributes=True)
    scope = None if read.scope is None else Scope(read.scope.value)
    return ReadDirective(directive, " ".join(visible(read.words).split()), scope, read.pattern)


def _wish(style: style_rules.Style) -> ReadDirective:
    directive = Directive(stance=Stance.PREFERS, dimension=style.dimension, value=style.value)
    return ReadDirective(directive, " ".join(visible(style.words).split()), None, style.dimension)


RULES: Final = Rules()
