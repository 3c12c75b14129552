"""A reasoner's output: a proposal, not yet a diff. The merge decides which changes apply."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from schemas import Contrast, Fact, Judgement, PolicySkill, ReasonedBy


@dataclass(frozen=True)
class Proposal:
    """The outcome of the three phases (paper 2.5): ids to reinforce, facts to discover, ids to weaken.

    The most informative discovery comes first; `reasons` are by attribute id. No code uses the `analysis`.
    """

    reinforced: tuple[str, ...] = ()
    discovered: tuple[Fact, ...] = ()
    weakened: tuple[str, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)
    analysis: str = ""
    judged: tuple[Judgement, ...] = ()
    reasoned_by: ReasonedBy = field(default_factory=ReasonedBy)

    @property
    def is_empty(self) -> bool:
        """True if the reasoner adds nothing to the counts."""
        moves = self.reinforced or self.discovered or self.weakened
        return not (moves or self.reasons or self.analysis or self.judged)


class ReasonerUnavailable(Exception):
    """The reasoner cannot answer now: outage, budget or a reply that stayed invalid.

    `outcome` is a metric label, such as `timeout` or `invalid-reply`; `detail` is for a person.
    """

    def __init__(self, outcome: str, detail: str) -> None:
        super().__init__(f"{outcome}: {detail}")
        self.outcome, self.detail = outcome, detail


class Reasoner(Protocol):
    """Turns a contrast into a proposal."""

    @property
    def name(self) -> str:
        """Its name in diffs and metrics."""

    async def reason(self, contrast: Contrast, skill: PolicySkill) -> Proposal:
        """Propose changes to the skill, or raise ReasonerUnavailable."""
