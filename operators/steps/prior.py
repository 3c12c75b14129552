"""Step of the agent `prior`: an interaction goes into the user's profile and into their memory (paper 2.3)."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from operators.applied import is_applied
from operators.forget import what_remains
from operators.propagate import GraphLimits
from operators.statinit import observe
from operators.steps.graph import Remembered, moment_of, remember
from schemas import Interaction, ItemFacts, Memory, Position, Profile, Receipt


class Outcome(StrEnum):
    """What became of an interaction; a metric's label."""

    COUNTED = "counted"
    REPEATED = "repeated"
    FORGOTTEN = "forgotten"


@dataclass(frozen=True)
class State:
    """What is known of a user in a domain."""

    profile: Profile | None = None
    memory: Memory | None = None
    receipt: Receipt | None = None


@dataclass(frozen=True)
class Effects:
    """What an interaction leads to.

    Attributes:
        outcome: what became of it.
        profile: to be written; None: nothing is.
        remembered: the memory to be written and what items hear; None: nothing. It has a fence of its own: after a
            crash between the two writes, one of them is made up for.
    """

    outcome: Outcome
    profile: Profile | None = None
    remembered: Remembered | None = None


@dataclass(frozen=True)
class Prior:
    """How interactions are counted."""

    graph: GraphLimits | None = None

    def step(
        self, state: State, interaction: Interaction, item: ItemFacts, source: Position, now: datetime | None = None
    ) -> Effects:
        """Count an interaction, unless it is forgotten or counted already."""
        user_id, domain = interaction.user_id, interaction.domain
        moments = (interaction.occurred_at, source.moment)
        known = what_remains(item, user_id, domain, state.receipt, *moments)
        if known is None:
            return Effects(Outcome.FORGOTTEN)
        remembered = None
        if self.graph is not None:
            at = moment_of(interaction.occurred_at, source, now)
            event_id = interaction.event_id
            remembered = remember(state.memory, user_id, domain, known, at, event_id, source, self.graph)
        if state.profile is not None and is_applied(state.profile.applied, source):
            return Effects(Outcome.REPEATED, remembered=remembered)
        profile = observe(state.profile, interaction, known.facts, source)
        return Effects(Outcome.COUNTED, profile, remembered)
