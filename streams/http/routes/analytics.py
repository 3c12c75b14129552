"""Named queries over the newest snapshot, for dashboards: what was learned, over everybody.

No SQL is taken over HTTP: read-only settings stop neither a function that sleeps nor one that fills the memory.
"""

from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Annotated, Any, TypeVar

from duckdb import DuckDBPyConnection
from fastapi import Query, Response
from pydantic import AfterValidator, BaseModel

from streams.http.answer import as_json
from streams.http.api import Api, TheApi
from streams.http.auth import TheToken, needs
from streams.http.params import DomainQuery, Whole
from streams.http.strict import router as strict_router
from streams.http.tokens import Scope, Token

ROWS, MOST_ROWS = 200, 1_000
WEEKS, MOST_WEEKS = 12, 520

router = strict_router("analytics")
_READS = needs(Scope.READ_ALL)
_Row = TypeVar("_Row", bound=BaseModel)

Utc = Annotated[datetime, AfterValidator(lambda moment: moment.replace(tzinfo=UTC))]
"""The snapshot's times have no zone."""
Limit = Annotated[Whole, Query(ge=1, le=MOST_ROWS, description="At most so many rows.")]
Weeks = Annotated[Whole, Query(ge=1, le=MOST_WEEKS, description="How many weeks, up to the newest.")]


class Person(BaseModel):
    """A skill of somebody, and how much went into it."""

    domain: str
    user_id: str
    version: int
    choices: int
    lines: int
    updated_at: Utc


class People(BaseModel):
    """Skills, those with most choices first."""

    rows: list[Person]


class CurvePoint(BaseModel):
    """How people's nth choices came out; the view `learning_curve`."""

    domain: str
    nth: int
    users: int
    hit_at_1: float
    hit_at_3: float
    hit_at_5: float
    ndcg_at_5: float
    mean_reciprocal_rank: float


class Curve(BaseModel):
    """The learning curve, by domain and choice."""

    rows: list[CurvePoint]


class Flow(BaseModel):
    """How many lines went from one tier to another; the view `tier_flow`, summed over weeks."""

    domain: str
    source: str
    target: str
    value: int


class Flows(BaseModel):
    """Flows between tiers, ready for a Sankey diagram."""

    rows: list[Flow]


class Adopted(BaseModel):
    """How many skills hold a line, by tier; the view `attribute_adoption`."""

    domain: str
    attribute_id: str
    kind: str
    dimension: str
    value: str
    users: int
    high: int
    medium: int
    low: int
    discovered: int
    share: float


class Adoption(BaseModel):
    """Lines, the most widely held first."""

    rows: list[Adopted]


class Cost(BaseModel):
    """What a week's calls of models cost, by the part that made them; the view `llm_calls`."""

    week: date
    domain: str | None
    part: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    fallbacks: int
    cost_dollars: float | None


class Costs(BaseModel):
    """Costs week by week."""

    rows: list[Cost]


class Sure(BaseModel):
    """How probable rankings said that nothing suits, and how often nothing was taken; the view `calibration`."""

    domain: str
    predicted_from: float
    rankings: int
    predicted: float
    happened: float
    error: float | None


class Calibration(BaseModel):
    """Calibration, by domain and tenth."""

    rows: list[Sure]


@router.get("/v1/analytics/people", dependencies=[_READS], response_model=People)
async def read_people(api: TheApi, token: TheToken, domain: DomainQuery = None, limit: Limit = ROWS) -> Response:
    """Whose skills have most choices behind them."""
    return await _answer(api, token, Person, _PEOPLE, domain, limit)


@router.get("/v1/analytics/learning-curve", dependencies=[_READS], response_model=Curve)
async def read_learning_curve(
    api: TheApi, token: TheToken, domain: DomainQuery = None, limit: Limit = ROWS
) -> Response:
    """Does it get better? Hit rates by how many choices somebody had made."""
    return await _answer(api, token, CurvePoint, _CURVE, domain, limit)


@router.get("/v1/analytics/tier-flow", dependencies=[_READS], response_model=Flows)
async def read_tier_flow(
    api: TheApi, token: TheToken, domain: DomainQuery = None, weeks: Weeks = WEEKS, limit: Limit = ROWS
) -> Response:
    """How many lines moved from which tier to which."""
    return await _answer(api, token, Flow, _FLOW, domain, weeks, limit)


@router.get("/v1/analytics/adoption", dependencies=[_READS], response_model=Adoption)
async def read_adoption(api: TheApi, token: TheToken, domain: DomainQuery = None, limit: Limit = ROWS) -> Response:
    """Which lines most people hold."""
    return await _answer(api, token, Adopted, _ADOPTION, domain, limit)


@router.get("/v1/analytics/costs", dependencies=[_READS], response_model=Costs)
async def read_costs(
    api: TheApi, token: TheToken, domain: DomainQuery = None, weeks: Weeks = WEEKS, limit: Limit = ROWS
) -> Response:
    """What calls of models cost, week by week."""
    return await _answer(api, token, Cost, _COSTS, domain, weeks, limit)


@router.get("/v1/analytics/calibration", dependencies=[_READS], response_model=Calibration)
async def read_calibration(api: TheApi, token: TheToken, domain: DomainQuery = None, limit: Limit = ROWS) -> Response:
    """Do rankings know when nothing suits?"""
    return await _answer(api, token, Sure, _CALIBRATION, domain, limit)


async def _answer(api: Api, token: Token, kind: type[_Row], query: str, *values: str | int | None) -> Response:
    found = await api.read(token, lambda: api.snapshot.ask(_rows(kind, query, values)))
    return as_json({"rows": found})


def _rows(
    kind: type[_Row], query: str, values: tuple[str | int | None, ...]
) -> Callable[[DuckDBPyConnection], list[dict[str, Any]]]:
    def read(con: DuckDBPyConnection) -> list[dict[str, Any]]:
        found = con.execute(query, list(values)).fetchall()
        names = list(kind.model_fields)
        return [kind(**dict(zip(names, row, strict=True))).model_dump(mode="json") for row in found]

    return read


_PEOPLE = """
    SELECT domain, user_id, version, contrasts, attributes, updated_at FROM skills
    WHERE domain = coalesce($1, domain) ORDER BY contrasts DESC, domain, user_id LIMIT $2
"""
_CURVE = """
    SELECT domain, nth, users, hit_at_1, hit_at_3, hit_at_5, ndcg_at_5, mean_reciprocal_rank
    FROM learning_curve WHERE domain = coalesce($1, domain) ORDER BY nth, domain LIMIT $2
"""
_FLOW = """
    WITH found AS (FROM tier_flow WHERE domain = coalesce($1, domain))
    SELECT domain, source, target, sum(value)::BIGINT FROM found
    WHERE week > (SELECT max(week) FROM found) - to_weeks($2) GROUP BY ALL ORDER BY ALL LIMIT $3
"""
_ADOPTION = """
    SELECT domain, attribute_id, kind, dimension, value, users, high, medium, low, discovered, share
    FROM attribute_adoption WHERE domain = coalesce($1, domain) ORDER BY users DESC, domain, attribute_id LIMIT $2
"""
_COSTS = """
    WITH found AS (
        SELECT date_trunc('week', occurred_at)::DATE AS week, * FROM llm_calls WHERE $1 IS NULL OR domain = $1
    )
    SELECT week, domain, part, sum(calls)::BIGINT, coalesce(sum(prompt_tokens), 0)::BIGINT,
           coalesce(sum(completion_tokens), 0)::BIGINT, count(*) FILTER (fallback IS NOT NULL), sum(cost_dollars)
    FROM found WHERE week > (SELECT max(week) FROM found) - to_weeks($2) GROUP BY ALL ORDER BY ALL LIMIT $3
"""
_CALIBRATION = """
    SELECT domain, predicted_from, rankings, predicted, happened, error
    FROM calibration WHERE domain = coalesce($1, domain) ORDER BY domain, predicted_from LIMIT $2
"""
