"""Agent `contrast`: rankings and selections, in any order, into contrasts (paper 2.5)."""

from functools import partial
from typing import Any

from operators.applied import is_applied
from operators.contrast import Step, on_ranking, on_selection, slot_of
from schemas import Contrast, OpenRankings, Position, Ranking, Selection, compound_key, encode
from schemas.fields import UserId
from streams.worker.intake import Intake
from streams.worker.pipeline import Pipeline, position_of


def attach(pipeline: Pipeline) -> None:
    """Add the agent to the worker."""

    def rings(user_id: UserId, ranking_id: str, position: Position) -> OpenRankings | None:
        """The user's rings for this ranking; None if they hold this record already."""
        slot = slot_of(ranking_id)
        state = pipeline.read(pipeline.open_rankings, compound_key(user_id, slot), OpenRankings)
        if state is None:
            return OpenRankings(user_id=user_id, slot=slot)
        return None if is_applied(state.applied, position) else state

    async def settle(event: Any, step: Step) -> str:
        """Send first, then forget: after a crash between the two the same contrast is sent again, and known."""
        user = step.state.user_id.encode()
        if step.contrast is not None:
            await pipeline.send(event, Contrast.TOPIC, user, encode(step.contrast))
        for waiting, outcome in step.refused:
            detail = f"ranking {waiting.selection.ranking_id}, item {waiting.selection.item_id}"
            original = None if waiting.source == position_of(event.message) else encode(waiting.selection)
            await intake.dead_letter(event, waiting.source, outcome.value, detail, original)
        key = compound_key(step.state.user_id, step.state.slot)
        await pipeline.write(pipeline.open_rankings, event, key, step.state)
        return step.outcome.value

    async def ranking_shown(event: Any, ranking: Ranking, position: Position) -> str:
        state = rings(ranking.user_id, ranking.ranking_id, position)
        if state is None:
            return "repeated"
        parse = partial(pipeline.facts_of, ranking.domain)
        return await settle(event, on_ranking(state, ranking, parse, position, pipeline.ring_limits))

    async def item_selected(event: Any, selection: Selection, position: Position) -> str:
        state = rings(selection.user_id, selection.ranking_id, position)
        if state is None:
            return "repeated"
        return await settle(event, on_selection(state, selection, position, pipeline.ring_limits))

    intake = Intake(pipeline, "contrast", {Ranking.TOPIC: ranking_shown, Selection.TOPIC: item_selected})
    intake.attach()
