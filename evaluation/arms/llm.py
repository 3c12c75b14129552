"""SAGER's arms with a model, which reasons about choices, sees the slim skill and ranks (paper 2.3 to 2.5).

The endpoint is the worker's (`SAGER_LLM_*`, `OPENAI_*`), and so is the ranker (`SAGER_RANKER`), first-token unless the
settings name another one with a model. Unusable answers count as such: the choice teaches nothing, and the ranking
keeps the order of presentation, which is random. No rule replaces the model.
"""

from collections.abc import Sequence

from evaluation.arms.arm import Cost
from evaluation.arms.options import ArmOptions
from evaluation.arms.sager import Parts, Sager, Situation
from evaluation.exceptions import QualityError
from evaluation.replies import Desk, Replies
from operators.evolve import GatedReasoner, Proposal, Reasoner, ReasonerUnavailable
from operators.evolve.llm import LlmReasoner
from operators.rank import Task
from operators.rank.llm import Form, LlmRanker
from operators.tokens import count_tokens
from schemas import Contrast, ItemFacts, PolicySkill
from streams.llm.client import LlmClient
from streams.settings import RankerName, Settings
from streams.vouching import DEFAULT as VOUCHING

OPENAI_URL = "https://api.openai.com/v1"


class SagerLlm(Sager):
    """One arm with a model.

    Args:
        parts: its parts.
        options: the seed, `tau`, the slim skill's budget, concurrency and the kept replies.
        settings: the endpoint and the ranker; None: from the environment.

    Raises:
        QualityError: no endpoint is set.
    """

    def __init__(self, parts: Parts, options: ArmOptions, settings: Settings | None = None) -> None:
        super().__init__(parts, options)
        settings = settings or Settings()
        if not settings.llm_base_url and not settings.llm_api_key:
            raise QualityError(
                f"{parts.name} needs a model: set OPENAI_API_KEY and SAGER_LLM_MODEL, and OPENAI_BASE_URL where it is "
                "not OpenAI's own"
            )
        self.concurrency = options.concurrency
        replies = options.replies or Replies()
        self._client = client_of(settings, replies)
        # Only the form of a strict schema also differs between requests to the same model.
        self._desk = Desk(self._client, replies, f"sizes={settings.llm_sizes_in_schema}")
        reasoner = LlmReasoner(self._desk, count_tokens=count_tokens, vouching=VOUCHING)
        self._evolver = Lenient(GatedReasoner(reasoner, lambda: None) if settings.gate else reasoner)
        deterministic = settings.ranker is RankerName.DETERMINISTIC
        form = Form.FIRST_TOKEN if deterministic else Form(settings.ranker.value)
        self._ranker = LlmRanker(
            self._desk, count_tokens=count_tokens, form=form, orders=settings.rank_orders, vouching=VOUCHING
        )

    @property
    def spent(self) -> Cost:
        """The cost of all calls, including the warm-up."""
        return self._desk.spent

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._client.aclose()

    def _reasoner(self) -> Reasoner:
        return self._evolver

    async def _order(self, now: Situation, items: Sequence[ItemFacts], instruction: str, seed: str) -> tuple[str, ...]:
        known = {item.item_id for item in items}
        companions = {name: share for name, share in now.context.companions.items() if name in known}
        text = self._slim(now.skill, instruction).text if self._parts.skill else ""
        task = Task(items, instruction, now.context.facets, companions, text, seed=seed)
        try:
            return (await self._ranker.rank(task)).order
        except ReasonerUnavailable:
            return tuple(item.item_id for item in items)


class Lenient:
    """A reasoner that treats an unusable answer as no proposal."""

    name = "llm"

    def __init__(self, reasoner: Reasoner) -> None:
        self._reasoner = reasoner

    async def reason(self, contrast: Contrast, skill: PolicySkill) -> Proposal:
        """The proposal for a choice; empty if the answer is unusable."""
        try:
            return await self._reasoner.reason(contrast, skill)
        except ReasonerUnavailable:
            return Proposal()


def client_of(settings: Settings, replies: Replies) -> LlmClient:
    """The configured endpoint, with all calls counted.

    It has no circuit breaker: if the endpoint stays down, the run ends and can be resumed.
    """
    return LlmClient(
        base_url=settings.llm_base_url or OPENAI_URL,
        api_key=settings.llm_api_key.get_secret_value() if settings.llm_api_key else "",
        model=settings.llm_model,
        timeout_seconds=settings.llm_timeout_seconds,
        attempts=settings.llm_attempts,
        max_retry_seconds=settings.llm_retry_seconds,
        sizes_in_schema=settings.llm_sizes_in_schema,
        on_call=replies.count,
    )


def no_skill(options: ArmOptions) -> SagerLlm:
    """Retrieve only (the paper's MemRec); the model ranks."""
    return SagerLlm(Parts("no-skill-llm", skill=False), options)


def with_statinit(options: ArmOptions) -> SagerLlm:
    """Retrieve and the prior, without evolution; the model ranks."""
    return SagerLlm(Parts("statinit-llm", evolve=False), options)


def sager(options: ArmOptions) -> SagerLlm:
    """All of it, by the model."""
    return SagerLlm(Parts("sager-llm"), options)
