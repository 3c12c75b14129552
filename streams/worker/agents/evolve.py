"""Agent `evolve`: the only writer of skills (paper 2.5).

For a choice it reads the skill, calls the reasoner, and applies the answer to the newest skill. A model may select the
slim skill's lines in between. Other events are
applied at once. A correction is read before the skill is locked, as a model may read it.
"""

import asyncio
import math
import time
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from operators.graph.items import MemoryUpdate
from operators.language.ports import Interpretation
from operators.learning.outcomes import outcome_of
from operators.steps.evolve import EvolveEffects, EvolveOutcome, EvolveState
from schemas import RankingOutcome as ChoiceOutcome
from schemas.base import Event, Position
from schemas.codec import encode
from schemas.commands import ForgetRequest, SkillCommand
from schemas.diffs import PolicySkill
from schemas.events import Abstention, Contrast, Feedback, Interaction
from schemas.items import ItemFacts
from schemas.state import OptOut
from schemas.statements import Correction
from schemas.topics import compound_key
from streams.kafka.clients import partition_of
from streams.steps import evolve_of
from streams.worker import metrics
from streams.worker.agents.listen import ListenAgent
from streams.worker.deps import Worker
from streams.worker.erasure import ErasureHandler
from streams.worker.items import remember
from streams.worker.reasoning.llm import asks_models
from streams.worker.reasoning.reasoner import ReasonerFailed, Reasoning
from streams.worker.runtime.dispatch import Handler, KeyedExecutor, RecordDispatcher
from streams.worker.skills import SkillWriter
from streams.worker.writer import LogIncomplete, OutputTail

# Extra events in flight, as a share: without them a slot of the model idles while results are written.
QUEUED_SHARE = 0.5


def define(worker: Worker, reasoning: Reasoning, listener: ListenAgent) -> "EvolveAgent":
    """Define the agent; `listener` writes the cards."""
    agent, settings = EvolveAgent(worker, reasoning, listener), worker.deps.settings
    queued = math.ceil(settings.in_flight * QUEUED_SHARE) if asks_models(settings) else 0
    agent.records.define_agent(KeyedExecutor(agent.records, settings.in_flight + queued).submit)
    return agent


class EvolveAgent:
    """The handlers of the agent's events."""

    def __init__(self, worker: Worker, reasoning: Reasoning, listener: ListenAgent) -> None:
        app, tables, producer, deps = worker
        self._tables, self._producer, self._deps, self._reasoning = tables, producer, deps, reasoning
        settings = deps.settings
        self._step = replace(
            evolve_of(settings, deps.merge_limits), chain_key=settings.chain_key_bytes, graph=deps.graph
        )
        self._skills = SkillWriter(app.reader, tables, producer, deps, self._step)
        self._outcomes_tail = OutputTail(settings, producer.generation)
        self._forgetting = ErasureHandler(worker, self._skills, listener)
        handlers: dict[type[Event], Handler] = {
            Contrast: self._on_contrast,
            Feedback: self._on_feedback,
            Correction: self._on_correction,
            Abstention: self._on_abstention,
            SkillCommand: self._on_command,
            ForgetRequest: self._on_forget_request,
        }
        self.records = RecordDispatcher(worker, "evolve", handlers)

    async def _on_abstention(self, event: Any, record: Abstention, position: Position) -> str:
        before: list[PolicySkill] = []

        def abstain(state: EvolveState) -> EvolveEffects:
            before.append(state.skill)
            return self._step.abstain(state, record, position)

        outcome = await self._skills.apply_step(event, record, abstain)
        if outcome in (EvolveOutcome.ABSTAINED, EvolveOutcome.REPEATED):
            is_repeat = outcome is EvolveOutcome.REPEATED
            await self._report(event, record, position, before[-1], is_repeat=is_repeat)
        return outcome

    async def _on_command(self, event: Any, record: SkillCommand, position: Position) -> str:
        return await self._skills.apply_step(event, record, lambda now: self._step.command(now, record, position))

    async def visit(self, event: Any, visit: Interaction, position: Position) -> None:
        """Apply an interaction to an existing skill, for the agent `prior`."""
        await self._skills.apply_step(
            event, visit, lambda now: self._step.visit(now, visit, self._item(now, visit), position)
        )

    def _item(self, state: EvolveState, record: Interaction | Feedback) -> ItemFacts:
        return self._deps.facts_for(state.skill, record.domain, record.item)

    async def _on_contrast(self, event: Any, contrast: Contrast, position: Position) -> str:
        skills, memories = self._skills, self._tables.memories
        key = compound_key(contrast.user_id, contrast.domain)
        # Two agents update one user's memory (interactions and contrasts), hence the lock.
        async with AsyncExitStack() as locked:
            await locked.enter_async_context(memories.lock(key))
            state = skills.read(contrast, self._tables.receipt(contrast.user_id), memories.read(key))
            prepared = self._step.prepare(state, contrast, position, datetime.now(UTC))
            # Concurrently with the skill, as both wait for the broker; each deduplicates on its own.
            remembering = asyncio.create_task(self._remember(event, prepared.remembered, locked.pop_all()))
        try:
            if prepared.contrast is None:
                return EvolveOutcome.FORGOTTEN.value
            async with self._tables.user_lock(contrast.user_id):
                await skills.complete(event, skills.read(contrast))
            if prepared.outcome is EvolveOutcome.REPEATED:
                await self._report(event, prepared.contrast, position, state.skill, is_repeat=True)
            return str(prepared.outcome or await self._learn(event, prepared.contrast, state, position))
        finally:
            await remembering

    async def _remember(self, event: Any, remembered: MemoryUpdate | None, locked: AsyncExitStack) -> None:
        async with locked:
            await remember(self._tables, self._producer, event, remembered)

    async def _learn(self, event: Any, contrast: Contrast, read: EvolveState, position: Position) -> str:
        try:
            answer = await self._reasoning.reason(contrast, read.skill)
        except ReasonerFailed as error:
            await self.records.dead_letter(event, position, "reasoner-unavailable", str(error))
            return "given-up"
        selection = None
        if (draft := self._step.draft(read, contrast, answer, position)) is not None:
            selection = await self._reasoning.select(draft, self._deps.settings.slim_tokens, read.shares)
        async with self._tables.user_lock(contrast.user_id):
            state = self._skills.read(contrast)
            effects = self._step.finish(state, contrast, answer, position, selection)
            await self._skills.apply(event, effects.version)
        metrics.END_TO_END_SECONDS.observe(max(0.0, time.time() - contrast.occurred_at.timestamp()))
        await self._report(event, contrast, position, state.skill)
        return effects.outcome.value

    async def _report(
        self,
        event: Any,
        contrast: Contrast | Abstention,
        position: Position,
        skill: PolicySkill,
        *,
        is_repeat: bool = False,
    ) -> None:
        """Send the anonymous outcome of a choice, once; `skill` is that before it, or for a repeat after it."""
        used = self._deps.learned_weights.get(contrast.domain)
        # A rejection is no contrast: among single items, versions count, for approvals as for rejections.
        is_choice = isinstance(contrast, Contrast) and bool(contrast.unchosen)
        nth = (skill.contrasts if is_choice else skill.version) + (not is_repeat)
        outcome = outcome_of(contrast, skill, used.weights, nth, used.version)
        if outcome is None:
            return
        # The same choice may be on its topic twice. Its outcome was sent after the first of them.
        from_ms = min(position.timestamp_ms, int(contrast.occurred_at.timestamp() * 1_000))
        name, partition = outcome.event_id.encode(), partition_of(outcome.domain, self._deps.settings.partitions)

        async def is_there(since: float | None = None) -> bool:
            return await self._outcomes_tail.newest(ChoiceOutcome.TOPIC, partition, name, from_ms, since) is not None

        async def is_there_now() -> bool:
            return await is_there(time.monotonic())

        # A dead worker, or this one after the cached end of the topic was read, may have sent it already.
        for ask in (is_there, is_there_now) if is_repeat else ():
            if await self._producer.retry(event, "reading the end of outcomes", ask):
                return
        key = outcome.domain.encode()
        await self._producer.send(event, ChoiceOutcome.TOPIC, key, encode(outcome), partition, is_there_now)

    async def _on_feedback(self, event: Any, feedback: Feedback, position: Position) -> str:
        outcome = await self._skills.apply_step(
            event, feedback, lambda now: self._step.apply_signal(now, feedback, self._item(now, feedback), position)
        )
        kind = feedback.signal if feedback.signal in self._step.signals.weights else metrics.OTHER
        domain = metrics.DOMAINS[feedback.domain]
        metrics.labelled(metrics.SIGNALS, domain, kind, outcome.value).inc()
        return outcome.value

    async def _on_correction(self, event: Any, correction: Correction, position: Position) -> str:
        domain = correction.domain
        wish = self._deps.privacy.opt_out(correction.text)
        if wish is OptOut.NOT_REMEMBERED:  # no step may see its text
            outcome = wish.value
        else:
            redacted = correction.model_copy(update={"text": self._deps.redact_instruction(correction.text, domain)})
            outcome = (await self._correct(event, redacted, position, correction.text)).value
        metrics.labelled(metrics.CORRECTIONS, metrics.DOMAINS[domain], outcome).inc()
        return outcome

    async def _correct(self, event: Any, correction: Correction, position: Position, as_said: str) -> EvolveOutcome:
        state = self._skills.read(correction, self._tables.receipt(correction.user_id))
        items = [self._deps.facts_for(state.skill, correction.domain, candidate) for candidate in correction.items]
        understood = Interpretation()
        if self._step.skip_outcome(state, correction, position) is None:
            vocabulary = self._deps.vocabulary(self._tables, correction.user_id, correction.domain)
            understood = await self._reasoning.understand(correction, items, state.skill, vocabulary, as_said)
        return await self._skills.apply_step(
            event, correction, lambda state: self._step.correct(state, correction, items, understood, position)
        )

    async def _on_forget_request(self, event: Any, request: ForgetRequest, position: Position) -> str:
        async with self._tables.user_lock(request.user_id):
            if request.domain is not None:
                skill = self._tables.skills.read(compound_key(request.user_id, request.domain))
                if skill is not None:
                    state = EvolveState(skill, shares=self._deps.global_skills.get(skill.domain).shares)
                    await self._skills.complete(event, state)
            try:
                return await self._forgetting.on_request(event, request, position)
            except LogIncomplete as error:
                await self.records.dead_letter(event, position, "log-incomplete", str(error))
                return "given-up"
