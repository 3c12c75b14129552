"""Both halves of the step `evolve` around a question, for callers that own all the state."""

from collections.abc import Awaitable, Callable

from operators.evolve import Proposal
from operators.steps.evolve import Evolve
from operators.steps.evolved import Effects, Outcome, State
from schemas import Contrast, PolicySkill, Position

Reason = Callable[[Contrast, PolicySkill], Awaitable[Proposal]]


async def learn(
    step: Evolve, reason: Reason, state: State, contrast: Contrast, source: Position | None = None
) -> Effects:
    """What a choice does to a skill that nobody else writes meanwhile.

    Raises:
        ReasonerUnavailable: there is no answer; nothing has changed.
    """
    begun = step.begin(state, contrast, source)
    if begun.contrast is None or begun.outcome is not None:
        return Effects(begun.outcome or Outcome.FORGOTTEN, state.skill)
    return step.finish(state, begun.contrast, await reason(begun.contrast, state.skill), source)
