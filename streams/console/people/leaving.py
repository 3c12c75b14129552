"""What a person may have at any time: everything held about them to take along, and to be forgotten."""

import os
import uuid
from datetime import UTC, datetime
from functools import partial

from pydantic import ValidationError
from starlette.responses import Response, StreamingResponse

from streams.console.people.changing import LATER
from streams.console.people.lines import LINE
from streams.console.people.pages import PEOPLE, UNDER
from streams.console.visit import Visit, parsed
from streams.http.problems import Problem, not_valid
from streams.http.rights import ZIP, chunks, exported
from streams.http.tokens import Scope
from streams.rights.preview import forget_request, goes

NO_MATCH = "What was typed is not the id of the person. Nothing was forgotten."


@PEOPLE.get("/export", needs=[Scope.READ_USER], under=UNDER)
async def export(visit: Visit) -> Response:
    """Everything held about a person, as a zip file: the folder of `sager policy export`."""
    user = visit.demands(Scope.READ_USER, visit.user())
    file = await visit.api.search(visit.token, partial(exported, visit.api.settings, user))
    if file is None:
        raise Problem(404, "nothing is held about this person")
    size = file.seek(0, os.SEEK_END)
    named = {"Content-Disposition": 'attachment; filename="sager-export.zip"', "Content-Length": str(size)}
    return StreamingResponse(chunks(file), headers=named, media_type=ZIP)


@PEOPLE.get("/forget", needs=[Scope.FORGET_USER], under=UNDER)
async def preview(visit: Visit) -> Response:
    """What forgetting a person, a domain or a line would reach; nothing is forgotten."""
    return await _preview(visit, visit.query)


@PEOPLE.post("/forget", needs=[Scope.FORGET_USER])
async def forget(visit: Visit) -> Response:
    """Forgets, once the person's id was typed."""
    user, domain, line = _what(visit, visit.form)
    if visit.form.get("typed", "").strip() != user:
        return await _preview(visit, visit.form, NO_MATCH)
    try:
        request = forget_request(user, domain, line, visit.token.name, uuid.uuid4().hex, datetime.now(UTC))
    except ValidationError as error:
        raise not_valid(error) from None
    receipt = await visit.change(user, partial(visit.api.changes.forget, request))
    said = LATER if receipt is None else "Forgotten. A receipt without the name proves it."
    kind = "wait" if receipt is None else "good"
    if domain is not None and visit.token.may_read(user):
        return visit.go("/person", said, kind, user=user, domain=domain if line is not None else None)
    return visit.go("/people", said, kind)


async def _preview(visit: Visit, values: dict[str, str], wrong: str = "") -> Response:
    user, domain, line = _what(visit, values)
    found = await visit.api.search(visit.token, partial(goes, visit.api.settings, user, domain, line))
    return visit.page(
        "people/forget.html", 422 if wrong else 200, user=user, domain=domain, line=line, found=found, wrong=wrong
    )


def _what(visit: Visit, values: dict[str, str]) -> tuple[str, str | None, str | None]:
    """Whom, in which domain, and which line of it; None: all."""
    user = visit.demands(Scope.FORGET_USER, visit.user(values))
    domain = visit.domain(values) if "domain" in values else None
    line = parsed(LINE, values["line"], "line") if "line" in values else None
    if line is not None and domain is None:
        raise Problem(400, "a line needs its domain")
    return user, domain, line
