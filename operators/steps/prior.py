"""Step of the agent `prior`, and the start of skills (paper 2.3)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from operators.admission import is_applied
from operators.erasure import without_erased_facts
from operators.graph.items import GraphLimits, MemoryUpdate, remember_choice
from operators.language.privacy import Privacy
from operators.learning.fold import initial_skill
from operators.learning.limits import DEFAULT_LIMITS, MergeLimits, fit_seed
from operators.learning.prior import frequency_prior, observe, statinit
from operators.options import EvolveMode
from schemas import Attribute, Event, Interaction, ItemFacts, Memory, PolicySkill, Position, Profile, Receipt, Tier


class PriorOutcome(StrEnum):
    """The outcome of an interaction; a metric's label."""

    COUNTED = "counted"
    REPEATED = "repeated"
    FORGOTTEN = "forgotten"


@dataclass(frozen=True)
class PriorState:
    """The state of a user in a domain."""

    profile: Profile | None = None
    memory: Memory | None = None
    receipt: Receipt | None = None


@dataclass(frozen=True)
class PriorEffects:
    """The profile and the memory to be written.

    Each has a fence of its own: after a crash between the two writes, the missing one is made up for.
    """

    outcome: PriorOutcome
    profile: Profile | None = None
    remembered: MemoryUpdate | None = None


@dataclass(frozen=True)
class PriorStep:
    """How interactions are counted."""

    graph: GraphLimits | None = None

    def step(
        self,
        state: PriorState,
        interaction: Interaction,
        item: ItemFacts,
        source: Position,
        now: datetime | None = None,
    ) -> PriorEffects:
        """Count an interaction, unless it is forgotten or counted already."""
        moments = (interaction.occurred_at, source.moment)
        known = without_erased_facts(item, interaction.user_id, interaction.domain, state.receipt, *moments)
        if known is None:
            return PriorEffects(PriorOutcome.FORGOTTEN)
        remembered = None
        if self.graph is not None:
            remembered = remember_choice(state.memory, interaction, known, source, now, self.graph)
        if state.profile is not None and is_applied(state.profile.applied, source):
            return PriorEffects(PriorOutcome.REPEATED, remembered=remembered)
        profile = observe(state.profile, interaction, known.facts, source)
        return PriorEffects(PriorOutcome.COUNTED, profile, remembered)


@dataclass(frozen=True)
class SkillStart:
    """Seed of new skills: the user's history, else the domain's template.

    In `paper` mode a history gives tiers by frequency, without counts.
    """

    limits: MergeLimits = DEFAULT_LIMITS
    from_history: bool = True
    from_template: bool = True
    mode: EvolveMode = EvolveMode.EVIDENCE
    privacy: Privacy = field(kw_only=True)

    def skill(
        self,
        user_id: str,
        domain: str,
        event: Event,
        profile: Profile | None,
        template: Sequence[Attribute] = (),
        usual: Mapping[str, int] | None = None,
    ) -> PolicySkill:
        """Return the skill before the first choice, of history or template."""
        lines: Sequence[Attribute]
        if profile is not None and profile.interactions:
            by_tiers, lines = self.mode is EvolveMode.PAPER, ()
            if self.from_history:
                lines = frequency_prior(profile) if by_tiers else statinit(profile, usual)
        else:
            lines = template if self.from_template else ()
        # Profiles and templates may be older than the privacy rules.
        kept = [line for line in lines if self.privacy.refuses(domain, line.dimension, line.value) is None]
        # Facts of the history without a proof begin as hypotheses.
        held = {line.attribute_id: (line.taken, line.expected, line.proof) for line in kept if line.tier is Tier.SILENT}
        kept = [line for line in kept if line.tier is not Tier.SILENT]
        skill = initial_skill(user_id, domain, fit_seed(kept, self.limits), event, held)
        # Do not count visits again that are already in the seed.
        return skill if profile is None else skill.model_copy(update={"applied": profile.applied})
