"""What a model may be told of a whole skill: what the deployment's gate lets out, for agents and whoever runs them."""

from datetime import UTC, datetime
from functools import partial
from typing import Annotated

from duckdb import DuckDBPyConnection
from fastapi import Query, Response

from schemas import PolicySkill
from streams.http.answer import JSON
from streams.http.api import Api, TheApi
from streams.http.auth import TheToken, needs
from streams.http.params import DomainPath, UserPath, Whole
from streams.http.problems import Problem
from streams.http.routes.lines import LinePath
from streams.http.strict import router as strict_router
from streams.http.tokens import Scope
from streams.rights.explained import UnknownLine, explain
from streams.rights.reading import UnknownUser
from streams.views.llm import Told, ToldLine, ToldLog, ToldSkill, line_for_model, log_for_model, skill_for_model
from streams.vouching import vouching_of

LAST, MOST_LAST = 20, 200

router = strict_router("for models")
_READS = needs(Scope.READ_USER, Scope.READ_ALL)
_NOTHING = "nothing is known of this user in this domain yet"


@router.get("/v1/users/{user}/domains/{domain}/told", dependencies=[_READS], response_model=ToldSkill)
async def told_skill(api: TheApi, token: TheToken, user: UserPath, domain: DomainPath) -> Response:
    """A skill as a model may read it: only lines for which something vouches, in words that carry no instruction.

    What is held back is counted, and shown to people by `/v1/users/{user}/skills/{domain}`.
    """
    skill = await api.read(token, partial(_newest, api, user, domain))
    if skill is None:
        raise Problem(404, _NOTHING)
    return _as_json(skill_for_model(skill, vouching_of(api.settings), datetime.now(UTC)))


@router.get("/v1/users/{user}/domains/{domain}/told/log", dependencies=[_READS], response_model=ToldLog)
async def told_log(
    api: TheApi,
    token: TheToken,
    user: UserPath,
    domain: DomainPath,
    last: Annotated[Whole, Query(ge=1, le=MOST_LAST, description="How many versions.")] = LAST,
) -> Response:
    """How a skill came about, as a model may read it: its newest versions out of the snapshot, some seconds old."""
    diffs = await api.read(token, partial(api.snapshot.history, user, domain))
    if not diffs:
        raise Problem(404, _NOTHING)
    return _as_json(log_for_model(diffs, vouching_of(api.settings), last))


@router.get("/v1/users/{user}/domains/{domain}/told/lines/{attribute}", dependencies=[_READS], response_model=ToldLine)
async def told_line(api: TheApi, token: TheToken, user: UserPath, domain: DomainPath, attribute: LinePath) -> Response:
    """Why a line or a statement is in a skill, as a model may read it.

    Titles are told where something vouches for them, and nobody's own words are quoted.
    """
    vouching = vouching_of(api.settings)

    def read(con: DuckDBPyConnection) -> ToldLine | None:
        return line_for_model(explain(con, user, domain, attribute, vouching), vouching)

    try:
        found = await api.read(token, lambda: api.snapshot.ask(read))
    except (UnknownUser, UnknownLine):
        found = None
    if found is None:
        # The same whether there is none or it is held back: an id is made of words.
        raise Problem(404, "there is no such line that may be told, or the snapshot does not have it yet")
    return _as_json(found)


def _newest(api: Api, user: str, domain: str) -> PolicySkill | None:
    """The skill as it is now; where topics are not followed, or not read yet, as the snapshot has it."""
    if (skill := api.live.skill(user, domain)) is not None:
        return skill
    if api.live.is_ready:
        return None
    return next(iter(api.snapshot.skills(user, domain)), None)


def _as_json(told: Told) -> Response:
    return Response(told.model_dump_json(), media_type=JSON)
