"""Tools around a choice: rank, ask, and record what was shown and taken."""

import uuid
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import Field

from schemas import Candidate, Ranking, Selection, derived_id
from schemas.fields import Identifier, Instruction, ItemIdField
from streams.mcp.access import Access, Ctx
from streams.mcp.api import NotDone
from streams.mcp.params import Domain, Request, Session, User
from streams.mcp.results import Question, Ranked, Recorded, ranked

Candidates = Annotated[
    list[Candidate],
    Field(min_length=1, max_length=100, description="What could be shown, each with all metadata that there is."),
]
Key = Annotated[
    Identifier | None,
    Field(description="Names this choice: the same key again, after an error, records nothing twice."),
]


class RankingTools:
    """Tools that rank and record.

    Args:
        access: the API, and for whom.
    """

    def __init__(self, access: Access) -> None:
        self._access = access

    async def rank_candidates(
        self,
        ctx: Ctx,
        candidates: Candidates,
        request: Request = "",
        session: Session = None,
        domain: Domain = None,
        user: User = None,
    ) -> Ranked:
        """Put candidates into the order that suits this person best.

        Call it when you have several things to offer (films, products, places, next steps) and would like the best
        ones first. Show them in that order, then call record_shown_and_taken with the `ranking_id`: that is what the
        person's skill learns from.
        """
        return ranked(await self._rank(ctx, candidates, request, session, domain, user, clarify=False))

    async def ask_clarifying_question(
        self,
        ctx: Ctx,
        candidates: Candidates,
        request: Request = "",
        session: Session = None,
        domain: Domain = None,
        user: User = None,
    ) -> Question:
        """Find the one question to ask this person before you show them something.

        Call it when rank_candidates says `suits: false`, or when a wrong offer would be costly. Ask the question in
        your own words, with its options; then call record_correction with `answers` and what the person says, and rank
        again. Without a question, no answer would change the ranking: show it.
        """
        found = ranked(await self._rank(ctx, candidates, request, session, domain, user, clarify=True))
        return Question(question=found.question, ranking_id=found.ranking_id, order=found.order)

    async def record_shown_and_taken(
        self,
        ctx: Ctx,
        taken: Annotated[
            list[ItemIdField] | None,
            Field(description="Ids of what the person took. Empty: they want none of these. Left out: not known yet."),
        ] = None,
        shown: Annotated[
            list[Candidate] | None,
            Field(description="What they saw, first place first. Leave it out if `ranking_id` names a ranking."),
        ] = None,
        ranking_id: Annotated[
            Identifier | None, Field(description="Of rank_candidates, or of an earlier call of this tool.")
        ] = None,
        request: Request = "",
        skill_version: Annotated[
            int | None, Field(ge=0, description="Of get_slim_skill, if you used it to choose or to order.")
        ] = None,
        key: Key = None,
        session: Session = None,
        domain: Domain = None,
        user: User = None,
    ) -> Recorded:
        """Record what a person was shown and what they took of it. This is what their skill learns from.

        Call it whenever they choose something you offered, and when they turn the whole list down (`taken: []`). Give
        all that was shown, not only what was taken: a choice tells most by what was left. Never record a guess.
        """
        if shown is None and (ranking_id is None or taken is None):
            raise NotDone("give `shown`, or the `ranking_id` of what was shown together with `taken`")
        person = await self._access.user_of(ctx, user)
        key = key or uuid.uuid4().hex
        ranking_id = ranking_id or derived_id("mcp", person, key, Ranking.TOPIC)
        events = []
        if shown is not None:
            fields: dict[str, Any] = {"domain": self._access.domain_of(domain), "instruction": request}
            fields["candidates"] = [each.model_dump(mode="json") for each in shown]
            events.append(_event(Ranking.TOPIC, person, ranking_id, key, session, fields))
        if taken is not None:
            first, others = (taken[0], taken[1:]) if taken else (None, [])
            fields = {"item_id": first, "others": others, "none_taken": not taken, "skill_version": skill_version}
            events.append(_event(Selection.TOPIC, person, ranking_id, key, session, fields))
        answer = await self._access.api(ctx).post("/v1/events", {"events": events})
        check_taken(answer)
        accepted = answer.get("accepted")
        return Recorded(
            ranking_id=ranking_id,
            accepted=accepted if isinstance(accepted, int) else len(events),
            learned="the skill changes within seconds" if taken is not None else "nothing until something is taken",
        )

    async def _rank(
        self,
        ctx: Ctx,
        candidates: list[Candidate],
        request: Instruction,
        session: Session,
        domain: Domain,
        user: User,
        *,
        clarify: bool,
    ) -> dict[str, Any]:
        body = {
            "user_id": await self._access.user_of(ctx, user),
            "domain": self._access.domain_of(domain),
            "candidates": [each.model_dump(mode="json") for each in candidates],
            "instruction": request,
            "session_id": session,
            "clarify": clarify,
        }
        return await self._access.api(ctx).post("/v1/rank", body)


def _event(
    topic: str, user: str, ranking_id: str, key: str, session: str | None, fields: dict[str, Any]
) -> dict[str, Any]:
    """An event as `POST /v1/events` takes it; its id follows from the key."""
    event = {
        "event_id": derived_id("mcp", user, key, topic, "event"),
        "occurred_at": datetime.now(UTC).isoformat(),
        "ranking_id": ranking_id,
        "user_id": user,
        "session_id": session,
        **fields,
    }
    return {"topic": topic, "event": {name: value for name, value in event.items() if value is not None}}


def check_taken(answer: dict[str, Any]) -> None:
    """Raises for events that were refused.

    Raises:
        NotDone: some were; fields and reasons, no values.
    """
    results = answer.get("results")
    refused = [each for each in results if each.get("status") == "refused"] if isinstance(results, list) else []
    wrong = [f"{one.get('field')}: {one.get('what')}" for each in refused for one in each.get("errors", ())]
    if refused:
        raise NotDone(f"{len(refused)} of the events were refused: {'; '.join(wrong)}")
