"""Agent `rank`: rank requests answered from local state, without waiting for evolutions (paper 2.4)."""

from typing import Any

from operators.seals import sealed
from operators.steps.rank import answer
from schemas import Position, Ranking, RankRequest, encode
from streams.worker import metrics
from streams.worker.pipeline import Pipeline
from streams.worker.reasoning.models import Models
from streams.worker.reasoning.ranking import Answers
from streams.worker.runtime.intake import Intake


def attach(pipeline: Pipeline, models: Models) -> None:
    """Add the agent to the worker."""
    answers = Answers(pipeline, models)

    async def on_request(event: Any, request: RankRequest, position: Position) -> str:
        request = request.model_copy(update={"instruction": pipeline.asked(request.instruction, request.domain)})
        ranking = sealed(answer(request, *await answers.rank(request)), pipeline.ranking_key)
        await pipeline.send(event, Ranking.TOPIC, request.user_id.encode(), encode(ranking))
        count(ranking)
        return "ranked"

    Intake(pipeline, "rank", {RankRequest.TOPIC: on_request}, pipeline.settings.in_flight).attach()


def count(ranking: Ranking) -> None:
    """Rankings that bring a question along, and those of which probably nothing suits."""
    fit = ranking.injected.fit
    if fit is None or (fit.suits and fit.question is None):
        return
    domain = metrics.DOMAINS.label(ranking.domain)
    if fit.question is not None:
        metrics.labelled(metrics.QUESTIONS, domain).inc()
    if not fit.suits:
        metrics.labelled(metrics.NOTHING_SUITS, domain).inc()
