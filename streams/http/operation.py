"""For operators and dashboards: dead letters, arms side by side, named queries, the snapshot's age, the token."""

from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, Self

from duckdb import DuckDBPyConnection
from fastapi import Path, Query, Response
from pydantic import BaseModel, Field, model_validator

from schemas import DeadLetter, Model, Position
from schemas.fields import UserIdField, UtcDatetime
from streams.exceptions import NotProduced
from streams.http.api import Api, TheApi
from streams.http.problems import Problem
from streams.http.routing import (
    DECODED,
    Body,
    Confirmation,
    DomainQuery,
    Since,
    TheToken,
    Weeks,
    as_json,
    needs,
    router,
)
from streams.http.tokens import Scope, Token
from streams.operations.dead_letters import replay as replaying
from streams.operations.dead_letters.reading import Chosen, NoSuchLetter, listing, one
from streams.operations.dead_letters.telling import chosen_of, summary

MOST_NAMES, MOST_IDS, SHOWN_IDS = 20, 500, 100

routes, analytics = router("operation"), router("analytics")
_OPERATES = needs(Scope.OPERATE)

Name = Annotated[str, Field(min_length=1, max_length=250)]
Cursor = Annotated[
    str | None, Query(pattern=r"^[0-9]{1,14}-[0-9]{1,6}-[0-9]{1,19}$", description="The `next` of the page before.")
]
PageSize = Annotated[int, Query(ge=1, le=500, description="How many.")]


class Letter(BaseModel):
    """A dead letter without its original's value; the key may be a user's id."""

    event_id: str
    refused_at: datetime
    stage: str
    reason: str
    detail: str
    source: Position
    key: str
    value_bytes: int
    replayed: bool


class Letters(BaseModel):
    """A page of dead letters, newest first; counts are of all that match. `next` is for `before`."""

    total: int
    by_reason: dict[str, int]
    replayed: int
    forgotten: int
    letters: list[Letter]
    next: str | None


class WholeLetter(BaseModel):
    """A dead letter as it is on its topic, the original's bytes in URL-safe base64; and where that was replayed to."""

    letter: DeadLetter
    replayed_to: list[str]


class ReplayAsked(Body):
    """Which dead letters to replay: those that match all that is said, and something must be."""

    ids: list[Name] = Field(default_factory=list, max_length=MOST_IDS)
    reasons: list[Name] = Field(default_factory=list, max_length=MOST_NAMES)
    stages: list[Name] = Field(default_factory=list, max_length=MOST_NAMES)
    topics: list[Name] = Field(default_factory=list, max_length=MOST_NAMES)
    since: UtcDatetime | None = None
    user: UserIdField | None = None
    confirmation: Confirmation | None = None

    @model_validator(mode="after")
    def _names_some(self) -> Self:
        if not (self.ids or self.reasons or self.stages or self.topics or self.since or self.user):
            raise ValueError("name dead letters by their ids, or choose them by a reason, stage, topic, time or user")
        return self


class ReplayPreview(BaseModel):
    """What a replay would send again. Nothing was sent."""

    count: int
    ready: list[str] = Field(description=f"Their ids, at most {SHOWN_IDS}.")
    hindered: dict[str, str] = Field(description="Why others cannot be replayed.")
    unknown: list[str]
    confirmation: str
    expires_at: datetime


class Replayed(BaseModel):
    """What a replay sent again; what was replayed before was not."""

    replayed: int
    hindered: dict[str, str]
    unknown: list[str]


@routes.get("/v1/dead-letters", dependencies=[_OPERATES])
async def list_letters(
    api: TheApi,
    token: TheToken,
    reason: Annotated[Name | None, Query(description="Refused for this reason.")] = None,
    stage: Annotated[Name | None, Query(description="Refused at this stage.")] = None,
    topic: Annotated[Name | None, Query(description="With or without the deployment's prefix.")] = None,
    user: Annotated[UserIdField | None, Query(description="Keyed by this user.")] = None,
    since: Since = None,
    before: Cursor = None,
    limit: PageSize = 50,
) -> Letters:
    """Lists refused records, newest first, page by page, and counts them by reason.

    It reads the topic of dead letters, from `since` on. Those of people who were forgotten are left out.
    """
    reasons, stages, topics = ([each] if each is not None else [] for each in (reason, stage, topic))
    chosen = chosen_of(api.settings, (), reasons, stages, topics, _ms(since), user)
    at, partition, offset = map(int, before.split("-")) if before is not None else (0, 0, 0)
    cursor = (at, partition, offset) if before is not None else None
    found = await api.search(token, partial(listing, api.settings, chosen, limit, before=cursor))
    return Letters(
        total=found.total,
        by_reason=dict(found.by_reason.most_common()),
        replayed=len(found.replayed),
        forgotten=found.forgotten,
        letters=[Letter(**summary(each, each.letter.event_id in found.replayed)) for each in found.newest],
        next="-".join(map(str, found.newest[-1].place)) if len(found.newest) == limit else None,
    )


@routes.get("/v1/dead-letters/{letter}", dependencies=[_OPERATES], response_model=WholeLetter)
async def read_letter(
    api: TheApi,
    token: TheToken,
    letter: Annotated[str, DECODED, Path(min_length=1, max_length=128, description="Its `event_id`.")],
) -> Response:
    """One dead letter, with the bytes of its original in URL-safe base64."""
    try:
        found, replayed = await api.search(token, partial(one, api.settings, letter))
    except NoSuchLetter:
        raise Problem(404, "there is no such dead letter; they are kept for 90 days") from None
    return as_json(WholeLetter(letter=found.letter, replayed_to=replayed))


@routes.post("/v1/dead-letters/replay", dependencies=[_OPERATES], response_model=ReplayPreview | Replayed)
async def replay_letters(api: TheApi, token: TheToken, asked: ReplayAsked) -> Response:
    """Sends the originals of dead letters again, in two steps.

    Without `confirmation`: what would be sent, with a confirmation. With it, the same request is carried out. Each is
    sent once, whatever is repeated; a record that is refused again becomes a new dead letter.
    """
    about = asked.model_dump(mode="json", exclude={"confirmation"})
    since = _ms(asked.since)
    chosen = chosen_of(api.settings, asked.ids, asked.reasons, asked.stages, asked.topics, since, asked.user)
    if asked.confirmation is None:
        planned = await api.search(token, partial(replaying.plan, api.settings, chosen))
        ready = list(planned.ready)
        preview = {"count": len(ready), "ready": ready[:SHOWN_IDS], **_hindrances(planned)}
        return as_json({**preview, **api.confirmations.make(token, "replay", about)})
    api.confirmations.check(asked.confirmation, token, "replay", about)
    planned, sent = await api.search(token, partial(_replay, api, chosen))
    return as_json({"replayed": sent, **_hindrances(planned)})


def _replay(api: Api, chosen: Chosen) -> tuple[replaying.Plan, int]:
    with replaying.ONE_AT_A_TIME:
        planned = replaying.plan(api.settings, chosen)
        try:
            return planned, replaying.replay(api.settings, planned)
        except NotProduced as error:
            raise Problem(503, "Kafka did not take all of them; replay again: nothing is sent twice") from error


def _hindrances(planned: replaying.Plan) -> dict[str, Any]:
    return {"hindered": {name: why.value for name, why in planned.hindered.items()}, "unknown": planned.unknown}


def _ms(moment: datetime | None) -> int:
    return 0 if moment is None else max(0, int(moment.astimezone(UTC).timestamp() * 1000))


class SnapshotAge(Model):
    """The newest snapshot."""

    published_at: str | None = Field(description="When it was published; none: it does not say.")
    newest_record_at: str | None = Field(description="The time of its newest record.")
    records: int = Field(description="How many it holds.")


class Status(Model):
    """How the deployment is."""

    prefix: str = Field(description="The prefix of its topics.")
    snapshot: SnapshotAge


class TokenFacts(Model):
    """What the server knows of the token of a request."""

    name: str
    scopes: tuple[Scope, ...]
    user: str | None
    expires: datetime | None


@routes.get("/v1/status", dependencies=[_OPERATES])
async def status(api: TheApi, token: TheToken) -> Status:
    """The deployment's prefix, and how old the snapshot is."""
    found = await api.read(token, api.snapshot.status)
    return Status(prefix=api.settings.prefix, snapshot=SnapshotAge.model_validate(found))


@routes.get("/v1/token")
async def own_token(token: TheToken) -> TokenFacts:
    """The token of this very request: its name, its scopes, and the user that it is about (`*` is everybody)."""
    scopes = tuple(scope for scope in Scope if scope in token.scopes)
    return TokenFacts(name=token.name, scopes=scopes, user=token.user, expires=token.expires)


# Named queries over the newest snapshot, for dashboards. No SQL is taken over HTTP: read-only settings stop neither a
# function that sleeps nor one that fills the memory.

Cell = str | int | float | None
Limit = Annotated[int, Query(ge=1, le=1_000, description="At most so many rows.")]


class Rows(BaseModel):
    """The rows of a named query."""

    rows: list[dict[str, Cell]]


class Arms(BaseModel):
    """Arms side by side. `arms` are comparable only if users were assigned at random."""

    arms: list[dict[str, Cell]]
    shadows: list[dict[str, Cell]]


def _rows(con: DuckDBPyConnection, query: str, *values: Any) -> list[dict[str, Any]]:
    """Return the rows of a query of ours: $1 is a domain or None, and `recent` bounds the weeks of `found`."""
    found = con.execute(query, values)
    names = [name for name, *_ in found.description or ()]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


_ARMS = """
    WITH found AS (FROM query_table($3) WHERE domain = coalesce($1, domain))
    FROM found WHERE week > (SELECT max(week) FROM found) - to_weeks($2) ORDER BY week, domain, arm
"""


@routes.get("/v1/arms", dependencies=[needs(Scope.OPERATE, Scope.READ_ALL)], response_model=Arms)
async def read_arms(api: TheApi, token: TheToken, domain: DomainQuery = None, weeks: Weeks = 12) -> Response:
    """Arms side by side, week by week: how high the chosen items stood, and what shadow arms would have done.

    `arms` has the columns of the view `arm_results`, `shadows` those of `shadow_arms`.
    """

    def read(con: DuckDBPyConnection) -> dict[str, Any]:
        views = {"arms": "arm_results", "shadows": "shadow_arms"}
        return {name: _rows(con, _ARMS, domain, weeks, view) for name, view in views.items()}

    return as_json(await api.read(token, lambda: api.snapshot.ask(read)))


def _named_query(path: str, about: str, query: str) -> None:
    """Add a route for a query of a domain, weeks if it says $3, and a limit, its last parameter."""

    async def answer(api: Api, token: Token, *values: Any) -> Response:
        rows = await api.read(token, lambda: api.snapshot.ask(lambda con: _rows(con, query, *values)))
        return as_json({"rows": rows})

    async def of_all(api: TheApi, token: TheToken, domain: DomainQuery = None, limit: Limit = 200) -> Response:
        return await answer(api, token, domain, limit)

    async def of_weeks(
        api: TheApi, token: TheToken, domain: DomainQuery = None, weeks: Weeks = 12, limit: Limit = 200
    ) -> Response:
        return await answer(api, token, domain, weeks, limit)

    analytics.add_api_route(
        f"/v1/analytics/{path}",
        of_weeks if "$3" in query else of_all,
        name=f"read_{path.replace('-', '_')}",
        description=about,
        response_model=Rows,
        dependencies=[needs(Scope.READ_ALL)],
    )


_named_query(
    "people",
    "Whose skills have most choices behind them.",
    """
    SELECT domain, user_id, version, contrasts AS choices, attributes AS lines, updated_at
    FROM skills WHERE domain = coalesce($1, domain) ORDER BY contrasts DESC, domain, user_id LIMIT $2
    """,
)
_named_query(
    "learning-curve",
    "Does it get better? Hit rates by how many choices somebody had made: the view `learning_curve`.",
    "FROM learning_curve WHERE domain = coalesce($1, domain) ORDER BY nth, domain LIMIT $2",
)
_named_query(
    "tier-flow",
    "How many lines moved from which tier to which: the view `tier_flow`, summed over weeks.",
    """
    WITH found AS (FROM tier_flow WHERE domain = coalesce($1, domain))
    SELECT domain, source, target, sum(value)::BIGINT AS value FROM found
    WHERE week > (SELECT max(week) FROM found) - to_weeks($2) GROUP BY ALL ORDER BY ALL LIMIT $3
    """,
)
_named_query(
    "adoption",
    "Which lines most people hold, by tier: the view `attribute_adoption`.",
    """
    FROM attribute_adoption WHERE domain = coalesce($1, domain) ORDER BY users DESC, domain, attribute_id LIMIT $2
    """,
)
_named_query(
    "costs",
    "What calls of models cost, week by week and by part.",
    """
    WITH found AS (
        SELECT date_trunc('week', occurred_at)::DATE AS week, * FROM llm_calls WHERE $1 IS NULL OR domain = $1
    )
    SELECT week, domain, part, sum(calls)::BIGINT AS calls,
           coalesce(sum(prompt_tokens), 0)::BIGINT AS prompt_tokens,
           coalesce(sum(completion_tokens), 0)::BIGINT AS completion_tokens,
           count(*) FILTER (fallback IS NOT NULL) AS fallbacks, sum(cost_dollars) AS cost_dollars
    FROM found WHERE week > (SELECT max(week) FROM found) - to_weeks($2) GROUP BY ALL ORDER BY ALL LIMIT $3
    """,
)
_named_query(
    "calibration",
    "Do rankings know when nothing suits? By domain and tenth: the view `calibration`.",
    "FROM calibration WHERE domain = coalesce($1, domain) ORDER BY domain, predicted_from LIMIT $2",
)
