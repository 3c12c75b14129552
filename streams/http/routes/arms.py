"""Arms side by side: how users of different arms choose."""

from datetime import date
from typing import Annotated, Any

from duckdb import DuckDBPyConnection
from fastapi import Query, Response
from pydantic import BaseModel

from streams.http.answer import as_json
from streams.http.api import TheApi
from streams.http.auth import TheToken, needs
from streams.http.params import DomainQuery, Whole
from streams.http.strict import router as strict_router
from streams.http.tokens import Scope

WEEKS, MOST_WEEKS = 12, 520

router = strict_router("operation")


class ArmWeek(BaseModel):
    """A week of one arm in one domain; the view `arm_results`."""

    week: date
    domain: str
    arm: str | None
    users: int
    choices: int
    hit_at_1: float
    hit_at_3: float
    hit_at_5: float
    ndcg_at_3: float
    ndcg_at_5: float
    mean_reciprocal_rank: float


class Arms(BaseModel):
    """Arms side by side. `arms` are comparable only if users were assigned at random."""

    arms: list[ArmWeek]


@router.get("/v1/arms", dependencies=[needs(Scope.OPERATE, Scope.READ_ALL)], response_model=Arms)
async def read_arms(
    api: TheApi,
    token: TheToken,
    domain: DomainQuery = None,
    weeks: Annotated[Whole, Query(ge=1, le=MOST_WEEKS, description="How many weeks, up to the newest.")] = WEEKS,
) -> Response:
    """Arms side by side, week by week: how high the chosen items stood."""

    def read(con: DuckDBPyConnection) -> Arms:
        return Arms(arms=[ArmWeek(**each) for each in _rows(con, "arm_results", domain, weeks)])

    found = await api.read(token, lambda: api.snapshot.ask(read))
    return as_json(found.model_dump(mode="json"))


def _rows(con: DuckDBPyConnection, view: str, domain: str | None, weeks: int) -> list[dict[str, Any]]:
    query = (
        f"WITH v AS (FROM {view} WHERE domain = coalesce($1, domain)) FROM v "  # noqa: S608 - our own names  # nosec B608
        "WHERE week > (SELECT max(week) FROM v) - to_weeks($2) ORDER BY week, domain, arm"
    )
    found = con.execute(query, [domain, weeks])
    names = [column for column, *_ in found.description or ()]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
