"""Rankings over HTTP: a request goes to Kafka, and the answer of a worker comes back."""

import uuid
from datetime import UTC, datetime

from fastapi import Response
from pydantic import ValidationError

from operators.seals import authenticated
from schemas import RankedBy, Ranking, RankRequest, encode
from streams.http.answer import JSON
from streams.http.api import TheApi
from streams.http.auth import TheToken, needs_some, refuse
from streams.http.forms import RankBody
from streams.http.problems import Problem, not_valid
from streams.http.strict import router as strict_router
from streams.http.tokens import Scope

SCOPES = (Scope.PRODUCE, Scope.READ_SLIM)

router = strict_router("rankings")


@router.post("/v1/rank", dependencies=[needs_some(*SCOPES)], response_model=Ranking)
async def rank(api: TheApi, token: TheToken, asked: RankBody) -> Response:
    """Ranks candidates for a person, best first, and waits for it.

    What spoke for the order is in `injected`: the slim skill, and in `fit` how well the candidates suit and, with
    `clarify`, the one question whose answer would tell most. Answer it with a correction. Then show the list, and send
    what was taken as a selection with this `ranking_id`.

    A 504 names the `request_id`: the same request may be sent again with it.
    """
    user = asked.user_id
    if not all(token.may(scope, user) for scope in SCOPES):
        raise refuse(SCOPES)
    request = _request(asked)
    name = request.request_id

    def is_it(found: Ranking) -> bool:
        is_named = (found.ranking_id, found.user_id) == (name, user)
        return is_named and authenticated(found, api.ranking_key).ranked_by is RankedBy.SAGER

    with api.waiting(token, user), api.answers.expect(Ranking, user, is_it, name) as answer:
        await api.sender.send([api.sender.outgoing(request)])
        found = await answer.within(api.settings.http_wait_seconds)
    if found is None:
        raise Problem(
            504,
            "no worker has ranked this in time; the request is kept, and the ranking will be on its topic",
            request_id=name,
        )
    # Without its seal: a client could test guesses of a short key against it.
    return Response(encode(found.model_copy(update={"seal": None})), media_type=JSON)


def _request(asked: RankBody) -> RankRequest:
    known = {name: getattr(asked, name) for name in type(asked).model_fields}
    envelope = {"event_id": uuid.uuid4().hex, "occurred_at": datetime.now(UTC)}
    try:
        return RankRequest.model_validate({**known, **envelope, "request_id": asked.request_id or uuid.uuid4().hex})
    except ValidationError as error:
        raise not_valid(error) from None
