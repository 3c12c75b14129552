"""How the deployment is, for operators."""

from fastapi import Response
from pydantic import Field

from schemas import Model
from streams.http.answer import as_json
from streams.http.api import TheApi
from streams.http.auth import TheToken, needs
from streams.http.strict import router as strict_router
from streams.http.tokens import Scope

router = strict_router("operation")


class SnapshotAge(Model):
    """The newest snapshot."""

    published_at: str | None = Field(description="When it was published; none: it does not say.")
    newest_record_at: str | None = Field(description="The time of its newest record.")
    records: int = Field(description="How many it holds.")


class Status(Model):
    """How the deployment is."""

    prefix: str = Field(description="The prefix of its topics.")
    snapshot: SnapshotAge


@router.get("/v1/status", dependencies=[needs(Scope.OPERATE)], response_model=Status)
async def status(api: TheApi, token: TheToken) -> Response:
    """The deployment's prefix, and how old the snapshot is."""
    found = await api.read(token, api.snapshot.status)
    return as_json({"prefix": api.settings.prefix, "snapshot": found})
