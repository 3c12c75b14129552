"""Both sides folded over the same events: the live one by its log, the other one by learning anew."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from operators.evolve import ReasonerUnavailable
from operators.merge import holds, merge, resolve_command
from operators.whatif.learn import Learner
from operators.whatif.place import place
from operators.whatif.series import Series, Step
from schemas import Attribute, BadRecord, Contrast, PolicySkill, SkillDiff

Lines = Callable[[PolicySkill, Contrast], Sequence[Attribute]]
"""Which lines of a skill rank the candidates of a choice."""


@dataclass(frozen=True)
class Side:
    """One arm: how it learns, and which of its lines rank."""

    learner: Learner
    lines: Lines = lambda skill, _: skill.attributes


@dataclass(frozen=True, slots=True)
class Moment:
    """Where both sides are after one event.

    Attributes:
        live, other: the skills now.
        contrast: the choice, if it was one that could be read.
        live_place, other_place: where each would have put the chosen item before it learned from it; 0: no choice.
        live_version, other_version: of the skills that put it there.
        live_diff: what the live side made of the event, if anything.
        diff: what the other side made of it.
        unavailable: why it learned nothing from a choice: no reasoner answered.
    """

    live: PolicySkill
    other: PolicySkill
    contrast: Contrast | None = None
    live_place: int = 0
    other_place: int = 0
    live_version: int = 0
    other_version: int = 0
    live_diff: SkillDiff | None = None
    diff: SkillDiff | None = None
    unavailable: str = ""


async def replay(told: Series, live_lines: Lines, other: Side) -> AsyncIterator[Moment]:
    """Go through a series on both sides. With the live side's own knobs, both end byte for byte alike.

    A person's command is carried out on both: it is a wish, no knob. A roll-back carries its lines, so after one both
    sides say the same again.
    """
    here = Moment(told.start, told.start)
    for step in told.steps:
        here = await _step(step, here, live_lines, other)
        yield here


async def _step(step: Step, before: Moment, live_lines: Lines, other: Side) -> Moment:
    was_live, was_other = before.live, before.other
    now_live = was_live if step.diff is None else merge(was_live, step.diff)
    learner = other.learner
    if step.command is not None:
        command = step.command.command
        diff = resolve_command(was_other, command, step.source, learner.limits, learner.privacy)
        return Moment(now_live, merge(was_other, diff), live_diff=step.diff, diff=diff)
    contrast = _contrast(step, learner)
    if contrast is None:
        return Moment(now_live, was_other, live_diff=step.diff)
    # Before either has learned from it.
    places = (place(contrast, live_lines(was_live, contrast)), place(contrast, other.lines(was_other, contrast)))
    made, why = None, ""
    if not learner.passes_over(was_other) and not holds(was_other, contrast.event_id, step.source):
        try:
            made = await learner.diff(contrast, was_other, step.source)
        except ReasonerUnavailable as error:
            why = error.outcome
    now_other = was_other if made is None else merge(was_other, made)
    versions = (was_live.version, was_other.version)
    return Moment(now_live, now_other, contrast, *places, *versions, step.diff, made, why)


def _contrast(step: Step, learner: Learner) -> Contrast | None:
    """The choice as the worker takes it: its chosen item without what is private."""
    if step.held is None:
        return None
    try:
        contrast = step.held.contrast()
    except BadRecord:
        return None
    chosen, _ = learner.privacy.item(contrast.chosen, contrast.domain)
    return contrast.model_copy(update={"chosen": chosen})
