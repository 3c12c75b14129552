"""Reads skills, and writes all their versions."""

from collections.abc import Callable
from functools import partial
from typing import Any

from operators.attributes import ranked_lines
from operators.language.output_policy import OutputGate
from operators.learning.fold import fold, next_diff
from operators.redaction import placeholder, redact_skill_log, was_about
from operators.steps.evolve import EvolveEffects, EvolveOutcome, EvolveState, EvolveStep, SkillVersion
from schemas import Evidence, ForgetRequest, Memory, Position, Provenance, Receipt, SkillCommand, SlimSkill
from schemas.diffs import PolicySkill, SkillChange, SkillChangeKind, SkillDiff
from schemas.events import Abstention, Contrast, Feedback, Interaction, RankRequest
from schemas.statements import Correction, Stance, StatementChange, StatementChangeKind
from schemas.topics import compound_key, diff_key, key_prefix
from streams.worker import metrics
from streams.worker.deps import Deps
from streams.worker.runtime.batches import BatchReader
from streams.worker.runtime.producer import Producer
from streams.worker.tables import Tables
from streams.worker.writer import VersionedWriter

# Events that lead to a version of a skill, besides erasures.
SkillEvent = Contrast | Interaction | Feedback | Correction | Abstention | SkillCommand


def current_skill(tables: Tables, deps: Deps, record: SkillEvent | RankRequest) -> PolicySkill:
    """Return a user's skill in a domain; at first version 0."""
    user_id, domain = record.user_id, record.domain
    key = compound_key(user_id, domain)
    skill = tables.skills.read(key)
    if skill is not None:
        return skill
    profile, population = tables.profiles.read(key), deps.global_skills.get(domain)
    return deps.start.skill(user_id, domain, record, profile, population.template, population.usual)


class SkillWriter(VersionedWriter[PolicySkill, SkillDiff]):
    """Reads skills and writes their versions; callers hold the user's lock."""

    def __init__(self, reader: BatchReader, tables: Tables, producer: Producer, deps: Deps, step: EvolveStep) -> None:
        super().__init__(reader, tables.skills, producer, deps.settings, SkillDiff, fold)
        self._tables, self._deps, self._step = tables, deps, step

    def read(self, record: SkillEvent, receipt: Receipt | None = None, memory: Memory | None = None) -> EvolveState:
        """Return a step's input: the newest skill, and the domain's population."""
        population = self._deps.global_skills.get(record.domain)
        known = current_skill(self._tables, self._deps, record), receipt, memory
        weights = self._deps.learned_weights.get(record.domain).weights
        return EvolveState(*known, population.shares, population.usual, population.popularity, weights)

    async def apply_step(
        self, event: Any, record: SkillEvent, act: Callable[[EvolveState], EvolveEffects]
    ) -> EvolveOutcome:
        """Apply an event by the pure step `act`, under the user's lock."""
        async with self._tables.user_lock(record.user_id):
            state = self.read(record, self._tables.receipt(record.user_id))
            effects = act(state)
            if effects.outcome is not EvolveOutcome.FORGOTTEN:
                # Also for a repeat: a dead worker may have written the skill and sent no record.
                await self.complete(event, state)
            await self.apply(event, effects.version)
        return effects.outcome

    async def apply(self, event: Any, version: SkillVersion | None) -> None:
        """Write a version and send its records."""
        if version is None:
            return
        await self.write(event, version.skill, _records(version))
        if version.diff is not None:
            count(version.diff, self._step.gate)

    async def complete(self, event: Any, state: EvolveState) -> None:
        """Send the newest version's records that a dead worker may have left."""
        topics = (SkillDiff.TOPIC, SlimSkill.TOPIC)
        if found := await self._unsent(event, state.skill, (), *topics):
            diff, slim = found
            held = (diff.version if diff else 0, slim.version if slim else 0, slim.text if slim else None)
            await self.send(event, state.skill, _records(self._step.missing_version(state, *held)))

    async def erase(self, event: Any, key: bytes) -> None:
        """Remove a skill, its log and its slim skill."""
        skill = self._tables.skills.read(key)
        if skill is not None:
            diffs = [diff_key(skill.user_id, skill.domain, version) for version in range(1, skill.version + 1)]
            await self._erase(event, skill, diffs, (SlimSkill.TOPIC, key))

    async def erase_line(self, event: Any, request: ForgetRequest, position: Position, skill: PolicySkill) -> None:
        """Rewrite a skill's log without a line, then remove the line.

        Raises LogIncomplete, with nothing changed, if the log has gaps.
        """
        line = request.line or ""
        log = await self._log(event, key_prefix(skill.user_id, skill.domain), skill.version)
        rewritten, _ = await self._rewrite(event, log, redact_skill_log(log, line), skill.version)
        gone = (
            SkillChange(kind=SkillChangeKind.FORGOTTEN, attribute_id=each.attribute_id, before=each.tier)
            for each in ranked_lines(rewritten)
            if each.attribute_id == placeholder(line)
        )
        unsaid = (each.statement_id for each in rewritten.stated if was_about(each, line))
        diff = next_diff(
            rewritten,
            request,
            changes=tuple(gone),
            stated=tuple(StatementChange(kind=StatementChangeKind.FORGOTTEN, statement_id=each) for each in unsaid),
            evidence=Evidence(event_id=request.event_id),
            is_contrast=False,
            reasoned_by=Provenance(reasoner=f"command by {request.actor}"),
            source=position,
        )
        state = EvolveState(rewritten, shares=self._deps.global_skills.get(skill.domain).shares)
        await self.apply(event, self._step.version(state, diff, always=True))


def _records(version: SkillVersion) -> list[SkillDiff | SlimSkill]:
    if version.slim is not None:
        metrics.SLIM_TOKENS.observe(version.slim.tokens)
    return [record for record in (version.diff, version.slim) if record is not None]


def count(diff: SkillDiff, gate: OutputGate) -> None:
    """Count the changes of a version."""
    for kind in [*(metrics.SEEDED for _ in diff.seed or ()), *(change.kind for change in diff.changes)]:
        metrics.labelled(metrics.CHANGES, kind).inc()
    new = [*(diff.seed or ()), *(change.discovered for change in diff.changes if change.discovered is not None)]
    for held in filter(None, map(gate.line_rejection, new)):
        metrics.labelled(metrics.UNVOUCHED, held).inc()
    for refused in diff.refused:
        metrics.labelled(metrics.REFUSED, refused.why).inc()
    domain = metrics.DOMAINS[diff.domain]
    for each in diff.stated:
        stance = each.statement_id.partition(":")[0] if each.statement is None else each.statement.stance
        known = stance if stance in frozenset(Stance) else metrics.OTHER
        metrics.labelled(metrics.STATEMENTS, domain, known, each.kind).inc()
    for kind in filter(None, map(partial(_shift, diff), diff.changes)):
        metrics.labelled(metrics.SHIFTS, domain, kind).inc()
    if diff.shifted and all(change.kind is not SkillChangeKind.SHIFTED for change in diff.changes):
        metrics.labelled(metrics.SHIFTS, domain, metrics.STATED).inc()


def _shift(diff: SkillDiff, change: SkillChange) -> str | None:
    if change.kind is SkillChangeKind.SHIFTED:
        is_said = diff.trigger is not None and diff.trigger.what == metrics.CORRECTION
        return metrics.STATED if is_said else metrics.OBSERVED
    return {SkillChangeKind.OVERTAKEN: metrics.OVERTAKEN, SkillChangeKind.FADED: metrics.FADED}.get(change.kind)
