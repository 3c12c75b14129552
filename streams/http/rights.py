"""Routes of a person's rights: export and erasure."""

import os
import tempfile
from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any, BinaryIO, Self

from fastapi import Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field, model_validator

from schemas import DomainField, Receipt, UserIdField
from streams.http.api import ApiParam
from streams.http.problems import Problem
from streams.http.routing import MAX_ID_CHARS, Body, TokenParam, UserPath, json_response, require, router
from streams.http.tokens import Scope
from streams.rights import exporting
from streams.rights.previews import StoreErasure, preview_erasure
from streams.settings import Settings

GZIP = "application/gzip"
_FILE: dict[str, Any] = {"content": {GZIP: {"schema": {"type": "string", "format": "binary"}}}}

routes = router("rights")


class ErasureBody(Body):
    """The data to erase: everything, a domain, or one line."""

    everything: bool = Field(default=False, strict=True, description="The whole person, in every domain.")
    domain: DomainField | None = None
    line: Annotated[str, Field(min_length=1, max_length=MAX_ID_CHARS)] | None = None
    confirm: UserIdField | None = Field(
        default=None, description="The user's id, to carry it out. Without it the response is a preview."
    )

    @model_validator(mode="after")
    def _names_its_target(self) -> Self:
        if self.everything is (self.domain is not None):
            raise ValueError("send either `everything`: true, or a domain")
        if self.line is not None and self.domain is None:
            raise ValueError("a line needs its domain")
        return self


class ErasurePreview(BaseModel):
    """The records that an erasure would reach."""

    known: bool = Field(description="True if any data of this user exists.")
    domains: list[str] = Field(description="The domains with data.")
    goes: list[StoreErasure]
    unread: list[str] = Field(description="Topics that could not be counted.")


class ErasureOutcome(BaseModel):
    """The outcome of an erasure; its receipt names no one."""

    event_id: str
    carried_out: bool
    receipt: Receipt | None = None


@routes.get(
    "/v1/users/{user}/export", dependencies=[require(Scope.READ_USER)],
    response_class=StreamingResponse, responses={200: {**_FILE, "description": "The export."}},
)  # fmt: skip
async def export_user(api: ApiParam, token: TokenParam, user: UserPath) -> Response:
    """Export all data of a user as gzipped JSON lines.

    It reads whole topics, which takes minutes in a large deployment.
    """
    file = await api.search(token, partial(_export_to_file, api.settings, user))
    if file is None:
        raise Problem(404, "there is no data of this user")
    size = file.seek(0, os.SEEK_END)
    headers = {"Content-Disposition": 'attachment; filename="sager-export.jsonl.gz"', "Content-Length": str(size)}
    return StreamingResponse(_chunks(file), headers=headers, media_type=GZIP)


@routes.post(
    "/v1/users/{user}/forget",
    dependencies=[require(Scope.FORGET_USER)], response_model=ErasurePreview | ErasureOutcome,
    responses={202: {"model": ErasureOutcome, "description": "Accepted, but no worker has answered in time."}},
)  # fmt: skip
async def forget_user(api: ApiParam, token: TokenParam, user: UserPath, body: ErasureBody) -> Response:
    """Erase a person, a domain or a line, for good.

    Without `confirm` the response is a preview by store. With the user's id in `confirm` it is the receipt.
    """
    if body.confirm is None:
        found = await api.search(token, partial(preview_erasure, api.settings, user, body.domain, body.line))
        inventory = found.inventory
        more = {"domains": inventory.domains, "unread": inventory.unread}
        return json_response(ErasurePreview(known=inventory.is_known, goes=found.stores, **more))
    if body.confirm != user:
        raise Problem(409, "`confirm` is not the id of this user: nothing was done")
    request, receipt = await api.forget(token, user, body.domain, body.line)
    done = ErasureOutcome(event_id=request.event_id, carried_out=receipt is not None, receipt=receipt)
    return json_response(done, 202 if receipt is None else 200)


def _export_to_file(settings: Settings, user: str) -> BinaryIO | None:
    """Return an unnamed file with the user's data, if any. Blocks."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - `_chunks` closes it
    done = exporting.export(settings, user, file)
    return file if done.topics or done.tables else None


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    with file:
        file.seek(0)
        while chunk := file.read(256 * 1024):
            yield chunk
