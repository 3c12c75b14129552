"""A shadow arm: for a share of users a second skill learns from the same choices with other knobs, and nobody sees it.

The live path comes first in every respect. The arm is handed an event when all of the live skill is out, works on it
in a task of its own, and is waited for by nobody: not by the next event, not by an acknowledgement, not by a rebalance.
So what is bounded is what may wait for it; beyond that, and at a crash, the arm misses choices, which is counted. It
never misses a command or a correction of a person for long: one whose live skill has applied one that the shadow has
not starts again from the live skill.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from operators.evolve import ReasonerUnavailable
from operators.outcome import gain
from operators.steps import Evolve
from operators.steps.evolved import Effects, Outcome, State
from operators.whatif import Lines, Side, in_share, is_behind, place
from schemas import (
    Abstention,
    Contrast,
    Correction,
    Feedback,
    Interaction,
    ItemFacts,
    PolicySkill,
    Position,
    Receipt,
    ShadowOutcome,
    ShadowSkill,
    SkillCommand,
    compound_key,
    derived_id,
    encode,
)
from streams.whatif.arms import knobs_of, lines_that_rank, side_of
from streams.worker import metrics
from streams.worker.pipeline import Pipeline
from streams.worker.runtime.ordered import Stale

logger = logging.getLogger("sager.shadow")

AT_ONCE = 8
"""Users that the arm works on at once: its calls must not take an LLM endpoint from the live path."""
MOST_WAITING = 256
"""Events that may wait for the arm; what comes then, it misses."""
LIVE = "live"
Said = Feedback | Correction | Abstention
"""What a person says beside their choices."""


def shadow_of(pipeline: Pipeline) -> "Shadow | None":
    """The arm that the settings describe, if any.

    Raises:
        BadKnob: it is to change what is no knob.
    """
    settings = pipeline.settings
    if not settings.shadow_share:
        return None
    knobs = knobs_of(settings, settings.shadow_set)
    # No rules in a model's stead: the arm would be another one than it says.
    told = pipeline.global_skills
    side = side_of(knobs, told.shares, "shadow", fallback=False, usual=told.usual, popularity=told.popularity)
    return Shadow(pipeline, side, partial(lines_that_rank, settings, told.shares), knobs.fingerprint)


class Forgotten(Exception):
    """The user, or a part of what is known of them, was forgotten meanwhile."""


class Shadow:
    """The arm of one worker.

    Args:
        pipeline: the worker's parts.
        side: how the arm learns and ranks.
        live_lines: which lines of the live skill rank.
        knobs: fingerprint of what the arm changes.
    """

    def __init__(self, pipeline: Pipeline, side: Side, live_lines: Lines, knobs: str) -> None:
        self._pipeline = pipeline
        self._side, self._live_lines, self._knobs = side, live_lines, knobs
        self._name, self._share = pipeline.settings.shadow_name, pipeline.settings.shadow_share
        self._told = tuple(pipeline.settings.topic(model.TOPIC) for model in (SkillCommand, Correction))
        self._room = asyncio.Semaphore(AT_ONCE)
        self._last_of_user: dict[str, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def choice(self, event: Any, contrast: Contrast, position: Position, live: State, *, is_repeated: bool) -> None:
        """Compare at a choice, then learn from it; at once back, whatever becomes of it.

        Args:
            event: the Faust event, for its partition.
            contrast: the choice, filtered as for the live skill.
            position: where it stands.
            live: what the live side knew before the choice; after it where it is a repeated one.
            is_repeated: the live skill had learned from it before, so that there is nothing to compare.
        """
        work = partial(self._on_choice, event, contrast, position, live.skill, is_repeated, live.receipt)
        self._offer(contrast.user_id, work)

    def command(self, event: Any, command: SkillCommand, position: Position, known: Receipt | None) -> None:
        """Carry a person's command out on the shadow too; at once back. `known`: what of them was forgotten by then."""
        self._offer(command.user_id, partial(self._on_command, event, command, position, known))

    def visit(self, event: Any, visit: Interaction, item: ItemFacts, position: Position, known: Receipt | None) -> None:
        """Count an item taken without a list on the shadow too; at once back."""
        self._offer(visit.user_id, partial(self._on_visit, event, visit, item, position, known))

    def heard(self, event: Any, record: Said, act: Callable[[Evolve, State], Effects], known: Receipt | None) -> None:
        """Apply what the person said to the shadow too; at once back. `act`: the step that did it to the live skill."""
        self._offer(record.user_id, partial(self._on_heard, event, record, act, known))

    def _offer(self, user_id: str, work: Callable[[], Awaitable[str]]) -> None:
        if not in_share(user_id, self._name, self._share):
            return
        if len(self._tasks) >= MOST_WAITING:
            metrics.SHADOW_EVENTS.labels("busy").inc()
            return
        # Made here, so that it knows the event as Faust's current one, by which a table finds its partition.
        task = asyncio.create_task(self._run(user_id, self._last_of_user.get(user_id), work))
        self._last_of_user[user_id] = task
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, user_id: str, before: asyncio.Task[None] | None, work: Callable[[], Awaitable[str]]) -> None:
        try:
            if before is not None:
                await asyncio.wait([before])
            async with self._room:
                outcome = await work()
        except Stale:
            outcome = "stale"
        except Forgotten:
            outcome = "forgotten"
        except Exception:
            # Nothing of the arm's may become the worker's.
            logger.exception("shadow %s", self._name)
            outcome = "failed"
        finally:
            if self._last_of_user.get(user_id) is asyncio.current_task():
                del self._last_of_user[user_id]
        metrics.SHADOW_EVENTS.labels(outcome).inc()

    async def _on_choice(
        self,
        event: Any,
        contrast: Contrast,
        position: Position,
        live: PolicySkill,
        is_repeated: bool,
        known: Receipt | None,
    ) -> str:
        if self._pipeline.receipt(contrast.user_id) != known:
            raise Forgotten
        state = self._read(contrast)
        if state is None or is_behind(state, live, *self._told):
            if state is not None:
                metrics.SHADOW_EVENTS.labels("restarted").inc()
            state = await self._write(event, live, live, known)
        skill = state.skill
        if not is_repeated:
            await self._compare(event, contrast, live, skill)
        passed_over = self._side.step.fence(skill, contrast, position)
        if passed_over is not None:
            return passed_over.value
        try:
            answer = await self._side.reason(contrast, skill)
        except ReasonerUnavailable:
            return "unavailable"
        effects = self._side.step.finish(self._state(skill), contrast, answer, position)
        await self._write(event, effects.skill, live, known)
        return "learned"

    async def _on_command(self, event: Any, command: SkillCommand, position: Position, known: Receipt | None) -> str:
        if self._pipeline.receipt(command.user_id) != known:
            raise Forgotten
        state = self._read(command)
        if state is None:
            return "not-followed"
        effects = self._side.step.command(State(state.skill), command, position)
        if effects.outcome is Outcome.COMMANDED:
            await self._hold(event, state.model_copy(update={"skill": effects.skill}), known)
        return effects.outcome.value

    async def _on_visit(
        self, event: Any, visit: Interaction, item: ItemFacts, position: Position, known: Receipt | None
    ) -> str:
        if self._pipeline.receipt(visit.user_id) != known:
            raise Forgotten
        state = self._read(visit)
        if state is None:
            return "not-followed"
        effects = self._side.step.visit(self._state(state.skill), visit, item, position)
        if effects.version is not None:
            await self._hold(event, state.model_copy(update={"skill": effects.skill}), known)
        return effects.outcome.value

    async def _on_heard(
        self, event: Any, record: Said, act: Callable[[Evolve, State], Effects], known: Receipt | None
    ) -> str:
        if self._pipeline.receipt(record.user_id) != known:
            raise Forgotten
        state = self._read(record)
        if state is None:
            return "not-followed"
        effects = act(self._side.step, self._state(state.skill))
        if effects.version is not None:
            await self._hold(event, state.model_copy(update={"skill": effects.skill}), known)
        return effects.outcome.value

    def _state(self, skill: PolicySkill) -> State:
        side, domain = self._side, skill.domain
        return State(skill, usual=side.usual(domain), popularity=side.popularity(domain))

    def _read(self, record: Contrast | Interaction | SkillCommand | Said) -> ShadowSkill | None:
        """What this arm holds of the user; what another one held before counts as nothing."""
        key = compound_key(record.user_id, record.domain)
        state = self._pipeline.read(self._pipeline.shadow_skills, key, ShadowSkill)
        if state is None or (state.arm, state.knobs) != (self._name, self._knobs):
            return None
        return state

    async def _write(self, event: Any, skill: PolicySkill, live: PolicySkill, known: Receipt | None) -> ShadowSkill:
        state = ShadowSkill(
            user_id=skill.user_id,
            domain=skill.domain,
            arm=self._name,
            knobs=self._knobs,
            live_version=live.version,
            skill=skill,
        )
        await self._hold(event, state, known)
        return state

    async def _hold(self, event: Any, state: ShadowSkill, known: Receipt | None) -> None:
        """Write, unless something of the user was forgotten since the event was begun.

        Raises:
            Forgotten: it was, and this state may hold it still.
        """
        pipeline, key = self._pipeline, _key(state.skill)
        async with pipeline.lock(pipeline.shadow_skills.name, key):
            if pipeline.receipt(state.user_id) != known:
                raise Forgotten
            await pipeline.write(pipeline.shadow_skills, event, key, state)

    async def _compare(self, event: Any, contrast: Contrast, live: PolicySkill, shadow: PolicySkill) -> None:
        outcome = ShadowOutcome(
            event_id=derived_id("shadow", self._name, contrast.event_id),
            occurred_at=contrast.occurred_at,
            user_id=contrast.user_id,
            domain=contrast.domain,
            arm=self._name,
            ranking_id=contrast.ranking_id,
            candidates=1 + len(contrast.unchosen),
            live_rank=place(contrast, self._live_lines(live, contrast)),
            shadow_rank=place(contrast, self._side.lines(shadow, contrast)),
            live_version=live.version,
            shadow_version=shadow.version,
            live_contrasts=live.contrasts,
            shadow_contrasts=shadow.contrasts,
        )
        key, partition = contrast.user_id.encode(), event.message.partition
        await self._pipeline.send(event, ShadowOutcome.TOPIC, key, encode(outcome), partition)
        domain = metrics.DOMAINS.label(contrast.domain)
        for arm, rank in ((LIVE, outcome.live_rank), (f"shadow:{self._name}", outcome.shadow_rank)):
            metrics.SHADOW_RANK.labels(domain, arm).observe(rank)
            for at in metrics.AT:
                metrics.SHADOW_NDCG.labels(domain, arm, at).inc(gain(rank, at))


def _key(skill: PolicySkill) -> bytes:
    return compound_key(skill.user_id, skill.domain)
