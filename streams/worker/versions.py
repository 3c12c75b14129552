"""The one way in which a version of a skill comes into the world: written first, sent then, once each."""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from operators.render import characters
from operators.steps import Evolve
from operators.steps.evolved import Effects, Outcome, State, Version
from operators.vouch import Vouching
from schemas import (
    Abstention,
    Change,
    ChangeKind,
    Contrast,
    Correction,
    Feedback,
    Interaction,
    Memory,
    PolicySkill,
    Receipt,
    SkillCommand,
    SkillDiff,
    SlimSkill,
    Stance,
    compound_key,
    diff_key,
    encode,
)
from streams.worker import metrics
from streams.worker.pipeline import Pipeline
from streams.worker.runtime.sent import Newest, Sent
from streams.worker.skills import newest

Answered = Contrast | Interaction | Feedback | Correction | Abstention | SkillCommand
"""What a version of a skill answers, requests to forget aside."""
_STANCES = frozenset(Stance)


class Versions:
    """Reads skills, and applies what steps make of them.

    Args:
        pipeline: the worker's parts.
        step: how skills evolve.
        sent: what is on the output topics.
    """

    def __init__(self, pipeline: Pipeline, step: Evolve, sent: Sent) -> None:
        self._pipeline, self._step, self._sent = pipeline, step, sent

    def one_at_a_time(self, user_id: str) -> asyncio.Lock:
        """The lock under which versions of a person's skills are made; nobody is asked anything while it is held."""
        return self._pipeline.lock("skills", user_id.encode())

    def read(self, record: Answered, receipt: Receipt | None = None, memory: Memory | None = None) -> State:
        """The user's skill as it is now, with what else a step goes by."""
        told, domain = self._pipeline.global_skills, record.domain
        known = newest(self._pipeline, record), receipt, memory
        return State(*known, told.shares(domain), told.usual(domain), told.popularity(domain))

    async def take(self, event: Any, record: Answered, act: Callable[[State], Effects]) -> tuple[State, Effects]:
        """Apply an event that no reasoner is asked about; what was known, and what came of it.

        Args:
            event: the Faust event.
            record: what it says.
            act: the step; pure.
        """
        async with self.one_at_a_time(record.user_id):
            state = self.read(record, self._pipeline.receipt(record.user_id))
            effects = act(state)
            if effects.outcome is not Outcome.FORGOTTEN:
                # Also where it is a repeat: who died may have written the skill, and sent nothing.
                await self.complete(event, state)
            await self.apply(event, effects.version)
        return state, effects

    async def apply(self, event: Any, version: Version | None) -> None:
        """Write before sending: after a crash between the two, the diff is in the skill and is sent then."""
        if version is None:
            return
        key = compound_key(version.skill.user_id, version.skill.domain)
        await self._pipeline.write(self._pipeline.skills, event, key, version.skill)
        await self._send(event, version)
        if version.diff is not None:
            count(version.diff, version.skill, self._step.vouching)

    async def apply_diff(self, event: Any, skill: PolicySkill, diff: SkillDiff, *, always: bool = False) -> None:
        """Write and send the version that a diff leads to; `always` its slim skill too."""
        state = State(skill, shares=self._pipeline.global_skills.shares(skill.domain))
        await self.apply(event, self._step.version(state, diff, always=always))

    async def complete(self, event: Any, state: State) -> None:
        """Send what a worker that died may not have sent of the newest version, and nothing that is there already."""
        last = state.skill.last_diff
        if last is None or last.source is None or self._sent.is_noted(state.skill):
            return
        if self._pipeline.is_acknowledged(last.source):
            return
        # Both ends at once: after a takeover, a partition's first choice waits for them.
        diff, short = await asyncio.gather(
            self._newest_sent(event, SkillDiff.TOPIC, state.skill),
            self._newest_sent(event, SlimSkill.TOPIC, state.skill),
        )
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
    if diff.stated or diff.shifted or any(change.kind in _SHIFTS for change in diff.changes):
        _count_taste(diff)


_SHIFTS = (ChangeKind.SHIFTED, ChangeKind.FADED, ChangeKind.OVERTAKEN)


def _count_taste(diff: SkillDiff) -> None:
    """What the person said, and how their taste has changed."""
    domain = metrics.DOMAINS.label(diff.domain)
    for each in diff.stated:
        stance = each.statement_id.partition(":")[0] if each.statement is None else each.statement.stance
        known = stance if stance in _STANCES else metrics.OTHER
        metrics.labelled(metrics.STATEMENTS, domain, known, each.kind).inc()
    for kind in filter(None, map(partial(_shift, diff), diff.changes)):
        metrics.labelled(metrics.SHIFTS, domain, kind).inc()
    if diff.shifted and all(change.kind is not ChangeKind.SHIFTED for change in diff.changes):
        metrics.labelled(metrics.SHIFTS, domain, metrics.STATED).inc()


def _shift(diff: SkillDiff, change: Change) -> str | None:
    """How it was seen that the taste of a line has changed; None where it has not."""
    if change.kind is ChangeKind.SHIFTED:
        is_said = diff.heard is not None and diff.heard.what == metrics.CORRECTION
        return metrics.STATED if is_said else metrics.OBSERVED
    return {ChangeKind.OVERTAKEN: metrics.OVERTAKEN, ChangeKind.FADED: metrics.FADED}.get(change.kind)
