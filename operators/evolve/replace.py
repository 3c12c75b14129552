"""Full replacement (paper 3.4, Table 5): rewrites a skill from one choice, for comparison with diffs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from operators.evolve.choice import Choice
from operators.evolve.reasoners import COMMON_SHARE
from schemas import Contrast, Fact, PolicySkill, ReasonedBy, Tier

MAX_LINES = 12
"""Most lines of a skill that one choice writes."""


@dataclass(frozen=True)
class Replacement:
    """A whole skill from one choice: lines that it does not name are dropped. The merge decides what is applied.

    Attributes:
        facts: facts of the chosen item and how sure the choice makes of them, the most telling first.
        kept: tiers of old lines to keep beside them, by attribute id.
        reasons: a short reason per attribute id, where there is one.
        analysis: the reasoning in a few sentences, for people; never used by code.
        reasoned_by: the record of how it was made.
    """

    facts: tuple[tuple[Fact, Tier], ...] = ()
    kept: Mapping[str, Tier] = field(default_factory=dict)
    reasons: Mapping[str, str] = field(default_factory=dict)
    analysis: str = ""
    reasoned_by: ReasonedBy = field(default_factory=ReasonedBy)


class Replacer(Protocol):
    """Turns a contrast into a rewritten skill."""

    @property
    def name(self) -> str:
        """Its name in diffs and metrics."""
        ...

    async def replace(self, contrast: Contrast, skill: PolicySkill) -> Replacement:
        """The skill that this choice alone gives.

        Raises:
            ReasonerUnavailable: there is no answer; nothing has changed.
        """
        ...


@dataclass(frozen=True)
class RulesReplacer:
    """The chosen item's most telling facts: medium if few others have them, else low.

    Attributes:
        common_share: a fact that more than this share of the unchosen items have is low.
        lines: most lines of the new skill.
    """

    common_share: float = COMMON_SHARE
    lines: int = MAX_LINES
    name: str = "rules"

    async def replace(self, contrast: Contrast, skill: PolicySkill) -> Replacement:
        """The skill that follows from this choice by rule; never unavailable, costs no call."""
        return self.rewrite(contrast)

    def rewrite(self, contrast: Contrast) -> Replacement:
        """As `replace`, for callers without an event loop. The old skill has no say."""
        choice = Choice.of(contrast)
        names = choice.telling()[: self.lines]
        rare = {name for name in names if choice.share[name] <= self.common_share}
        return Replacement(
            facts=tuple((choice.facts[name], Tier.MEDIUM if name in rare else Tier.LOW) for name in names),
            reasons={name: f"chosen, and {choice.share[name]:.0%} of the others have it" for name in names},
            reasoned_by=ReasonedBy(reasoner=self.name),
        )
