"""Agent `rank`: rank requests answered from local state, without waiting for anybody (paper 2.4)."""

from typing import Any

from operators.merge import fit_seed
from operators.rank import rank as rank_candidates
from operators.slim import slim
from operators.statinit import statinit
from operators.tokens import count_tokens
from schemas import (
    Injected,
    PolicySkill,
    Position,
    Profile,
    RankedBy,
    Ranking,
    RankRequest,
    compound_key,
    derived_id,
    encode,
)
from streams.worker.intake import Intake
from streams.worker.pipeline import Pipeline


def attach(pipeline: Pipeline) -> None:
    """Add the agent to the worker."""

    async def on_request(event: Any, request: RankRequest, position: Position) -> str:
        key = compound_key(request.user_id, request.domain)
        skill = pipeline.read(pipeline.skills, key, PolicySkill)
        if skill is None:
            profile = pipeline.read(pipeline.profiles, key, Profile)
            lines = fit_seed(statinit(profile, pipeline.prior_limits), pipeline.merge_limits)
        else:
            lines = skill.attributes
        items = [pipeline.facts_of(request.domain, candidate) for candidate in request.candidates]
        ranked = rank_candidates(items, lines, request.instruction, seed=request.request_id)
        by_id = {candidate.item_id: candidate for candidate in request.candidates}
        text = slim(skill, count_tokens, pipeline.settings.slim_tokens).text if skill else ""
        ranking = Ranking(
            event_id=derived_id("ranking", request.user_id, request.request_id),
            occurred_at=request.occurred_at,
            ranking_id=request.request_id,
            user_id=request.user_id,
            domain=request.domain,
            instruction=request.instruction,
            candidates=tuple(by_id[item.item_id] for item, _ in ranked),
            ranked_by=RankedBy.SAGER,
            injected=Injected(skill_version=skill.version if skill else 0, slim_skill=text, reasoner="deterministic"),
        )
        await pipeline.send(event, Ranking.TOPIC, request.user_id.encode(), encode(ranking))
        return "ranked"

    intake = Intake(pipeline, "rank", {RankRequest.TOPIC: on_request})
    intake.attach()
