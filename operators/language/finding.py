"""What is found in a chunk of a conversation, by rules or by a model."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from schemas import ReasonedBy
from schemas.cards import FREE, Strength
from schemas.statements import Scope, Stance


class Effect(StrEnum):
    """What a finding does to what was known."""

    STATES = "states"
    """It says something, which may be news, known, or the opposite of what was known."""
    UPDATES = "updates"
    """It says something in the place of what it `replaces`."""
    WITHDRAWS = "withdraws"
    """It does not hold any more: marked as past."""
    FORGETS = "forgets"
    """The person wants it forgotten: gone from the log too."""


@dataclass(frozen=True)
class Finding:
    """One thing that a person said of themselves.

    Attributes:
        stance: whether they like it (`prefers`) or not (`avoids`).
        value: what: a value of a vocabulary, or few words of the person's own, at most 100 characters.
        words: the person's own words that say so, to the letter.
        event_id: the utterance in which they stand.
        said_at: when it was said.
        dimension: of the domain's vocabulary; `stated` for words of none.
        domain: where it holds; None: anywhere.
        strength: how plainly it was said.
        scope: for how long; only what holds always goes on a card.
        effect: what it does to what was known.
        replaces: what it takes the place of, in the person's words, if they say so (`UPDATES`).
    """

    stance: Stance
    value: str
    words: str
    event_id: str
    said_at: datetime
    dimension: str = FREE
    domain: str | None = None
    strength: Strength = Strength.SAID
    scope: Scope = Scope.ALWAYS
    effect: Effect = Effect.STATES
    replaces: str | None = None


@dataclass(frozen=True)
class Heard:
    """What was understood of a chunk."""

    findings: tuple[Finding, ...] = ()
    of_others: int = 0
    reasoned_by: ReasonedBy = field(default_factory=ReasonedBy)
