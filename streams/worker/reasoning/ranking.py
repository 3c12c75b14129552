"""Answers to rank requests: retrieve, extract, reason, all from local state (paper 2.2 to 2.4).

Where a model is to do a part and has no answer, the rule does it, and the ranking says so: somebody is waiting.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from operators.evolve import ReasonerUnavailable
from operators.rank import LlmRanking, Task, facet_weights, rank
from operators.retrieve import Neighbours, Retrieved, RetrieveLimits, retrieve
from operators.slim import lines_of, relevant_to, slim
from operators.tokens import count_tokens
from schemas import (
    Attribute,
    Facet,
    Injected,
    Memory,
    Neighbourhood,
    PolicySkill,
    RankRequest,
    ReasonedBy,
    SlimSkill,
    compound_key,
)
from streams.settings import RankSkill
from streams.worker import metrics
from streams.worker.pipeline import Pipeline
from streams.worker.reasoning.models import Models
from streams.worker.runtime.lru import LruCache
from streams.worker.skills import newest

KEPT = 2_000
"""Facets and slim skills that are kept for the next request of the same user."""
DETERMINISTIC = "deterministic"


@dataclass(frozen=True)
class Context:
    """What a ranking is made with, apart from the candidates."""

    facets: tuple[Facet, ...]
    retrieved: Retrieved
    facets_by: ReasonedBy | None = None

    @property
    def asks(self) -> bool:
        """Whether it is worth asking a model for the next part: one that failed a moment ago would fail again."""
        return self.facets_by is None or self.facets_by.fallback is None


class Answers:
    """The three stages before a ranking is sent.

    Args:
        pipeline: the worker's parts.
        models: the models that do a part, by what the settings ask for; None where they ask for none.
    """

    def __init__(self, pipeline: Pipeline, models: Models) -> None:
        self._pipeline = pipeline
        self._settings = pipeline.settings
        self._models = models
        self._limits = RetrieveLimits()
        self._contexts: LruCache[tuple[str, ...], Context] = LruCache(KEPT)
        self._slims: LruCache[tuple[str, ...], tuple[SlimSkill, ReasonedBy | None]] = LruCache(KEPT)

    async def rank(self, request: RankRequest) -> tuple[tuple[str, ...], Injected]:
        """The candidates' ids in order, and everything that had its say."""
        skill = newest(self._pipeline, request)
        context = await self._retrieve(request)
        short, slim_by = await self._extract(request, skill, asks=context.asks)
        items = [self._pipeline.facts_of(request.domain, candidate) for candidate in request.candidates]
        known = {item.item_id for item in items}
        companions = {name: share for name, share in context.retrieved.companions.items() if name in known}
        text = "" if self._settings.rank_skill is RankSkill.NONE else short.text
        task = Task(items, request.instruction, context.facets, companions, text, request.request_id)
        asks = context.asks and (slim_by is None or slim_by.fallback is None)
        ranking = await self._reason(task, skill, short, asks=asks)
        return ranking.order, Injected(
            skill_version=skill.version,
            slim_skill=text,
            rank_skill=self._settings.rank_skill.value,
            reasoner=ranking.reasoned_by.reasoner,
            facets=tuple(_without_users(facet) for facet in context.facets),
            companions=companions,
            memory_version=context.retrieved.memory_version,
            graph_epoch=context.retrieved.graph_epoch,
            ranked_by=ranking.reasoned_by,
            facets_by=context.facets_by,
            slim_by=slim_by,
            repaired=ranking.repaired,
        )

    async def _retrieve(self, request: RankRequest) -> Context:
        """Facets of this user's neighbourhood: the same until their memory, the graph about them or the day changes."""
        if not self._settings.retrieve:
            return Context((), Retrieved())
        pipeline, key = self._pipeline, compound_key(request.user_id, request.domain)
        memory = pipeline.read(pipeline.memories, key, Memory)
        near = pipeline.read(pipeline.neighbourhoods, key, Neighbourhood)
        epochs = (str(memory.version if memory else 0), str(near.epoch if near else 0))
        epoch = pipeline.forget_epoch(request.user_id)
        name = (request.user_id, epoch, request.domain, *epochs, request.occurred_at.date().isoformat())
        if (known := self._contexts.get(name)) is not None:
            return known if known.facets_by is None else replace(known, facets_by=_kept(known.facets_by))
        # A domain that is read by another's parser is pruned by that one's rules.
        rules = self._settings.parsers.get(request.domain, request.domain)
        popularity = pipeline.global_skills.popularity(request.domain)
        found = retrieve(memory, near, rules, request.occurred_at, self._limits, self._settings.preset, popularity)
        # Without the neighbours, which hold the decoded graph: only what a ranking uses is kept.
        light = replace(found, neighbours=Neighbours())
        context = Context(found.facets, light)
        for why, count in found.dropped.items():
            metrics.FACETS_DROPPED.labels(why.value).inc(count)
        if self._models.facets is not None and memory is not None:
            try:
                written = await self._models.facets.synthesize(memory, found.neighbours)
                context = Context(written.facets, light, written.reasoned_by)
                for why, count in written.dropped.items():
                    metrics.FACETS_DROPPED.labels(why.value).inc(count)
            except ReasonerUnavailable as error:
                metrics.RANK_FALLBACKS.labels("facets").inc()
                # Not kept: the next request asks again.
                return Context(found.facets, light, _instead(error))
        self._contexts.put(name, context)
        return context

    async def _extract(
        self, request: RankRequest, skill: PolicySkill, *, asks: bool
    ) -> tuple[SlimSkill, ReasonedBy | None]:
        """The slim skill for this request (paper 2.3); one that a model chose is kept for the skill's version."""
        asked = request.instruction if self._settings.task_slim else ""
        population = self._pipeline.global_skills.shares(request.domain)
        budget = self._settings.slim_tokens
        epoch = self._pipeline.forget_epoch(request.user_id)
        name = (request.user_id, epoch, request.domain, str(skill.version), asked)
        model = self._models.extract if self._slim_ranks else None
        if model is None or skill.version == 0 or not asks:
            return slim(skill, count_tokens, budget, population, relevant_to(asked, skill)), None
        if (known := self._slims.get(name)) is not None:
            return known[0], known[1] and _kept(known[1])
        try:
            extracted = await model.extract(skill, asked, budget, population)
        except ReasonerUnavailable as error:
            metrics.RANK_FALLBACKS.labels("slim").inc()
            return slim(skill, count_tokens, budget, population, relevant_to(asked, skill)), _instead(error)
        self._slims.put(name, (extracted.slim, extracted.reasoned_by))
        return extracted.slim, extracted.reasoned_by

    @property
    def _slim_ranks(self) -> bool:
        """Whether the slim skill has a say in the order: by default a sum goes by all lines."""
        llm = self._models.rank is not None
        return self._settings.rank_skill is RankSkill.SLIM or (llm and self._settings.rank_skill is not RankSkill.NONE)

    async def _reason(self, task: Task, skill: PolicySkill, short: SlimSkill, *, asks: bool) -> LlmRanking:
        """The order, by the configured ranker or in its stead by the deterministic one."""
        fallback = None if asks or self._models.rank is None else "the model did not answer a question before"
        if self._models.rank is not None and asks:
            try:
                ranking = await self._models.rank.rank(task)
            except ReasonerUnavailable as error:
                fallback = str(error)[:200]
                metrics.RANK_FALLBACKS.labels("rank").inc()
            else:
                metrics.RANK_REPAIRS.inc(ranking.repaired)
                return ranking
        ranked = rank(
            task.items,
            self._lines(skill, short),
            task.instruction,
            facet_weights(task.facets),
            task.seed,
            companions=task.companions,
            popularity=self._pipeline.global_skills.popularity(skill.domain) if self._settings.retrieve else None,
        )
        by = ReasonedBy(reasoner=DETERMINISTIC, fallback=fallback)
        return LlmRanking(tuple(item.item_id for item, _ in ranked), by)

    def _lines(self, skill: PolicySkill, short: SlimSkill) -> Sequence[Attribute]:
        """The lines that the deterministic ranker goes by.

        By default all that are sure enough: too many words dilute a model's attention (paper 2.3, Cognitive Injection
        Boundary), but not a sum's.
        """
        match self._settings.rank_skill:
            case RankSkill.FULL:
                return skill.attributes
            case RankSkill.SLIM:
                return lines_of(skill, short)
            case RankSkill.NONE:
                return ()


def _kept(by: ReasonedBy) -> ReasonedBy:
    """The record of an answer that is used again: it has cost its calls once."""
    return by.model_copy(update={"calls": 0, "prompt_tokens": 0, "completion_tokens": 0, "latency_ms": 0})


def _without_users(facet: Facet) -> Facet:
    """As a ranking tells it: apps read rankings, and no other user is to be found in them, under any name."""
    items = tuple(name for name in facet.supporting_neighbors if not name.startswith("user:"))
    return facet.model_copy(update={"supporting_neighbors": items})


def _instead(error: ReasonerUnavailable) -> ReasonedBy:
    return ReasonedBy(reasoner="rules", fallback=str(error)[:200])
