"""The result of reading a conversation."""

import re
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, StrEnum

from sager_language.preferences.authored_text import Span
from sager_language.preferences.sentences import MAX_SENTENCE_CHARS, sentences
from sager_language.types import FREE, Scope, Stance, Strength


class Effect(StrEnum):
    """The effect of a finding on earlier knowledge."""

    STATES = "states"
    # It takes the place of what it `replaces`.
    UPDATES = "updates"
    # It no longer holds.
    WITHDRAWS = "withdraws"
    # The person wants it erased.
    FORGETS = "forgets"


@dataclass(frozen=True)
class Finding:
    """One statement of a person about themselves.

    Attributes:
        stance: whether they like it (`prefers`) or not (`avoids`).
        value: a value of a vocabulary, or few words of the person's own, at most 100 characters.
        words: the person's own words that state it, to the letter.
        event_id: the turn in which they stand.
        stated_at: the turn's time.
        dimension: of the domain's vocabulary; `stated` for words of none.
        domain: where it holds; None: anywhere.
        strength: how plainly they stated it.
        scope: for how long it holds.
        effect: its effect on earlier knowledge.
        replaces: with `UPDATES`, the earlier value in the person's words.
    """

    stance: Stance
    value: str
    words: str
    event_id: str
    stated_at: datetime
    dimension: str = FREE
    domain: str | None = None
    strength: Strength = Strength.SAID
    scope: Scope = Scope.ALWAYS
    effect: Effect = Effect.STATES
    replaces: str | None = None


@dataclass(frozen=True)
class Extraction:
    """The findings of a conversation, in the order of its words.

    Attributes:
        findings: about the person.
        of_others: how many sentences were about other people and are left out.
    """

    findings: tuple[Finding, ...] = ()
    of_others: int = 0


_ENDS = re.compile(
    r"\b(any ?more|any longer|no longer|not now|used to|once|former\w*|stop\w*|quit\w*|gave up|giv\w+ up|sick of"
    r"|tired of|over|done with|chang\w+|these days|instead|mehr"
    r"|nicht länger|früher|einst|aufgehört|satt|leid|statt\w*)\b",
    re.IGNORECASE,
)
_ERASES = re.compile(
    r"\b(forg\w+|remember\w*|delet\w+|eras\w+|remov\w+|wip\w+|drop\w*|stri\w+|discard\w*|unlearn\w*|memory|note\w*"
    r"|verg[ei]ss\w*|erinner\w*|merk\w*|lösch\w*|streich\w*|entfern\w*)\b",
    re.IGNORECASE,
)
_STOPS = ".!?\u2026\u3002\n"


class SentenceSubject(Enum):
    """The subject of a sentence, seen from its writer."""

    # About the person, as far as rules can see.
    FOR_THEM = 1
    OF_OTHERS = 2
    # A question, or another person's words.
    NOT_FOR_THEM = 3


def withdraws(words: str, effect: Effect) -> bool:
    """Return True if the words end a preference.

    Of other languages than English and German none is known: there a model takes nothing away.
    """
    return (_ERASES if effect is Effect.FORGETS else _ENDS).search(words) is not None


def subject_of(span: Span, start: int, end: int) -> SentenceSubject:
    """Return the subject of the sentence around a quotation."""
    text = span.text
    until = min((place for stop in _STOPS if (place := text.find(stop, end - 1)) >= 0), default=len(text))
    if text[until : until + 1] == "?":
        return SentenceSubject.NOT_FOR_THEM
    begin = max(text.rfind(stop, 0, start) for stop in _STOPS) + 1
    # Read by itself: what stands elsewhere in a long text costs nothing here.
    for sentence in sentences(text[begin : until + 1], MAX_SENTENCE_CHARS):
        spelt, language = sentence.spelt.text, sentence.language
        if language.others.search(spelt):
            return SentenceSubject.OF_OTHERS
        if language.blocks.search(spelt) or language.takes_back.match(spelt):
            return SentenceSubject.NOT_FOR_THEM
    return SentenceSubject.FOR_THEM
