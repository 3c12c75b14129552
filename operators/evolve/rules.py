"""The reasoner without a model: attribute algebra over what parsers found in the items (paper 2.5)."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from operators.attributes import fact_id
from operators.evolve.choice import Choice
from operators.evolve.proposal import Proposal
from schemas import Contrast, Fact, PolicySkill, ReasonedBy, Tier

CONTRADICTABLE = frozenset({"ambience", "category", "genre", "meal", "mood", "price", "qualifier", "rating"})
"""Dimensions in which choosing elsewhere can contradict a taste. Another director is no contradiction of one."""

COMMON_SHARE = 0.25
"""A fact that more than this share of the unchosen items have does not explain the choice."""


@lru_cache(maxsize=8)
def _by(name: str) -> ReasonedBy:
    return ReasonedBy(reasoner=name)


@dataclass(frozen=True)
class RulesReasoner:
    """Reinforce what the chosen item has and most others lack, discover its rarest facts, weaken rarely.

    Attributes:
        common_share: a fact that more than this share of the unchosen items have does not explain the choice.
        discoveries: most new attributes per choice.
        near_misses: how many of the best-ranked unchosen items count as near-misses.
        offers: an attribute is contradicted only if at least this many unchosen items had it.
    """

    common_share: float = COMMON_SHARE
    discoveries: int = 2
    near_misses: int = 5
    offers: int = 1
    name: str = "rules"

    async def reason(self, contrast: Contrast, skill: PolicySkill) -> Proposal:
        """The proposal that follows from this choice by rule; never unavailable, costs no call."""
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
            reasoned_by=_by(self.name),
        )

    def _discover(self, choice: Choice, held: set[str]) -> tuple[Fact, ...]:
        fresh = [name for name in choice.telling() if name not in held and choice.share[name] <= self.common_share]
        return tuple(choice.facts[name] for name in fresh[: self.discoveries])

    def _weaken(self, contrast: Contrast, skill: PolicySkill, choice: Choice) -> Iterator[str]:
        """Attributes that near-misses offered and that the choice went clearly past (paper 2.5, Weaken)."""
        answered = {fact.dimension for fact in choice.facts.values()}
        loyal = {a.dimension for a in skill.attributes if a.attribute_id in choice.facts}
        at_stake = (answered & CONTRADICTABLE) - loyal
        for attribute in skill.attributes:
            if (
                attribute.dimension in at_stake
                and attribute.tier >= Tier.MEDIUM
                and choice.seen.get(attribute.attribute_id, 0) >= self.offers
                and self._is_near(attribute.attribute_id, contrast)
            ):
                yield attribute.attribute_id

    def _is_near(self, attribute_id: str, contrast: Contrast) -> bool:
        """Whether a near-miss has this."""
        near = contrast.unchosen[-self.near_misses :]
        return any(fact_id(fact) == attribute_id for item in near for fact in item.facts)
