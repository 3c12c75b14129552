"""What people change in their skills."""

from functools import partial
from typing import Any

from fastapi import Body, Response
from pydantic import Field

from schemas import Model, Refused, SkillDiff
from streams.http.answer import as_json
from streams.http.api import TheApi
from streams.http.auth import TheToken, needs
from streams.http.commands import command_of
from streams.http.params import UserPath
from streams.http.problems import Problem
from streams.http.strict import router as strict_router
from streams.http.tokens import Scope

router = strict_router("commands")


class Commanded(Model):
    """What became of a command."""

    event_id: str
    carried_out: bool = Field(description="False: accepted, and not carried out yet.")
    version: int | None = Field(default=None, description="The skill's version afterwards.")
    refused: tuple[Refused, ...] = Field(default=(), description="What had no room.")
    diff: SkillDiff | None = Field(default=None, description="Only for tokens that may read the user.")


@router.post(
    "/v1/users/{user}/commands",
    dependencies=[needs(Scope.CHANGE_USER)],
    response_model=Commanded,
    responses={
        202: {"model": Commanded, "description": "Accepted, but no worker has answered in time."},
        409: {"description": "Refused: no such line, already so, or private; `refused` says which."},
    },
)
async def command(api: TheApi, token: TheToken, user: UserPath, asked: dict[str, Any] = Body()) -> Response:  # noqa: B008
    """Changes a skill: what `sager policy` can do, in the name of the token."""
    making = partial(command_of, asked, user, token.name, api.snapshot.history)
    made = await api.read(token, making)
    diff = await api.change(token, user, partial(api.changes.carry_out, made))
    if diff is None:
        return as_json({"event_id": made.event_id, "carried_out": False}, 202)
    refused = [each.model_dump(mode="json") for each in diff.refused]
    if refused and not diff.changes:
        raise Problem(409, "the command was refused", event_id=made.event_id, refused=refused)
    told = {"event_id": made.event_id, "carried_out": True, "version": diff.version, "refused": refused}
    return as_json({**told, **what_changed(diff, token.may_read(user))})


def what_changed(diff: SkillDiff, may_read: bool) -> dict[str, Any]:
    """The diff, if the token may read the user: a skill's first diff has all its initial lines."""
    return {"diff": diff.model_dump(mode="json")} if may_read else {}
