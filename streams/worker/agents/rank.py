"""Agent `rank`: rank requests answered from local state, without waiting for evolutions (paper 2.4)."""

from typing import Any

from schemas import Candidate, Position, RankedBy, Ranking, RankRequest, derived_id, encode
from streams.worker.pipeline import Pipeline
from streams.worker.reasoning.models import Models
from streams.worker.reasoning.ranking import Answers
from streams.worker.runtime.intake import Intake


def attach(pipeline: Pipeline, models: Models) -> None:
    """Add the agent to the worker."""
    answers = Answers(pipeline, models)

    async def on_request(event: Any, request: RankRequest, position: Position) -> str:
        request = request.model_copy(update={"instruction": pipeline.asked(request.instruction, request.domain)})
        order, injected = await answers.rank(request)
        by_id: dict[str, Candidate] = {candidate.item_id: candidate for candidate in request.candidates}
        ranking = Ranking(
            event_id=derived_id("ranking", request.user_id, request.request_id),
            occurred_at=request.occurred_at,
            ranking_id=request.request_id,
            user_id=request.user_id,
            domain=request.domain,
            instruction=request.instruction,
            candidates=tuple(by_id[item_id] for item_id in order),
            ranked_by=RankedBy.SAGER,
            injected=injected,
        )
        await pipeline.send(event, Ranking.TOPIC, request.user_id.encode(), encode(ranking))
        return "ranked"

    Intake(pipeline, "rank", {RankRequest.TOPIC: on_request}, pipeline.settings.in_flight).attach()
