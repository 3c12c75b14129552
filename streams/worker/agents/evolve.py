"""Agent `evolve`: the only writer of skills. Read, step, ask, step with the newest, write, send (paper 2.5)."""

import asyncio
import time
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from operators.options import EvolveMode
from operators.render import characters
from operators.steps import Reason
from operators.steps.evolve import Outcome, State, Version
from operators.vouch import Vouching
from schemas import (
    Contrast,
    ForgetRequest,
    Interaction,
    ItemFacts,
    Memory,
    PolicySkill,
    Position,
    Receipt,
    SkillCommand,
    SkillDiff,
    SlimSkill,
    compound_key,
    diff_key,
    encode,
)
from streams.steps import evolve_of
from streams.worker import metrics
from streams.worker.forgetting import Forgetting, LogIncomplete
from streams.worker.graph import remember
from streams.worker.outcomes import Outcomes
from streams.worker.pipeline import Pipeline
from streams.worker.reasoning.reasoner import GivenUp, Reasoning
from streams.worker.reasoning.shadow import Shadow
from streams.worker.runtime.intake import Handler, Intake
from streams.worker.runtime.sent import Newest, Sent
from streams.worker.skills import newest


def attach(pipeline: Pipeline, reasoning: Reasoning, shadow: Shadow | None = None) -> "Evolve":
    """Add the agent to the worker, with the shadow arm if there is one."""
    agent = Evolve(pipeline, reasoning, shadow)
    agent.intake.attach()
    return agent


class Evolve:
    """The agent's handlers, and the one way in which a version of a skill comes into the world."""

    def __init__(self, pipeline: Pipeline, reasoning: Reasoning, shadow: Shadow | None = None) -> None:
        self._pipeline = pipeline
        settings = pipeline.settings
        self._step = replace(
            evolve_of(settings, pipeline.merge_limits),
            slim_tokens=settings.slim_tokens,
            chain_key=settings.chain_key_bytes,
            graph=pipeline.graph,
        )
        anew = settings.evolve_mode is EvolveMode.REPLACE
        self._reason: Reason = reasoning.rewrite if anew else reasoning.reason
        self._shadow = shadow
        self._sent = Sent(settings, pipeline.generation)
        self._outcomes = Outcomes(pipeline, self._sent)
        self._forgetting = Forgetting(pipeline, self._apply_diff, self._sent.forget)
        handlers: dict[str, Handler] = {
            Contrast.TOPIC: self._on_contrast,
            SkillCommand.TOPIC: self._on_command,
            ForgetRequest.TOPIC: self._on_forget_request,
        }
        self.intake = Intake(pipeline, "evolve", handlers, settings.in_flight)

    async def visit(self, event: Any, visit: Interaction, item: ItemFacts, position: Position) -> str:
        """What an interaction, once it is in the profile, does to a skill that has begun; its outcome's word.

        Called by another agent, so that all versions of a skill still come into the world here, one after the other.
        """
        async with self._one_at_a_time(visit.user_id):
            receipt = self._pipeline.receipt(visit.user_id)
            state = self._read(visit, receipt)
            # Also where it is a repeat: who died may have written the skill, and sent nothing.
            await self._complete(event, state)
            effects = self._step.visit(state, visit, item, position)
            if effects.version is not None:
                await self._apply(event, effects.version)
                if self._shadow is not None:
                    self._shadow.visit(event, visit, item, position, receipt)
        return effects.outcome.value

    def _one_at_a_time(self, user_id: str) -> asyncio.Lock:
        """The lock under which versions of a person's skills are made; nobody is asked anything while it is held."""
        return self._pipeline.lock("skills", user_id.encode())

    async def _on_contrast(self, event: Any, contrast: Contrast, position: Position) -> str:
        pipeline = self._pipeline
        key = compound_key(contrast.user_id, contrast.domain)
        # Interactions and contrasts of one user are handled by two agents.
        async with pipeline.lock("memories", key):
            receipt = pipeline.receipt(contrast.user_id)
            state = self._read(contrast, receipt, pipeline.read(pipeline.memories, key, Memory))
            begun = self._step.begin(state, contrast, position, datetime.now(UTC))
            await remember(pipeline, event, begun.remembered)
        if begun.contrast is None:
            return Outcome.FORGOTTEN.value
        async with self._one_at_a_time(contrast.user_id):
            await self._complete(event, self._read(contrast))
        if begun.outcome is Outcome.REPEATED:
            await self._outcomes.complete(event, begun.contrast, position, state.skill.contrasts)
        outcome = begun.outcome or await self._learn(event, begun.contrast, state.skill, position)
        if self._shadow is not None:
            # When all of the live skill is out; it waits for nothing of this.
            self._shadow.choice(event, begun.contrast, position, state, is_repeated=outcome == Outcome.REPEATED)
        return str(outcome)

    async def _learn(self, event: Any, contrast: Contrast, skill: PolicySkill, position: Position) -> str:
        try:
            answer = await self._reason(contrast, skill)
        except GivenUp as error:
            await self.intake.dead_letter(event, position, "reasoner-unavailable", str(error))
            return "given-up"
        async with self._one_at_a_time(contrast.user_id):
            effects = self._step.finish(self._read(contrast), contrast, answer, position)
            await self._apply(event, effects.version)
        metrics.END_TO_END_SECONDS.observe(max(0.0, time.time() - contrast.occurred_at.timestamp()))
        await self._outcomes.tell(event, contrast, position, effects.skill.contrasts)
        return effects.outcome.value

    async def _on_command(self, event: Any, command: SkillCommand, position: Position) -> str:
        async with self._one_at_a_time(command.user_id):
            state = self._read(command, self._pipeline.receipt(command.user_id))
            effects = self._step.command(state, command, position)
            if effects.outcome is not Outcome.FORGOTTEN:
                await self._complete(event, state)
            await self._apply(event, effects.version)
        if self._shadow is not None and effects.outcome is Outcome.COMMANDED:
            self._shadow.command(event, command, position, state.receipt)
        return effects.outcome.value

    async def _on_forget_request(self, event: Any, request: ForgetRequest, position: Position) -> str:
        async with self._one_at_a_time(request.user_id):
            return await self._forget(event, request, position)

    async def _forget(self, event: Any, request: ForgetRequest, position: Position) -> str:
        pipeline = self._pipeline
        if request.domain is not None:
            skill = pipeline.read(pipeline.skills, compound_key(request.user_id, request.domain), PolicySkill)
            if skill is not None:
                await self._complete(event, State(skill, shares=pipeline.global_skills.shares(skill.domain)))
        try:
            return await self._forgetting.on_request(event, request, position)
        except LogIncomplete as error:
            await self.intake.dead_letter(event, position, "log-incomplete", str(error))
            return "given-up"

    def _read(
        self,
        record: Contrast | Interaction | SkillCommand,
        receipt: Receipt | None = None,
        memory: Memory | None = None,
    ) -> State:
        """The user's skill as it is now, with what else a step goes by."""
        told = self._pipeline.global_skills
        known = newest(self._pipeline, record), receipt, memory
        domain = record.domain
        return State(*known, told.shares(domain), told.usual(domain), told.popularity(domain))

    async def _apply(self, event: Any, version: Version | None) -> None:
        """Write before sending: after a crash between the two, the diff is in the skill and is sent then."""
        if version is None:
            return
        key = compound_key(version.skill.user_id, version.skill.domain)
        await self._pipeline.write(self._pipeline.skills, event, key, version.skill)
        await self._send(event, version)
        if version.diff is not None:
            count(version.diff, version.skill, self._step.vouching)

    async def _apply_diff(self, event: Any, skill: PolicySkill, diff: SkillDiff, *, always: bool = False) -> None:
        state = State(skill, shares=self._pipeline.global_skills.shares(skill.domain))
        await self._apply(event, self._step.version(state, diff, always=always))

    async def _complete(self, event: Any, state: State) -> None:
        """Send what a worker that died may not have sent of the newest version, and nothing that is there already."""
        last = state.skill.last_diff
        if last is None or last.source is None or self._sent.is_noted(state.skill):
            return
        if self._pipeline.is_acknowledged(last.source):
            return
        diff = await self._newest_sent(event, SkillDiff.TOPIC, state.skill)
        short = await self._newest_sent(event, SlimSkill.TOPIC, state.skill)
        found = (diff.version if diff else 0, short.version if short else 0, short.text if short else None)
        await self._send(event, self._step.unsent(state, *found))

    async def _newest_sent(self, event: Any, topic: str, skill: PolicySkill) -> Newest | None:
        ask = partial(self._sent.newest, topic, event.message.partition, skill)
        return await self._pipeline.retry(event, f"reading the end of {topic}", ask)

    async def _send(self, event: Any, version: Version) -> None:
        """Send a diff and a slim skill, where there are any, and remember that all of this version is out."""
        send, partition, skill = self._pipeline.send, event.message.partition, version.skill
        sends = []
        if version.diff is not None:
            key = diff_key(skill.user_id, skill.domain, version.diff.version)
            is_there = partial(self._is_logged, event, version)
            sends.append(send(event, SkillDiff.TOPIC, key, encode(version.diff), partition, is_there))
        if version.slim is not None:
            key = compound_key(skill.user_id, skill.domain)
            sends.append(send(event, SlimSkill.TOPIC, key, encode(version.slim), partition))
            metrics.SLIM_TOKENS.observe(version.slim.tokens)
        await asyncio.gather(*sends)
        self._sent.note(skill)

    async def _is_logged(self, event: Any, version: Version) -> bool:
        """Whether the log has the diff, and only its acknowledgement was lost."""
        found = await self._sent.newest(SkillDiff.TOPIC, event.message.partition, version.skill, since=time.monotonic())
        return found is not None and version.diff is not None and found.version >= version.diff.version


def count(diff: SkillDiff, evolved: PolicySkill, vouching: Vouching) -> None:
    """What a version changed, and how long its skill is."""
    metrics.SKILL_CHARACTERS.observe(characters(evolved.attributes, evolved.strategy))
    for line in diff.seed or ():
        metrics.labelled(metrics.CHANGES, metrics.SEEDED).inc()
        metrics.labelled(metrics.TIER_CHANGES, metrics.SEEDED, metrics.NOBODY, line.tier).inc()
    for change in diff.changes:
        metrics.labelled(metrics.CHANGES, change.kind).inc()
        if change.before != change.after:
            before, after = (metrics.NOBODY if tier is None else tier for tier in (change.before, change.after))
            metrics.labelled(metrics.TIER_CHANGES, change.kind, before, after).inc()
    new = [*(diff.seed or ()), *(change.discovered for change in diff.changes if change.discovered is not None)]
    for held in filter(None, map(vouching.of_line, new)):
        metrics.labelled(metrics.UNVOUCHED, held).inc()
    for refused in diff.refused:
        metrics.labelled(metrics.REFUSED, refused.why).inc()
