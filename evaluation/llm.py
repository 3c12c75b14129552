"""SAGER's arms with a model (paper 2.3 to 2.5).

The endpoint is the worker's (`SAGER_LLM_*`, `OPENAI_*`), and so is the listwise ranker. An unusable answer counts as
such: the choice teaches nothing, and the ranking keeps the order of presentation, which is random. No rule replaces the
model.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from evaluation.community import World
from evaluation.exceptions import QualityError
from evaluation.plans import Choice, Plan
from evaluation.replies import CachedClient, Cost, Replies
from evaluation.skill_arms import RankBy, RankedArm, Rule, SkillArm
from evaluation.warm_up import ArmOptions, WarmedUp
from operators.evolve.llm import LlmReasoner
from operators.evolve.proposals import Proposal, ReasonerUnavailable
from operators.rank import RankTask
from operators.rank.listwise import ListwiseRanker
from operators.steps import Reason
from schemas import Contrast, PolicySkill
from streams.llm.client import LlmClient
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.settings import Settings


def client_of(settings: Settings, replies: Replies) -> CachedClient:
    """The configured endpoint with stored replies and all calls counted."""
    # No circuit breaker: if the endpoint stays down, the run ends and can be resumed.
    client = LlmClient(settings, on_call=replies.count)
    # Requests to one model differ only in the form of a strict schema.
    return CachedClient(client, replies, f"sizes={settings.llm_sizes_in_schema}")


def lenient(reason: Callable[[Contrast, PolicySkill], Any], on_unusable: Callable[[], object] = int) -> Reason:
    """Reasons that treat an unusable answer as no proposal."""

    async def reasoned(contrast: Contrast, skill: PolicySkill) -> Any:
        try:
            return await reason(contrast, skill)
        except ReasonerUnavailable:
            on_unusable()
            return Proposal()

    return reasoned


class LlmSkillArm(SkillArm):
    """Skills whose lists a model ranks, with context and slim skill."""

    def __init__(self, ranker: ListwiseRanker, rule: Rule, plan: Plan, **given: Any) -> None:
        super().__init__(rule, plan, weighs=False, **given)
        self._ranker = ranker

    async def rank(self, user_id: str, choice: Choice, instruction: str = "") -> RankedArm:
        """The model's order; the order of presentation if its answer is unusable."""
        items = [self.plan.facts[item_id] for item_id in choice.candidates]
        near = choice.context.companions
        companions = {item_id: near[item_id] for item_id in choice.candidates if item_id in near}
        text = self.slim(user_id, task=instruction) if self.rule.ranks else ""
        task = RankTask(items, instruction, choice.context.facets, companions, text, seed=choice.request_id)
        try:
            order = (await self._ranker.rank(task)).order
        except ReasonerUnavailable:
            order = choice.candidates
        return RankedArm({RankBy.MIX: order})


class LlmArm(WarmedUp):
    """One arm with a model; QualityError if no endpoint is set."""

    def __init__(self, rule: Rule, options: ArmOptions) -> None:
        settings = Settings()
        if not settings.llm_base_url and not settings.llm_api_key:
            raise QualityError(
                f"{rule.name} needs a model: set OPENAI_API_KEY and SAGER_LLM_MODEL, and OPENAI_BASE_URL where it is "
                "not OpenAI's own"
            )
        self._client = client_of(settings, options.replies or Replies())
        reasoner = LlmReasoner(self._client, gate=OUTPUT_GATE)
        super().__init__(replace(rule, reason=lambda: lenient(reasoner.reason)), options)
        self.concurrency = options.concurrency
        self._ranker = ListwiseRanker(self._client, orders=settings.rank_orders, gate=OUTPUT_GATE)

    @property
    def spent(self) -> Cost:
        """The cost of all calls, including the warm-up."""
        return self._client.spent

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    def _make(self, plan: Plan, world: World) -> SkillArm:
        tokens = self._options.slim_tokens
        return LlmSkillArm(self._ranker, self._rule, plan, profiles=world.profiles, shares=False, slim_tokens=tokens)
