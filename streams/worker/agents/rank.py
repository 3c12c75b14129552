"""Agent `rank`: rank requests answered from local state, without waiting for evolutions (paper 2.4)."""

from typing import Any

from operators.steps.rank import answer
from schemas import Position, Ranking, RankRequest, encode
from streams.worker.pipeline import Pipeline
from streams.worker.reasoning.models import Models
from streams.worker.reasoning.ranking import Answers
from streams.worker.runtime.intake import Intake


def attach(pipeline: Pipeline, models: Models) -> None:
    """Add the agent to the worker."""
    answers = Answers(pipeline, models)

    async def on_request(event: Any, request: RankRequest, position: Position) -> str:
        request = request.model_copy(update={"instruction": pipeline.asked(request.instruction, request.domain)})
        ranking = answer(request, *await answers.rank(request))
        await pipeline.send(event, Ranking.TOPIC, request.user_id.encode(), encode(ranking))
        return "ranked"

    Intake(pipeline, "rank", {RankRequest.TOPIC: on_request}, pipeline.settings.in_flight).attach()
