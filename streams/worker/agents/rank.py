"""Agent `rank`: answers rank requests from local state (paper 2.2 to 2.4).

An app waits for the answer. So it never waits for evolutions, and rules replace a model that has no answer.
"""

from dataclasses import replace
from datetime import datetime
from typing import Any

from operators.evolve.proposals import ReasonerUnavailable
from operators.graph.facets import Retrieved
from operators.rank.listwise import LlmRanking, RankTask
from operators.seals import seal_record
from operators.steps.rank import ListStatements, RankState, answer
from operators.weights import RankWeights
from schemas import Features, Injected, Position, Provenance, Ranking, RankRequest, SlimSkill, compound_key, encode
from streams.caching import LruCache
from streams.steps import rank_of
from streams.worker import metrics
from streams.worker.deps import Deps, Worker
from streams.worker.reasoning.llm import Models
from streams.worker.runtime.dispatch import KeyedExecutor, RecordDispatcher
from streams.worker.skills import current_skill
from streams.worker.tables import Tables

# Cached facets and slim skills, for the next request of the same user.
CACHED_ENTRIES = 2_000
DETERMINISTIC = "deterministic"


def define(worker: Worker, models: Models) -> None:
    """Define the agent."""
    _, tables, producer, deps = worker
    answers = RankingPipeline(tables, deps, models)

    async def on_request(event: Any, request: RankRequest, position: Position) -> str:
        instruction = deps.redact_instruction(request.instruction, request.domain)
        request = request.model_copy(update={"instruction": instruction})
        ranking = seal_record(answer(request, *await answers.rank(request)), deps.ranking_key)
        await producer.send(event, Ranking.TOPIC, request.user_id.encode(), encode(ranking))
        count(ranking)
        return "ranked"

    records = RecordDispatcher(worker, "rank", {RankRequest: on_request})
    records.define_agent(KeyedExecutor(records, deps.settings.in_flight).submit)


def count(ranking: Ranking) -> None:
    """Count rankings with a clarifying question, and those that probably fit badly."""
    fit = ranking.injected.fit
    if fit is None or (fit.suits and fit.question is None):
        return
    domain = metrics.DOMAINS[ranking.domain]
    if fit.question is not None:
        metrics.labelled(metrics.QUESTIONS, domain).inc()
    if not fit.suits:
        metrics.labelled(metrics.NOTHING_SUITS, domain).inc()


class RankingPipeline:
    """Retrieves facets, extracts the slim skill, and ranks."""

    def __init__(self, tables: Tables, deps: Deps, models: Models) -> None:
        self._tables, self._deps, self._settings, self._models = tables, deps, deps.settings, models
        self._step = rank_of(deps.settings)
        self._retrieved: LruCache[tuple[str, ...], Retrieved] = LruCache(CACHED_ENTRIES)
        self._slims: LruCache[tuple[str, ...], tuple[SlimSkill, Provenance | None]] = LruCache(CACHED_ENTRIES)

    async def rank(self, request: RankRequest) -> tuple[tuple[str, ...], Injected]:
        """Return the candidates' ids in order, and the inputs of the decision."""
        state = self._read(request)
        # Read together with the state, so that the cache never returns an answer from before an erasure.
        epoch = self._tables.erasure_epoch(request.user_id)
        retrieved = self._retrieve(request, state, epoch)
        short, slim_by = await self._extract(request, state, epoch)
        items = [self._deps.facts_for(state.skill, request.domain, candidate) for candidate in request.candidates]
        known = {item.item_id for item in items}
        companions = {name: share for name, share in retrieved.companions.items() if name in known}
        session = request.occurred_at, request.session_id
        text = short.text_at(*session) if self._step.uses_skill else ""
        task = RankTask(items, request.instruction, retrieved.facets, companions, text, seed=request.request_id)
        # Skip a model that has just failed for the slim skill.
        asks = slim_by is None or slim_by.fallback is None
        used = self._deps.learned_weights.get(request.domain)
        statements = self._step.statements_for(
            state.skill, items, request.occurred_at, request.session_id, asks=request.clarify
        )
        ranking, features = await self._reason(task, state, used.weights, statements, session, asks=asks)
        is_weighed = ranking.reasoned_by.reasoner == DETERMINISTIC
        return ranking.order, Injected(
            skill_version=state.skill.version,
            slim_skill=text,
            rank_skill="full" if self._step.uses_skill else "none",
            reasoner=ranking.reasoned_by.reasoner,
            facets=retrieved.facets,
            companions=companions,
            weights_version=used.version if is_weighed else None,
            features=features,
            memory_version=retrieved.memory_version,
            graph_epoch=retrieved.graph_epoch,
            ranked_by=ranking.reasoned_by,
            slim_by=slim_by,
            repaired=ranking.repaired,
            reasons=self._deps.privacy.redact_reasons(ranking.reasons, request.domain),
            fit=statements.fit_in_order(items, ranking.order),
        )

    def _read(self, request: RankRequest) -> RankState:
        key = compound_key(request.user_id, request.domain)
        population = self._deps.global_skills.get(request.domain)
        return RankState(
            current_skill(self._tables, self._deps, request),
            self._tables.memories.read(key) if self._step.retrieves else None,
            None,
            population.shares,
            population.popularity,
        )

    def _retrieve(self, request: RankRequest, state: RankState, epoch: str) -> Retrieved:
        if not self._step.retrieves:
            return Retrieved()
        memory, items = state.memory, self._deps.items
        graph = (memory.version if memory else 0, *items.epochs(memory))
        name = (request.user_id, epoch, request.domain, str(graph), request.occurred_at.date().isoformat())
        if (known := self._retrieved.get(name)) is not None:
            return known
        # A domain with the parser of another one uses its pruning rules too.
        rules = self._settings.parsers.get(request.domain, request.domain)
        found = self._step.retrieve(
            replace(state, neighbourhood=items.neighbourhood(memory)), rules, request.occurred_at
        )
        self._retrieved.put(name, found)
        return found

    async def _extract(self, request: RankRequest, state: RankState, epoch: str) -> tuple[SlimSkill, Provenance | None]:
        """Return the slim skill for this request (paper 2.3)."""
        skill, step = state.skill, self._step
        instruction = request.instruction if step.task_slim else ""
        name = (request.user_id, epoch, request.domain, str(skill.version), instruction)
        # Only an LLM ranker reads it.
        is_used = self._models.rank is not None and step.uses_skill
        model = self._models.extract
        # Without a request, the skill's own selection is a model's already.
        if model is None or not is_used or skill.version == 0 or not instruction:
            return step.extract(skill, instruction, state.shares), None
        if (known := self._slims.get(name)) is not None:
            no_calls = {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0, "latency_ms": 0}
            return known[0], known[1] and known[1].model_copy(update=no_calls)
        try:
            found = await model.extract(skill, instruction, step.slim_tokens, state.shares)
        except ReasonerUnavailable as error:
            metrics.RANK_FALLBACKS.labels("slim").inc()
            return step.extract(skill, instruction, state.shares), Provenance(
                reasoner="rules", fallback=str(error)[:200]
            )
        self._slims.put(name, found)
        return found

    async def _reason(
        self,
        task: RankTask,
        state: RankState,
        weights: RankWeights,
        statements: ListStatements,
        session: tuple[datetime, str | None],
        *,
        asks: bool,
    ) -> tuple[LlmRanking, Features | None]:
        """Return the order; the deterministic ranker adds features."""
        fallback = None if asks or self._models.rank is None else "the model did not answer the previous call"
        if self._models.rank is not None and asks:
            try:
                ranking = await self._models.rank.rank(task)
            except ReasonerUnavailable as error:
                fallback = str(error)[:200]
                metrics.RANK_FALLBACKS.labels("rank").inc()
            else:
                metrics.RANK_REPAIRS.inc(ranking.repaired)
                return replace(ranking, order=statements.constrain(task.items, ranking.order, task.instruction)), None
        lines = self._step.session_lines(state.skill, self._step.lines(state.skill), *session)
        retrieved = Retrieved(tuple(task.facets), task.companions)
        numbers = state.skill.numbers
        features = self._step.features_of(task.items, lines, retrieved, state.popularity, weights, numbers)
        weighed = self._step.order(task.items, features, task.instruction, task.seed, weights, statements)
        by = Provenance(reasoner=DETERMINISTIC, fallback=fallback)
        return LlmRanking(weighed.order, by), weighed.features
