"""For operators and dashboards: the snapshot's age, the request's token, arms side by side, named queries."""

from datetime import datetime
from typing import Annotated, Any

from duckdb import DuckDBPyConnection
from fastapi import Query, Response
from pydantic import Field

from schemas import Model
from streams.http.api import Api, TheApi
from streams.http.routing import DomainQuery, TheToken, Weeks, as_json, needs, router
from streams.http.tokens import Scope, Token

routes, analytics = router("operation"), router("analytics")


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


@routes.get("/v1/status", dependencies=[needs(Scope.OPERATE)])
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


class Rows(Model):
    """The rows of a named query."""

    rows: list[dict[str, Cell]]


class Arms(Model):
    """Arms side by side. `arms` are comparable only if users were assigned at random."""

    arms: list[dict[str, Cell]]


def _rows(con: DuckDBPyConnection, query: str, *values: Any) -> list[dict[str, Any]]:
    """Return the rows of a query of ours: $1 is a domain or None, and `recent` bounds the weeks of `found`."""
    found = con.execute(query, values)
    names = [name for name, *_ in found.description or ()]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


_ARMS = """
    WITH found AS (FROM arm_results WHERE domain = coalesce($1, domain))
    FROM found WHERE week > (SELECT max(week) FROM found) - to_weeks($2) ORDER BY week, domain, arm
"""


@routes.get("/v1/arms", dependencies=[needs(Scope.OPERATE, Scope.READ_ALL)], response_model=Arms)
async def read_arms(api: TheApi, token: TheToken, domain: DomainQuery = None, weeks: Weeks = 12) -> Response:
    """Arms side by side, week by week: how high the chosen items stood; the view `arm_results`."""
    rows = await api.read(token, lambda: api.snapshot.ask(lambda con: _rows(con, _ARMS, domain, weeks)))
    return as_json({"arms": rows})


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
