"""Agent `evolve`: the only writer of skills. Reason on a view, merge into the newest, write, send (paper 2.5)."""

import asyncio
import time
from functools import partial
from typing import Any

from operators.chain import seal
from operators.forget import what_remains
from operators.merge import holds, merge, resolve_command
from operators.render import render
from operators.slim import slim
from operators.tokens import count_tokens
from operators.whatif import Learner
from schemas import (
    Contrast,
    ForgetRequest,
    PolicySkill,
    Position,
    SkillCommand,
    SkillDiff,
    SlimSkill,
    compound_key,
    diff_key,
    encode,
)
from streams.settings import EvolveMode
from streams.worker import metrics
from streams.worker.forgetting import Forgetting, LogIncomplete
from streams.worker.graph import propagate
from streams.worker.pipeline import Pipeline
from streams.worker.reasoning.reasoner import GivenUp, Reasoning
from streams.worker.reasoning.shadow import Shadow
from streams.worker.runtime.intake import Handler, Intake
from streams.worker.runtime.sent import Newest, Sent
from streams.worker.skills import newest


def attach(pipeline: Pipeline, reasoning: Reasoning, shadow: Shadow | None = None) -> None:
    """Add the agent to the worker, with the shadow arm if there is one."""
    Evolve(pipeline, reasoning, shadow).intake.attach()


class Evolve:
    """The agent's two handlers, and the one way in which a diff comes into the world."""

    def __init__(self, pipeline: Pipeline, reasoning: Reasoning, shadow: Shadow | None = None) -> None:
        self._pipeline = pipeline
        settings = pipeline.settings
        self._learner = Learner(
            reasoning.reason,
            reasoning.rewrite if settings.evolve_mode is EvolveMode.REPLACE else None,
            pipeline.merge_limits,
            pipeline.privacy,
            settings.warmup_rounds,
        )
        self._shadow = shadow
        self._sent = Sent(pipeline.settings, pipeline.generation)
        self._forgetting = Forgetting(pipeline, self._apply, self._sent.forget)
        handlers: dict[str, Handler] = {
            Contrast.TOPIC: self._on_contrast,
            SkillCommand.TOPIC: self._on_command,
            ForgetRequest.TOPIC: self._on_forget_request,
        }
        self.intake = Intake(pipeline, "evolve", handlers, pipeline.settings.in_flight)

    async def _on_contrast(self, event: Any, contrast: Contrast, position: Position) -> str:
        # What older workers left on the topic was not filtered.
        chosen, _ = self._pipeline.privacy.item(contrast.chosen, contrast.domain)
        receipt = self._pipeline.receipt(contrast.user_id)
        moments = (contrast.occurred_at, position.moment)
        known = what_remains(chosen, contrast.user_id, contrast.domain, receipt, *moments)
        if known is None:
            return "forgotten"
        contrast = contrast.model_copy(update={"chosen": known})
        await self._propagate(event, contrast, position)
        skill = newest(self._pipeline, contrast)
        await self._complete(event, skill)
        outcome = await self._learn(event, contrast, skill, position)
        if self._shadow is not None:
            # When all of the live skill is out; it waits for nothing of this.
            self._shadow.choice(event, contrast, position, skill, is_repeated=outcome == "repeated")
        return outcome

    async def _learn(self, event: Any, contrast: Contrast, skill: PolicySkill, position: Position) -> str:
        if holds(skill, contrast.event_id, position):
            return "repeated"
        if self._learner.passes_over(skill):
            return "frozen"
        try:
            diff = await self._learner.diff(contrast, skill, position, lambda: newest(self._pipeline, contrast))
        except GivenUp as error:
            await self.intake.dead_letter(event, position, "reasoner-unavailable", str(error))
            return "given-up"
        await self._apply(event, newest(self._pipeline, contrast), diff)
        metrics.END_TO_END_SECONDS.observe(max(0.0, time.time() - contrast.occurred_at.timestamp()))
        return "evolved"

    async def _propagate(self, event: Any, contrast: Contrast, position: Position) -> None:
        await propagate(
            self._pipeline,
            event,
            contrast.user_id,
            contrast.domain,
            contrast.chosen,
            contrast.occurred_at,
            contrast.event_id,
            position,
        )

    async def _on_command(self, event: Any, command: SkillCommand, position: Position) -> str:
        pipeline = self._pipeline
        if pipeline.is_forgotten(command.user_id, command.domain, command.occurred_at, position.moment):
            return "forgotten"
        skill = newest(pipeline, command)
        await self._complete(event, skill)
        if holds(skill, command.event_id, position):
            return "repeated"
        diff = resolve_command(skill, command, position, pipeline.merge_limits, pipeline.privacy)
        await self._apply(event, skill, diff)
        if self._shadow is not None:
            self._shadow.command(event, command, position)
        return "commanded"

    async def _on_forget_request(self, event: Any, request: ForgetRequest, position: Position) -> str:
        pipeline = self._pipeline
        if request.domain is not None:
            skill = pipeline.read(pipeline.skills, compound_key(request.user_id, request.domain), PolicySkill)
            if skill is not None:
                await self._complete(event, skill)
        try:
            return await self._forgetting.on_request(event, request, position)
        except LogIncomplete as error:
            await self.intake.dead_letter(event, position, "log-incomplete", str(error))
            return "given-up"

    async def _apply(self, event: Any, skill: PolicySkill, diff: SkillDiff, *, always: bool = False) -> None:
        """Write before sending: after a crash between the two, the diff is in the skill and is sent then."""
        diff = seal(diff, skill.chain, self._pipeline.settings.seal_key)
        evolved = merge(skill, diff)
        key = compound_key(skill.user_id, skill.domain)
        await self._pipeline.write(self._pipeline.skills, event, key, evolved)
        # What distinguishes may have changed since the last one went out: then it is sent, changed or not.
        comparable = not self._pipeline.global_skills.shares(skill.domain)
        before = self._slim(skill).text if skill.version and comparable else None if skill.version else ""
        short = self._slim(evolved)
        await self._publish(event, evolved, diff, short if always or short.text != before else None)
        _count(diff, evolved)

    async def _complete(self, event: Any, skill: PolicySkill) -> None:
        """Send what a worker that died may not have sent of the newest version, and nothing that is there already."""
        last = skill.last_diff
        if last is None or last.source is None or self._sent.is_noted(skill):
            return
        if self._pipeline.is_acknowledged(last.source):
            return
        diff = await self._newest_sent(event, SkillDiff.TOPIC, skill)
        short = await self._newest_sent(event, SlimSkill.TOPIC, skill)
        now = self._slim(skill)
        await self._publish(
            event,
            skill,
            None if diff is not None and diff.version >= skill.version else last,
            None if short is not None and (short.version >= skill.version or short.text == now.text) else now,
        )

    async def _newest_sent(self, event: Any, topic: str, skill: PolicySkill) -> Newest | None:
        ask = partial(self._sent.newest, topic, event.message.partition, skill)
        return await self._pipeline.retry(event, f"reading the end of {topic}", ask)

    async def _publish(self, event: Any, skill: PolicySkill, diff: SkillDiff | None, short: SlimSkill | None) -> None:
        """Send a diff and a slim skill, where there are any, and remember that all of this version is out."""
        send, partition = self._pipeline.send, event.message.partition
        sends = []
        if diff is not None:
            version = diff_key(skill.user_id, skill.domain, diff.version)
            sends.append(send(event, SkillDiff.TOPIC, version, encode(diff), partition))
        if short is not None:
            key = compound_key(skill.user_id, skill.domain)
            sends.append(send(event, SlimSkill.TOPIC, key, encode(short), partition))
            metrics.SLIM_TOKENS.observe(short.tokens)
        await asyncio.gather(*sends)
        self._sent.note(skill)

    def _slim(self, skill: PolicySkill) -> SlimSkill:
        population = self._pipeline.global_skills.shares(skill.domain)
        return slim(skill, count_tokens, self._pipeline.settings.slim_tokens, population)


def _count(diff: SkillDiff, evolved: PolicySkill) -> None:
    metrics.SKILL_CHARACTERS.observe(len(render(evolved)))
    for line in diff.seed or ():
        metrics.CHANGES.labels(metrics.SEEDED).inc()
        metrics.TIER_CHANGES.labels(metrics.SEEDED, metrics.NOBODY, str(line.tier)).inc()
    for change in diff.changes:
        metrics.CHANGES.labels(change.kind.value).inc()
        if change.before != change.after:
            before, after = (metrics.NOBODY if tier is None else str(tier) for tier in (change.before, change.after))
            metrics.TIER_CHANGES.labels(change.kind.value, before, after).inc()
    for refused in diff.refused:
        metrics.REFUSED.labels(refused.why.value).inc()
