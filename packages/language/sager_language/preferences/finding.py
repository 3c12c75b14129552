"""The result of reading a conversation."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

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
    """One thing that a person said of themselves.

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
