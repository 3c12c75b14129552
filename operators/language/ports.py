"""The ports of a language package, and their values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, StrEnum
from typing import Protocol

from schemas import Card, Correction, Directive, Fact, ItemFacts, NotUnderstood, OptOut, Provenance, Scope, Stance, Turn
from schemas.cards import FREE, Strength


class Effect(StrEnum):
    """How a finding changes a card."""

    STATES = "states"
    # It replaces the value in `replaces`.
    UPDATES = "updates"
    # The preference has ended.
    WITHDRAWS = "withdraws"
    # The user wants it erased, from the log too.
    FORGETS = "forgets"


@dataclass(frozen=True)
class PreferenceFinding:
    """One stated taste, `value` (100 characters), quoted in `words`.

    The `dimension` is `FREE` for words of no vocabulary. Without a `domain` it holds in all domains.
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
    """The findings in a chunk, and the number of statements about others."""

    findings: tuple[PreferenceFinding, ...] = ()
    of_others: int = 0
    reasoned_by: Provenance = field(default_factory=Provenance)


@dataclass(frozen=True, slots=True)
class ReadDirective:
    """One directive, its quotation (none for forms) and its source (`pattern`)."""

    directive: Directive
    words: str
    scope: Scope | None
    pattern: str


@dataclass(frozen=True, slots=True)
class Interpretation:
    """The meaning of a whole correction.

    `acceptable` has ids of items, the wanted ones first; `why` and `examples` explain a failure. `unquoted` marks
    words with a private reason, which must not be kept.
    """

    directives: tuple[ReadDirective, ...] = ()
    acceptable: tuple[str, ...] = ()
    language: str = ""
    is_about_another: bool = False
    why: NotUnderstood | None = None
    examples: tuple[Fact, ...] = ()
    unquoted: bool = False
    reasoned_by: Provenance = field(default_factory=Provenance)

    @property
    def is_understood(self) -> bool:
        """True if there is any directive or acceptable item."""
        return bool(self.directives or self.acceptable)


# Counts by kind of personal data.
KindCounts = Mapping[str, int]


class RedactedText(Protocol):
    """A text with placeholders such as `[e-mail]`, and counts by kind."""

    @property
    def text(self) -> str:
        """The text."""

    @property
    def found(self) -> KindCounts:
        """The counts."""


class Redactor(Protocol):
    """Finds personal data, except for the `allowed` categories."""

    @property
    def version(self) -> str:
        """A digest of its rules."""

    def redact(self, text: str, allowed: frozenset[str], most: int) -> RedactedText:
        """Redact a text; a changed one has at most `most` characters."""

    def redact_about_person(self, text: str, allowed: frozenset[str], most: int) -> RedactedText:
        """Redact a text about a person."""

    def redact_work(self, text: str, most: int) -> RedactedText:
        """Redact a title or description of a work."""

    def redact_turn(self, text: str, before: str, allowed: frozenset[str]) -> RedactedText:
        """Redact a turn, given the turn before it."""

    def refusal(self, dimension: str, value: str) -> tuple[str | None, str | None]:
        """Return a fact's kind of personal data, and its category if allowable."""

    def routine_kind(self, value: str) -> str | None:
        """Return the kind of personal data that a habit reveals."""

    def speaks_of_a_user(self, words: str) -> bool:
        """Return True if words name a user, a customer or the like."""

    def placeholders(self, text: str) -> tuple[str, ...]:
        """Return the kinds of the placeholders in a text, in order."""

    def opt_out(self, instruction: str) -> OptOut | None:
        """Return a request's instruction about remembering the choice."""


class OutputPolicy(Protocol):
    """Judges by their shape which words may enter a prompt."""

    def rejection(self, dimension: str, value: str) -> str | None:
        """Return the value of a `Rejection`; None if the fact may pass."""

    def is_phrase(self, text: str) -> bool:
        """Return True for a short noun phrase or a name."""


class CorrectionReader(Protocol):
    """Reads corrections by rules."""

    def read(
        self, correction: Correction, items: Sequence[ItemFacts], known: Sequence[Fact], vocabulary: Sequence[Fact]
    ) -> Interpretation:
        """Read a correction's text; `known` are facts of the person's skill."""

    def is_about_another(self, text: str, language: str) -> bool:
        """Return True if a text is about another person's taste."""

    def is_unread(self, text: str) -> bool:
        """Return True for orders to a machine and for irony."""


class SentenceAbout(Enum):
    """The subject of a sentence, as far as rules can see."""

    # About the user, as far as rules can see.
    FOR_THEM = 1
    OF_OTHERS = 2
    # A question, or other people's words.
    NOT_FOR_THEM = 3


@dataclass(frozen=True, slots=True)
class UserSentence:
    """A sentence of a user, or a part of a long one."""

    text: str
    speaks: SentenceAbout


class Extractor(Protocol):
    """Reads conversations by rules."""

    def extract(
        self, turns: Sequence[Turn], card: Card | None, vocabulary: Callable[[str], Sequence[Fact]]
    ) -> Extraction:
        """Return the preferences in a user's turns."""

    def sentences(self, turn: Turn, before: Sequence[Turn], most: int) -> Sequence[UserSentence]:
        """Return the user's own sentences in a turn's first `most` characters."""

    def withdraws(self, words: str, effect: Effect) -> bool:
        """Return True if words end a preference, or ask to forget it."""
