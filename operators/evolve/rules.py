"""The reasoner without a model: attribute algebra over what parsers found in the items (paper 2.5)."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from operators.attributes import fact_id
from operators.evolve.proposal import Proposal
from schemas import Contrast, Fact, Kind, PolicySkill, ReasonedBy, Tier

CONTRADICTABLE = frozenset({"ambience", "category", "genre", "meal", "mood", "price", "qualifier", "rating"})
"""Dimensions in which choosing elsewhere can contradict a taste. Another director is no contradiction of one."""

TELLING = ("genre", "category", "director", "author", "mood", "ambience", "qualifier", "price", "meal", "rating", "era")
"""Dimensions in which a single choice tells most, the most telling first; the others follow."""


@dataclass(frozen=True)
class RulesReasoner:
    """Reinforce what the chosen item has and most others lack, discover its rarest facts, weaken rarely.

    Attributes:
        common_share: a fact that more than this share of the unchosen items have does not explain the choice.
        discoveries: most new attributes per choice.
        near_misses: how many of the best-ranked unchosen items count as near-misses.
        offers: an attribute is contradicted only if at least this many unchosen items had it.
    """

    common_share: float = 0.25
    discoveries: int = 2
    near_misses: int = 5
    offers: int = 1
    name: str = "rules"

    async def reason(self, contrast: Contrast, skill: PolicySkill) -> Proposal:
        """The proposal that follows from this choice by rule; never unavailable, costs no call."""
        return self.propose(contrast, skill)

    def propose(self, contrast: Contrast, skill: PolicySkill) -> Proposal:
        """As `reason`, for callers without an event loop."""
        chosen = {fact_id(fact): fact for fact in contrast.chosen.facts}
        seen = Counter(name for item in contrast.unchosen for name in {fact_id(fact) for fact in item.facts})
        share = {name: seen[name] / len(contrast.unchosen) if contrast.unchosen else 0.0 for name in chosen}
        held = {attribute.attribute_id: attribute for attribute in skill.attributes}

        reinforced = [name for name in chosen if name in held and share[name] <= self.common_share]
        discovered = self._discover(chosen, share, held)
        weakened = list(self._weaken(contrast, skill, chosen, seen))
        confirmed, contradicted = self._patterns(skill, chosen)
        reasons = {name: f"chosen, and {share[name]:.0%} of the others have it" for name in reinforced}
        reasons |= {name: f"passed over {seen[name]} times in this ranking" for name in weakened}
        return Proposal(
            reinforced=(*reinforced, *confirmed),
            discovered=discovered,
            weakened=(*weakened, *contradicted),
            reasons=reasons,
            reasoned_by=ReasonedBy(reasoner=self.name),
        )

    def _discover(
        self, chosen: Mapping[str, Fact], share: Mapping[str, float], held: Mapping[str, object]
    ) -> tuple[Fact, ...]:
        order = {dimension: place for place, dimension in enumerate(TELLING)}
        fresh = [name for name in chosen if name not in held and share[name] <= self.common_share]
        # sorted() is stable: within one dimension the parser's order stands, most telling first.
        fresh.sort(key=lambda name: (order.get(chosen[name].dimension, len(order)), share[name]))
        return tuple(chosen[name] for name in fresh[: self.discoveries])

    def _weaken(
        self, contrast: Contrast, skill: PolicySkill, chosen: Mapping[str, Fact], seen: Mapping[str, int]
    ) -> Iterator[str]:
        """Attributes that near-misses offered and that the choice went clearly past (paper 2.5, Weaken)."""
        near = {fact_id(fact) for item in contrast.unchosen[-self.near_misses :] for fact in item.facts}
        answered = {fact.dimension for fact in chosen.values()}
        loyal = {a.dimension for a in skill.attributes if a.attribute_id in chosen}
        for attribute in skill.attributes:
            if (
                attribute.dimension in CONTRADICTABLE
                and attribute.tier >= Tier.MEDIUM
                and attribute.dimension in answered
                and attribute.dimension not in loyal
                and attribute.attribute_id in near
                and seen.get(attribute.attribute_id, 0) >= self.offers
            ):
                yield attribute.attribute_id

    def _patterns(self, skill: PolicySkill, chosen: Mapping[str, Fact]) -> tuple[list[str], list[str]]:
        """Exploration: a choice among known genres confirms staying, one outside confirms exploring."""
        main = {fact.dimension for fact in chosen.values()} & {"genre", "category"}
        patterns = [a for a in skill.attributes if a.kind is Kind.PATTERN and a.dimension == "exploration"]
        if not main or not patterns:
            return [], []
        known = {a.attribute_id for a in skill.attributes}
        familiar = any(name in known for name, fact in chosen.items() if fact.dimension in main)
        stays = [a.attribute_id for a in patterns if a.value.startswith("stays")]
        explores = [a.attribute_id for a in patterns if a.value.startswith("explores")]
        return (stays, []) if familiar else (explores, stays)
