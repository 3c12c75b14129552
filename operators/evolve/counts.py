"""The reasoner that needs no reasoning: the merge counts what was taken and what was left by itself."""

from dataclasses import dataclass

from operators.evolve.proposal import Proposal
from operators.evolve.rules import RulesReasoner
from operators.options import EvolveMode
from schemas import Contrast, PolicySkill, ReasonedBy

COUNTS = ReasonedBy(reasoner="counts")
_NOTHING = Proposal(reasoned_by=COUNTS)


@dataclass(frozen=True)
class CountsReasoner:
    """Adds nothing to the counts."""

    name: str = "counts"

    async def reason(self, contrast: Contrast, skill: PolicySkill) -> Proposal:
        """An empty proposal; never unavailable, costs no call."""
        return self.propose(contrast, skill)

    def propose(self, _contrast: Contrast, _skill: PolicySkill) -> Proposal:
        """As `reason`, for callers without an event loop."""
        return _NOTHING


def without_model(mode: EvolveMode, rules: RulesReasoner | None = None) -> CountsReasoner | RulesReasoner:
    """Who reasons in a mode where no model does."""
    return CountsReasoner() if mode is EvolveMode.COUNTS else rules or RulesReasoner()
