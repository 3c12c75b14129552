"""Errors as problem details (RFC 9457): a status, a title and what to do; never a traceback, an id or a secret."""

from http import HTTPStatus
from typing import Any

import orjson
from aiohttp import web
from pydantic import ValidationError

from schemas import SkillCommand, Stated
from streams.http.exceptions import RateLimited, Unauthorized
from streams.http.refusals import Refusal

CONTENT_TYPE = "application/problem+json"
NAMES = frozenset(SkillCommand.model_fields) | frozenset(Stated.model_fields) | {"after", "limit", "last", "user"}
"""Names of fields that a problem may say."""


class Problem(Exception):
    """An error response.

    Args:
        status: the HTTP status.
        detail: what is wrong, and what to do.
        headers: additional headers.
        more: additional members of the problem.
    """

    def __init__(self, status: int, detail: str, headers: dict[str, str] | None = None, **more: Any) -> None:
        super().__init__(detail)
        self.status, self.headers, self.more = status, headers or {}, more

    @property
    def body(self) -> dict[str, Any]:
        """The members; the title is the status's standard phrase."""
        title = HTTPStatus(self.status).phrase
        return {"type": "about:blank", "title": title, "status": self.status, "detail": str(self), **self.more}

    def response(self) -> web.Response:
        """The HTTP response."""
        return web.Response(
            status=self.status, body=orjson.dumps(self.body), content_type=CONTENT_TYPE, headers=self.headers
        )


def refused(refusal: Refusal) -> Problem:
    """The response to a request that the application did not get to see; the connection is closed after it."""
    more = {"Accept-Encoding": "identity"} if refusal.status == HTTPStatus.UNSUPPORTED_MEDIA_TYPE else {}
    return Problem(refusal.status, refusal.detail, {"Connection": "close", **more})


def rate_limited(why: RateLimited) -> Problem:
    """The response to a request over the rate limit."""
    return Problem(429, f"too many requests: try again in {why.retry_after} s", {"Retry-After": why.retry_after})


def unauthorized(why: Unauthorized) -> Problem:
    """The response to a request without a valid token; it does not say whether the token has expired."""
    return Problem(
        401,
        "send a valid token: `Authorization: Bearer sager_...`. `sager token new` creates one",
        {"WWW-Authenticate": "Bearer" if why.reason == "missing" else 'Bearer error="invalid_token"'},
    )


def not_valid(error: ValidationError) -> Problem:
    """The response to an invalid request: which fields are wrong and why, never their values."""
    told = error.errors(include_url=False, include_context=False, include_input=False)
    wrong = [{"field": _place(each["loc"]), "what": each["msg"]} for each in told[:5]]
    return Problem(422, "some fields are invalid", errors=wrong)


def _place(path: tuple[int | str, ...]) -> str:
    """The path of an invalid field; a name that is not ours is left out."""
    return ".".join(str(part) if isinstance(part, int) or part in NAMES else "?" for part in path)


def _raw(problem: Problem) -> bytes:
    """A response for a connection that no server protocol sees."""
    body = orjson.dumps(problem.body)
    headers = {
        "Content-Type": CONTENT_TYPE,
        "Content-Length": str(len(body)),
        "Cache-Control": "no-store",
        "Connection": "close",
        **problem.headers,
    }
    lines = [f"HTTP/1.1 {problem.status} {problem.body['title']}", *(f"{k}: {v}" for k, v in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body


BUSY = _raw(Problem(503, "too many connections: try again", {"Retry-After": "5"}))
"""The response to a connection that there is no room for."""
