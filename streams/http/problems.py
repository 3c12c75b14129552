"""Errors as problem details (RFC 9457): a status, a title and what to do; never a traceback, an id or a secret."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import orjson
from pydantic import ValidationError
from starlette.responses import Response

from streams.http.exceptions import RateLimited, Unauthorized
from streams.http.names import names
from streams.http.refusals import Refusal

CONTENT_TYPE = "application/problem+json"
MAX_ERRORS = 5
_TEXTS = {
    # Pydantic's own would quote what was sent.
    "unknown_version": "the schema_version is not one that this release knows",
    "off_the_scale": "the rating must lie on its scale",
}

FieldError = dict[str, str]
"""What is wrong with a field: `field`, its path, and `what`. Values and names that are not ours are never quoted."""


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

    def response(self) -> Response:
        """The HTTP response."""
        return Response(orjson.dumps(self.body), self.status, {**self.headers, "Content-Type": CONTENT_TYPE})


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
    return of_fields(plain_errors(error))


def plain_errors(error: ValidationError) -> Sequence[Mapping[str, Any]]:
    """Pydantic's errors without what was sent."""
    return error.errors(include_url=False, include_context=False, include_input=False)


def of_fields(errors: Sequence[Mapping[str, Any]], *, skipped: int = 0) -> Problem:
    """The response to an invalid request, from pydantic's errors.

    Args:
        errors: of which only places and messages are told.
        skipped: how many parts at the beginning of a place are not the request's own, as FastAPI's "body".
    """
    return Problem(422, "some fields are invalid", errors=fields_of(errors, skipped=skipped))


def fields_of(errors: Sequence[Mapping[str, Any]], *, skipped: int = 0, whole: str = "") -> tuple[FieldError, ...]:
    """Which fields are wrong and why, of at most five.

    Args:
        errors: pydantic's.
        skipped: see `of_fields`.
        whole: the field of what is wrong with all of it.
    """
    return tuple(
        {"field": place(each["loc"][skipped:]) or whole, "what": _TEXTS.get(each["type"], each["msg"])}
        for each in errors[:MAX_ERRORS]
    )


def place(path: tuple[int | str, ...]) -> str:
    """The path of an invalid field; a name that is not ours is left out."""
    known = names()
    return ".".join(str(part) if isinstance(part, int) or part in known else "?" for part in path)


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
