"""Reads and writes policy skills; every version is written here."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any

from operators.chain import seal_all
from operators.merge import OutOfOrder, fold, next_diff
from operators.redact import of_line, placeholder, redacted
from operators.render import characters
from operators.steps import Evolve
from operators.steps.evolved import Effects, Outcome, State, Version
from operators.vouch import Vouching
from schemas.base import ReasonedBy
from schemas.codec import encode
from schemas.commands import SkillCommand
from schemas.corrections import Correction
from schemas.diffs import Change, ChangeKind, PolicySkill, SkillDiff
from schemas.events import Abstention, Contrast, Feedback, Interaction, RankRequest
from schemas.forgetting import ForgetRequest, Receipt
from schemas.memory import Memory
from schemas.skills import Evidence, Position, SlimSkill
from schemas.state import Profile
from schemas.statements import Said, Stance, StatementChange
from schemas.topics import compound_key, diff_key, key_start
from streams.worker import metrics
from streams.worker.pipeline import Pipeline
from streams.worker.writer import LogIncomplete, LogWriter

Answered = Contrast | Interaction | Feedback | Correction | Abstention | SkillCommand
"""Events that a version of a skill answers, besides erasures."""


def newest(pipeline: Pipeline, record: Answered | RankRequest) -> PolicySkill:
    """Return the user's skill in the record's domain; before their first choice the seed, at version 0."""
    user_id, domain = record.user_id, record.domain
    key = compound_key(user_id, domain)
    skill = pipeline.read(pipeline.skills, key, PolicySkill)
    if skill is not None:
        return skill
    profile = pipeline.read(pipeline.profiles, key, Profile)
    population = pipeline.global_skills
    return pipeline.start.skill(user_id, domain, record, profile, population.template(domain), population.usual(domain))


class SkillWriter(LogWriter[SkillDiff]):
    """Reads skills, and writes the versions that steps make of them. For callers that hold the user's lock."""

    def __init__(self, pipeline: Pipeline, step: Evolve) -> None:
        super().__init__(pipeline, SkillDiff)
        self._step = step

    def read(self, record: Answered, receipt: Receipt | None = None, memory: Memory | None = None) -> State:
        """Return the input of a step: the user's newest skill, and the domain's population."""
        population, domain = self._pipeline.global_skills, record.domain
        known = newest(self._pipeline, record), receipt, memory
        return State(*known, population.shares(domain), population.usual(domain), population.popularity(domain))

    async def take(self, event: Any, record: Answered, act: Callable[[State], Effects]) -> Outcome:
        """Apply an event with a pure step, `act`, under the user's lock."""
        async with self.user_lock(record.user_id):
            state = self.read(record, self._pipeline.receipt(record.user_id))
            effects = act(state)
            if effects.outcome is not Outcome.FORGOTTEN:
                # Also for a repeat: the worker that died may have written the skill, and sent nothing.
                await self.complete(event, state)
            await self.apply(event, effects.version)
        return effects.outcome

    async def apply(self, event: Any, version: Version | None) -> None:
        """Write a version, then send it: after a crash in between, its diff is in the skill and is sent then."""
        if version is None:
            return
        key = compound_key(version.skill.user_id, version.skill.domain)
        await self._pipeline.write(self._pipeline.skills, event, key, version.skill)
        await self._send(event, version)
        if version.diff is not None:
            count(version.diff, version.skill, self._step.vouching)

    async def complete(self, event: Any, state: State) -> None:
        """Send the records of the newest version that a worker that died may not have sent."""
        skill, last = state.skill, state.skill.last_diff
        key = compound_key(skill.user_id, skill.domain)
        if last is None or last.source is None or self._sent.is_noted(key, skill.version):
            return
        if self._pipeline.is_acknowledged(last.source):
            return
        # Both ends at once: after a takeover, a partition's first choice waits for them.
        diff, slim = await asyncio.gather(
            self._newest(event, SkillDiff.TOPIC, key, last), self._newest(event, SlimSkill.TOPIC, key, last)
        )
        found = (diff.version if diff else 0, slim.version if slim else 0, slim.text if slim else None)
        await self._send(event, self._step.unsent(state, *found))

    async def _send(self, event: Any, version: Version) -> None:
        skill, partition = version.skill, event.message.partition
        key = compound_key(skill.user_id, skill.domain)
        sends: list[Any] = []
        if version.diff is not None:
            sends.append(self._send_diff(event, version.diff, key))
        if version.slim is not None:
            sends.append(self._pipeline.send(event, SlimSkill.TOPIC, key, encode(version.slim), partition))
            metrics.SLIM_TOKENS.observe(version.slim.tokens)
        await asyncio.gather(*sends)
        self._sent.note(key, skill.version)

    async def erase(self, event: Any, key: bytes) -> None:
        """Remove a skill, its log and its slim skill."""
        pipeline = self._pipeline
        skill = pipeline.read(pipeline.skills, key, PolicySkill)
        if skill is None:
            return
        await self._remove(event, [diff_key(skill.user_id, skill.domain, v) for v in range(1, skill.version + 1)])
        await pipeline.send(event, SlimSkill.TOPIC, key, None, event.message.partition)
        # Last: while it is there, a repeated request knows which versions to remove.
        await pipeline.delete(pipeline.skills, event, key)
        self._sent.forget(key)

    async def erase_line(self, event: Any, request: ForgetRequest, position: Position, skill: PolicySkill) -> None:
        """Rewrite a skill's log without a line, then write the version in which the line is gone.

        Raises LogIncomplete if the log has gaps; nothing was changed.
        """
        line, settings = request.line or "", self._pipeline.settings
        log = await self._log(event, key_start(skill.user_id, skill.domain), skill.version)
        sealed = seal_all(redacted(log, line), settings.chain_key_bytes)
        try:
            again = fold(sealed).get((skill.user_id, skill.domain))
        except OutOfOrder as error:
            raise LogIncomplete(str(error)) from error
        if again is None or again.version != skill.version:
            raise LogIncomplete(f"the log is at version {again.version if again else 0}, the skill at {skill.version}")
        await self._replace(event, log, sealed)
        name = placeholder(line)
        held = next((each for each in again.attributes if each.attribute_id == name), None)
        gone = () if held is None else (Change(kind=ChangeKind.FORGOTTEN, attribute_id=name, before=held.tier),)
        unsaid = (each.statement_id for each in again.stated if of_line(each, line))
        diff = next_diff(
            again,
            request,
            changes=gone,
            stated=tuple(StatementChange(kind=Said.FORGOTTEN, statement_id=each) for each in unsaid),
            evidence=Evidence(event_id=request.event_id),
            is_contrast=False,
            reasoned_by=ReasonedBy(reasoner=f"command by {request.actor}"),
            source=position,
        )
        state = State(again, shares=self._pipeline.global_skills.shares(skill.domain))
        await self.apply(event, self._step.version(state, diff, always=True))


def count(diff: SkillDiff, evolved: PolicySkill, vouching: Vouching) -> None:
    """Count the changes of a version, and observe the length of its skill."""
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
_STANCES = frozenset(Stance)


def _count_taste(diff: SkillDiff) -> None:
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
    """Return the evidence of a change of taste; None where it has not changed."""
    if change.kind is ChangeKind.SHIFTED:
        is_said = diff.heard is not None and diff.heard.what == metrics.CORRECTION
        return metrics.STATED if is_said else metrics.OBSERVED
    return {ChangeKind.OVERTAKEN: metrics.OVERTAKEN, ChangeKind.FADED: metrics.FADED}.get(change.kind)
