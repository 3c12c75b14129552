"""What a person may have: everything held about them, taken along, or forgotten."""

import hashlib
import os
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Any, Literal, Self

from fastapi import Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from schemas import ForgetRequest, Receipt
from schemas.fields import DomainField
from streams.http.answer import as_json
from streams.http.api import Api, TheApi
from streams.http.auth import TheToken, needs
from streams.http.confirmations import Confirmed, canonical
from streams.http.folders import ZIP, chunks, exported, imported
from streams.http.params import DomainQuery, UserPath
from streams.http.problems import Problem, not_valid
from streams.http.routes.lines import MAX_ID_CHARS
from streams.http.strict import router as strict_router
from streams.http.tokens import Scope
from streams.rights import portable
from streams.rights.preview import Comes, Goes, comes, forget_request, goes

MAX_CONFIRMATION_CHARS = 100

router = strict_router("rights")

_ZIP_BODY: dict[str, Any] = {
    "requestBody": {"required": True, "content": {ZIP: {"schema": {"type": "string", "format": "binary"}}}}
}
_ZIP_ANSWER: dict[int | str, dict[str, Any]] = {
    200: {"content": {ZIP: {"schema": {"type": "string", "format": "binary"}}}, "description": "The export."}
}
Text = Annotated[str, Field(max_length=MAX_CONFIRMATION_CHARS)]


class ForgetAsked(BaseModel):
    """What is to be forgotten: everything, a domain, or a line of a domain by its id."""

    model_config = ConfigDict(extra="forbid")

    everything: bool = Field(default=False, strict=True, description="The whole person, in every domain.")
    domain: DomainField | None = None
    line: Annotated[str, Field(min_length=1, max_length=MAX_ID_CHARS)] | None = None
    confirmation: Text | None = Field(default=None, description="That of the preview, to have it carried out.")

    @model_validator(mode="after")
    def _says_what(self) -> Self:
        if self.everything is (self.domain is not None):
            raise ValueError("say `everything`: true, or a domain, and not both")
        if self.line is not None and self.domain is None:
            raise ValueError("a line needs its domain")
        return self


class StoreGoes(BaseModel):
    """How many records a store holds of it, and what happens to them."""

    store: str
    records: int
    fate: str


class ForgetPreview(BaseModel):
    """What forgetting would reach. Nothing was forgotten."""

    known: bool = Field(description="Whether anything is held about this user.")
    domains: list[str] = Field(description="The domains in which anything is held.")
    goes: list[StoreGoes]
    unread: list[str] = Field(description="Topics that could not be counted.")
    confirmation: str
    expires_at: datetime


class Forgotten(BaseModel):
    """A request to forget; it is carried out if there is a receipt, which holds no name."""

    event_id: str
    carried_out: bool
    receipt: Receipt | None = None


class SkillComes(BaseModel):
    """A skill of an export; `replaces`: how many lines the skill that is there has, if there is one."""

    domain: str
    lines: int
    statements: int
    replaces: int | None


class ImportPreview(BaseModel):
    """What importing would bring. Nothing was sent."""

    exported_from: str = Field(description="The user's id in the export.")
    comes: list[SkillComes]
    interactions: int
    confirmation: str
    expires_at: datetime


class SkillCame(BaseModel):
    """The version that an imported skill became; None: no worker has carried it out in time, and one will."""

    domain: str
    version: int | None
    lines_in: int
    lines_out: int
    refused: int


class ImportDone(BaseModel):
    """What was imported."""

    carried_out: bool
    interactions: int
    statements: int
    skills: list[SkillCame]


@router.get(
    "/v1/users/{user}/export",
    dependencies=[needs(Scope.READ_USER)],
    response_class=StreamingResponse,
    responses=_ZIP_ANSWER,
)
async def export_user(api: TheApi, token: TheToken, user: UserPath) -> Response:
    """Exports everything held about a user: the folder of `sager policy export`, as a zip file.

    It reads whole topics, and may take minutes in a large deployment.
    """
    file = await api.search(token, partial(exported, api.settings, user))
    if file is None:
        raise Problem(404, "nothing is held about this user")
    size = file.seek(0, os.SEEK_END)
    named = {"Content-Disposition": 'attachment; filename="sager-export.zip"', "Content-Length": str(size)}
    return StreamingResponse(chunks(file), headers=named, media_type=ZIP)


@router.post(
    "/v1/users/{user}/forget",
    dependencies=[needs(Scope.FORGET_USER)],
    response_model=ForgetPreview | Forgotten,
    responses={202: {"model": Forgotten, "description": "Asked for; no worker has done it yet."}},
)
async def forget_user(api: TheApi, token: TheToken, user: UserPath, asked: ForgetAsked) -> Response:
    """Forgets a person, a domain or a line, in two steps.

    Without `confirmation`: a preview of what goes, with a confirmation. With it, the same request is carried out, and
    answered with the receipt. There is no way back.
    """
    what, about = f"forget {user}", canonical(asked.model_dump(mode="json", exclude={"confirmation"}))
    if asked.confirmation is None:
        found = await api.search(token, partial(goes, api.settings, user, asked.domain, asked.line))
        return as_json({**_previewed(found), **api.confirmations.make(token, what, about).told})
    confirmed = api.confirmations.check(asked.confirmation, token, what, about)
    if (before := api.confirmations.answer_of(confirmed)) is not None:
        return as_json(before)
    request = _request(asked, user, token.name, confirmed)
    receipt = await api.change(token, user, partial(api.changes.forget, request))
    if receipt is None:
        return as_json({"event_id": request.event_id, "carried_out": False}, 202)
    told = {"event_id": request.event_id, "carried_out": True, "receipt": receipt.model_dump(mode="json")}
    api.confirmations.remember(confirmed, told)
    return as_json(told)


@router.post(
    "/v1/users/{user}/import",
    dependencies=[needs(Scope.CHANGE_USER)],
    response_model=ImportPreview | ImportDone,
    responses={202: {"model": ImportDone, "description": "Sent; no worker has carried all of it out yet."}},
    openapi_extra=_ZIP_BODY,
)
async def import_user(
    request: Request,
    api: TheApi,
    token: TheToken,
    user: UserPath,
    domain: DomainQuery = None,
    interactions: Annotated[Literal["true", "false"], Query(description="Past interactions are sent too.")] = "false",
    reason: Annotated[str, Query(max_length=300, description="Why, for the log.")] = "",
    confirmation: Annotated[
        str | None, Query(max_length=MAX_CONFIRMATION_CHARS, description="That of the preview.")
    ] = None,
) -> Response:
    """Imports an export, a zip file, in two steps.

    Without `confirmation`: a preview of what comes and what it replaces, with a confirmation. With it, the same request
    is carried out. `interactions`: send the past interactions too.
    """
    if request.headers.get("content-type") != ZIP:
        raise Problem(415, f"send `Content-Type: {ZIP}`: what /export answered", {"Accept": ZIP})
    body, with_past = await request.body(), interactions == "true"
    what = f"import {user}"
    about = canonical([domain, with_past, reason, hashlib.sha256(body).hexdigest()])
    if confirmation is None:
        user_id, found = await api.search(token, partial(_coming, api, body, user, domain, with_past))
        told = {
            "exported_from": user_id,
            "comes": [vars(each) for each in found.skills],
            "interactions": found.interactions,
        }
        return as_json({**told, **api.confirmations.make(token, what, about).told})
    confirmed = api.confirmations.check(confirmation, token, what, about)
    if (before := api.confirmations.answer_of(confirmed)) is not None:
        return as_json(before)
    order = portable.Order(token.name, reason, confirmed.at, confirmed.name)
    done = await api.change(token, user, partial(_take_in, api, body, user, order, domain, with_past))
    if done["carried_out"]:
        api.confirmations.remember(confirmed, done)
    return as_json(done, 200 if done["carried_out"] else 202)


def _previewed(found: Goes) -> dict[str, Any]:
    return {
        "known": found.held.is_known,
        "domains": found.held.domains,
        "goes": [vars(each) for each in found.stores],
        "unread": found.held.unread,
    }


def _request(asked: ForgetAsked, user: str, actor: str, confirmed: Confirmed) -> ForgetRequest:
    try:
        return forget_request(user, asked.domain, asked.line, actor, confirmed.name(), confirmed.at)
    except ValidationError as error:
        raise not_valid(error) from None


def _coming(api: Api, body: bytes, user: str, domain: str | None, with_past: bool) -> tuple[str, Comes]:
    with imported(body) as bundle:
        found = comes(api.settings, bundle, user, datetime.now(UTC), domain=domain, interactions=with_past)
        return bundle.manifest.user_id, found


def _take_in(
    api: Api, body: bytes, user: str, order: portable.Order, domain: str | None, with_past: bool
) -> dict[str, Any]:
    with imported(body) as bundle:
        done = api.changes.take_in(bundle, user, order, domain=domain, interactions=with_past)
    skills = []
    for name, diff in done.diffs.items():
        changes = () if diff is None else diff.changes
        came = sum(change.after is not None for change in changes)
        skills.append(
            {
                "domain": name,
                "version": None if diff is None else diff.version,
                "lines_in": came,
                "lines_out": len(changes) - came,
                "refused": 0 if diff is None else len(diff.refused),
            }
        )
    return {
        "carried_out": None not in done.diffs.values(),
        "interactions": done.interactions,
        "statements": done.statements,
        "skills": skills,
    }
