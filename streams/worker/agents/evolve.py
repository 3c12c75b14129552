"""Agent `evolve`: the only writer of skills. Read, step, ask, step with the newest, write, send (paper 2.5)."""

import math
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from operators.steps.evolved import Outcome, State
from schemas import (
    Contrast,
    ForgetRequest,
    Interaction,
    ItemFacts,
    Memory,
    PolicySkill,
    Position,
    SkillCommand,
    compound_key,
)
from streams.settings import ReasonerName, Settings
from streams.steps import evolve_of
from streams.worker import metrics
from streams.worker.agents.listen import Listener
from streams.worker.cards import LogIncomplete
from streams.worker.forgetting import Forgetting
from streams.worker.graph import remember
from streams.worker.hearing import Hearing
from streams.worker.outcomes import Outcomes
from streams.worker.pipeline import Pipeline
from streams.worker.reasoning.reasoner import GivenUp, Reasoning
from streams.worker.runtime.intake import Handler, Intake
from streams.worker.runtime.sent import Sent
from streams.worker.versions import Versions

AHEAD = 0.5
"""Events beyond those that may ask a model, as a share of them."""


def attach(pipeline: Pipeline, reasoning: Reasoning, listener: Listener) -> "Evolve":
    """Add the agent to the worker; `listener` writes the cards."""
    agent = Evolve(pipeline, reasoning, listener)
    agent.intake.attach()
    return agent


def under_way(settings: Settings) -> int:
    """How many events may be worked on at once: with a model, more than may ask it, so that it is never waited with.

    Before a call and after it an event is prepared and written for some hundredths of a second: it asks nobody then.
    """
    asks = settings.reasoner is ReasonerName.LLM
    return settings.in_flight + (math.ceil(settings.in_flight * AHEAD) if asks else 0)


class Evolve:
    """The agent's handlers of choices, visits, commands and requests to forget; what people say is `Hearing`'s."""

    def __init__(self, pipeline: Pipeline, reasoning: Reasoning, listener: Listener) -> None:
        self._pipeline = pipeline
        settings = pipeline.settings
        self._step = replace(
            evolve_of(settings, pipeline.merge_limits),
            chain_key=settings.chain_key_bytes,
            graph=pipeline.graph,
        )
        self._reason = reasoning.reason
        sent = Sent(settings, pipeline.generation)
        self._outcomes = Outcomes(pipeline, sent)
        self._versions = Versions(pipeline, self._step, sent)
        self._forgetting = Forgetting(pipeline, self._versions.apply_diff, sent.forget, listener)
        hearing = Hearing(pipeline, self._step, self._versions, reasoning)
        handlers: dict[str, Handler] = {
            Contrast.TOPIC: self._on_contrast,
            SkillCommand.TOPIC: self._on_command,
            ForgetRequest.TOPIC: self._on_forget_request,
            **hearing.handlers,
        }
        self.intake = Intake(pipeline, "evolve", handlers, under_way(settings))

    async def visit(self, event: Any, visit: Interaction, item: ItemFacts, position: Position) -> str:
        """What an interaction, once it is in the profile, does to a skill that has begun; its outcome's word.

        Called by another agent, so that all versions of a skill still come into the world here, one after the other.
        """
        _, effects = await self._versions.take(
            event, visit, lambda state: self._step.visit(state, visit, item, position)
        )
        return effects.outcome.value

    async def _on_contrast(self, event: Any, contrast: Contrast, position: Position) -> str:
        pipeline = self._pipeline
        key = compound_key(contrast.user_id, contrast.domain)
        # Interactions and contrasts of one user are handled by two agents.
        async with pipeline.lock("memories", key):
            receipt = pipeline.receipt(contrast.user_id)
            state = self._versions.read(contrast, receipt, pipeline.read(pipeline.memories, key, Memory))
            begun = self._step.begin(state, contrast, position, datetime.now(UTC))
            await remember(pipeline, event, begun.remembered)
        if begun.contrast is None:
            return Outcome.FORGOTTEN.value
        async with self._versions.one_at_a_time(contrast.user_id):
            await self._versions.complete(event, self._versions.read(contrast))
        if begun.outcome is Outcome.REPEATED:
            await self._outcomes.complete(event, begun.contrast, position, state.skill.contrasts)
        return str(begun.outcome or await self._learn(event, begun.contrast, state.skill, position))

    async def _learn(self, event: Any, contrast: Contrast, skill: PolicySkill, position: Position) -> str:
        try:
            answer = await self._reason(contrast, skill)
        except GivenUp as error:
            await self.intake.dead_letter(event, position, "reasoner-unavailable", str(error))
            return "given-up"
        async with self._versions.one_at_a_time(contrast.user_id):
            effects = self._step.finish(self._versions.read(contrast), contrast, answer, position)
            await self._versions.apply(event, effects.version)
        metrics.END_TO_END_SECONDS.observe(max(0.0, time.time() - contrast.occurred_at.timestamp()))
        await self._outcomes.tell(event, contrast, position, effects.skill.contrasts)
        return effects.outcome.value

    async def _on_command(self, event: Any, command: SkillCommand, position: Position) -> str:
        _, effects = await self._versions.take(
            event, command, lambda state: self._step.command(state, command, position)
        )
        return effects.outcome.value

    async def _on_forget_request(self, event: Any, request: ForgetRequest, position: Position) -> str:
        async with self._versions.one_at_a_time(request.user_id):
            return await self._forget(event, request, position)

    async def _forget(self, event: Any, request: ForgetRequest, position: Position) -> str:
        pipeline = self._pipeline
        if request.domain is not None:
            skill = pipeline.read(pipeline.skills, compound_key(request.user_id, request.domain), PolicySkill)
            if skill is not None:
                state = State(skill, shares=pipeline.global_skills.shares(skill.domain))
                await self._versions.complete(event, state)
        try:
            return await self._forgetting.on_request(event, request, position)
        except LogIncomplete as error:
            await self.intake.dead_letter(event, position, "log-incomplete", str(error))
            return "given-up"
