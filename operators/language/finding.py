"""Findings in a chunk of a conversation, by rules or by a model."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from schemas import ReasonedBy
from schemas.cards import FREE, Strength
from schemas.statements import Scope, Stance


class Effect(StrEnum):
    """How a finding changes a card."""

    STATES = "states"
    UPDATES = "updates"
    """It takes the place of what it `replaces`."""
    WITHDRAWS = "withdraws"
    """It holds no more."""
    FORGETS = "forgets"
    """The person wants it erased, from the log too."""


@dataclass(frozen=True)
class Finding:
    """One taste that a person stated.

    `value` is one of a vocabulary, or a few words of the person, at most 100 characters; `words` quotes them to the
    letter from the utterance `event_id`. `dimension` is `stated` for words of no vocabulary. Without a `domain` it
    holds in all. Only findings of scope `always` go on a card.
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
    """The findings in a chunk, and the number of statements about others."""

    findings: tuple[Finding, ...] = ()
    of_others: int = 0
    reasoned_by: ReasonedBy = field(default_factory=ReasonedBy)
