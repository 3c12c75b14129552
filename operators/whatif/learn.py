"""How an arm learns from one choice: who reasons, by which limits, and when it learns no more."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from operators.evolve import Proposal, Replacement, validate
from operators.merge import DEFAULT_LIMITS, MergeLimits, resolve, resolve_replacement
from operators.privacy import DEFAULT, Privacy
from schemas import Contrast, PolicySkill, Position, SkillDiff

Reason = Callable[[Contrast, PolicySkill], Awaitable[Proposal]]
Rewrite = Callable[[Contrast, PolicySkill], Awaitable[Replacement]]


@dataclass(frozen=True)
class Learner:
    """Everything that decides what a choice does to a skill.

    Attributes:
        reason: who proposes.
        rewrite: who writes skills anew; None where skills evolve by diffs.
        limits: of the merge.
        privacy: what no skill may hold.
        warmup_rounds: a skill learns no more after so many choices; None: it always does.
    """

    reason: Reason
    rewrite: Rewrite | None = None
    limits: MergeLimits = DEFAULT_LIMITS
    privacy: Privacy = DEFAULT
    warmup_rounds: int | None = None

    def passes_over(self, skill: PolicySkill) -> bool:
        """Whether this skill learns from no further choice: a person froze it, or its warm-up is over."""
        return skill.frozen or (self.warmup_rounds is not None and skill.contrasts >= self.warmup_rounds)

    async def diff(
        self,
        contrast: Contrast,
        skill: PolicySkill,
        source: Position | None,
        newest: Callable[[], PolicySkill] | None = None,
    ) -> SkillDiff:
        """Reason on the skill as it was read; resolve against the skill as it is when the answer comes.

        Args:
            contrast: the choice.
            skill: what is reasoned on.
            source: where the contrast stands.
            newest: the skill once there is an answer; the same one if nobody else writes to it.

        Raises:
            ReasonerUnavailable: there is no answer; nothing has been changed.
        """
        newest = newest or (lambda: skill)
        if self.rewrite is not None:
            replacement = await self.rewrite(contrast, skill)
            return resolve_replacement(newest(), replacement, contrast, source, self.limits, self.privacy)
        proposal = await self.reason(contrast, skill)
        now = newest()
        return resolve(now, validate(proposal, now, contrast, self.privacy), contrast, source, self.limits)
