"""The reasoners that need no model, and the gate that asks a model only when a choice may teach something."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from operators.attributes import fact_id
from operators.evolve.choice import Choice
from operators.evolve.proposal import Proposal, Reasoner
from operators.options import EvolveMode
from schemas import Contrast, Fact, PolicySkill, ReasonedBy, Tier

CONTRADICTABLE = frozenset({"ambience", "category", "genre", "meal", "mood", "price", "qualifier", "rating"})
"""Dimensions in which choosing elsewhere can contradict a taste. Another director is no contradiction of one."""

COUNTS = ReasonedBy(reasoner="counts")
_NOTHING = Proposal(reasoned_by=COUNTS)


@dataclass(frozen=True)
class RulesReasoner:
    """Reinforce what the chosen item has and most others lack, discover its rarest facts, weaken rarely.

    Attributes:
        common_share: a fact that more than this share of the unchosen items have does not explain the choice.
        discoveries: most new attributes per choice.
        near_misses: number of best-ranked unchosen items that count as near-misses.
        offers: an attribute is contradicted only if at least this many unchosen items had it.
    """

    common_share: float = 0.25
    discoveries: int = 2
    near_misses: int = 5
    offers: int = 1
    name: str = "rules"

    async def reason(self, contrast: Contrast, skill: PolicySkill) -> Proposal:
        """Propose changes by rule; never unavailable, costs no call."""
        return self.propose(contrast, skill)

    def propose(self, contrast: Contrast, skill: PolicySkill) -> Proposal:
        """As `reason`, for callers without an event loop."""
        choice = Choice.of(contrast)
        held = {attribute.attribute_id for attribute in skill.attributes}

        reinforced = [name for name in choice.facts if name in held and choice.share[name] <= self.common_share]
        weakened = list(self._weaken(contrast, skill, choice))
        reasons = {name: f"chosen, and {choice.share[name]:.0%} of the others have it" for name in reinforced}
        reasons |= {name: f"passed over {choice.seen[name]} times in this ranking" for name in weakened}
        return Proposal(
            reinforced=tuple(reinforced),
            discovered=self._discover(choice, held),
            weakened=tuple(weakened),
            reasons=reasons,
            reasoned_by=ReasonedBy(reasoner=self.name),
        )

    def _discover(self, choice: Choice, held: set[str]) -> tuple[Fact, ...]:
        fresh = [name for name in choice.telling() if name not in held and choice.share[name] <= self.common_share]
        return tuple(choice.facts[name] for name in fresh[: self.discoveries])

    def _weaken(self, contrast: Contrast, skill: PolicySkill, choice: Choice) -> Iterator[str]:
        """Yield attributes that near-misses offered and that the choice clearly contradicts (paper 2.5, Weaken)."""
        answered = {fact.dimension for fact in choice.facts.values()}
        loyal = {a.dimension for a in skill.attributes if a.attribute_id in choice.facts}
        at_stake = (answered & CONTRADICTABLE) - loyal
        near = {fact_id(fact) for item in contrast.unchosen[-self.near_misses :] for fact in item.facts}
        for attribute in skill.attributes:
            name, is_sure = attribute.attribute_id, attribute.tier >= Tier.MEDIUM
            if attribute.dimension in at_stake and is_sure and choice.seen.get(name, 0) >= self.offers and name in near:
                yield name


@dataclass(frozen=True)
class CountsReasoner:
    """Adds nothing to the counts."""

    name: str = "counts"

    async def reason(self, _contrast: Contrast, _skill: PolicySkill) -> Proposal:
        """Return an empty proposal; never unavailable, costs no call."""
        return _NOTHING

    def propose(self, _contrast: Contrast, _skill: PolicySkill) -> Proposal:
        """As `reason`, for callers without an event loop."""
        return _NOTHING


def without_model(mode: EvolveMode, rules: RulesReasoner | None = None) -> CountsReasoner | RulesReasoner:
    """Return the reasoner of a mode where no model reasons."""
    return CountsReasoner() if mode is EvolveMode.COUNTS else rules or RulesReasoner()


def nothing_new(contrast: Contrast, skill: PolicySkill) -> bool:
    """True if this choice only repeats lines of which the skill is sure already.

    Every line that the chosen item states is high; no offered fact is news; and in each dimension of the offered facts
    with lines in the skill, the choice stayed with one of them. That pays where few shared words describe items, and
    for users who repeat their choices: on films, books and places it is true for under 1% of choices.
    """
    choice = Choice.of(contrast)
    said = [line for line in skill.attributes if line.tier]
    stated = [line for line in said if line.attribute_id in choice.facts]
    if not stated or any(line.tier < Tier.HIGH for line in stated) or choice.news(skill):
        return False
    loyal = {line.dimension for line in stated}
    spoken = {choice.facts[name].dimension for name in choice.offered()}
    return not any(line.dimension in spoken - loyal for line in said)


@dataclass(frozen=True)
class GatedReasoner:
    """Asks the inner reasoner only when there is something new to judge."""

    inner: Reasoner
    on_gated: Callable[[], None] = lambda: None

    @property
    def name(self) -> str:
        """The inner reasoner's name."""
        return self.inner.name

    async def reason(self, contrast: Contrast, skill: PolicySkill) -> Proposal:
        """Ask the inner reasoner; where nothing is new, reinforce the lines that the choice repeats."""
        if not nothing_new(contrast, skill):
            return await self.inner.reason(contrast, skill)
        self.on_gated()
        choice = Choice.of(contrast)
        held = {line.attribute_id for line in skill.attributes}
        repeated = tuple(name for name in choice.facts if name in held)
        return Proposal(
            reinforced=repeated,
            reasons=dict.fromkeys(repeated, "the chosen item has it, and nothing that is new"),
            reasoned_by=ReasonedBy(reasoner=self.name, gated=True),
        )
