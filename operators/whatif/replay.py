"""Both sides folded over the same events: the live one by its log, the other one by learning anew."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass

from operators.evolve import ReasonerUnavailable
from operators.merge import merge
from operators.steps import Evolve, Reason, State
from operators.whatif.place import place
from operators.whatif.series import Series, Step
from schemas import Attribute, BadRecord, Contrast, PolicySkill, SkillDiff

Lines = Callable[[PolicySkill, Contrast], Sequence[Attribute]]
"""Which lines of a skill rank the candidates of a choice."""

Usual = Callable[[str], Mapping[str, int] | None]
Popularity = Callable[[str], Mapping[str, int] | None]
"""By domain, the population's share of what was taken that has a fact."""


@dataclass(frozen=True)
class Side:
    """One arm.

    Attributes:
        step: how it learns.
        reason: who proposes.
        lines: which of its lines rank.
        usual: by domain, what is to be expected of anybody, in 1/1024.
        popularity: by domain, how many users took an item lately.
    """

    step: Evolve
    reason: Reason
    lines: Lines = lambda skill, _: skill.attributes
    usual: Usual = lambda _: None
    popularity: Popularity = lambda _: None


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
    if step.visit is not None:
        # The item, or what the person said, is not at hand: what came of it is.
        counted = step.visit.model_copy(
            update={"base_version": was_other.version, "version": was_other.version + 1, "seed": None}
        )
        return Moment(now_live, merge(was_other, counted), live_diff=step.diff, diff=counted)
    domain = was_other.domain
    state = State(was_other, usual=other.usual(domain), popularity=other.popularity(domain))
    if step.command is not None:
        effects = other.step.command(state, step.command.command, step.source)
        return Moment(now_live, effects.skill, live_diff=step.diff, diff=effects.diff)
    held = _contrast(step)
    begun = None if held is None else other.step.begin(state, held, step.source)
    if begun is None or begun.contrast is None:
        return Moment(now_live, was_other, live_diff=step.diff)
    contrast = begun.contrast
    # Before either has learned from it.
    places = (place(contrast, live_lines(was_live, contrast)), place(contrast, other.lines(was_other, contrast)))
    now_other, made, why = was_other, None, ""
    if begun.outcome is None:
        try:
            answer = await other.reason(contrast, was_other)
        except ReasonerUnavailable as error:
            why = error.outcome
        else:
            effects = other.step.finish(state, contrast, answer, step.source)
            now_other, made = effects.skill, effects.diff
    versions = (was_live.version, was_other.version)
    return Moment(now_live, now_other, contrast, *places, *versions, step.diff, made, why)


def _contrast(step: Step) -> Contrast | None:
    if step.held is None:
        return None
    try:
        return step.held.contrast()
    except BadRecord:
        return None
