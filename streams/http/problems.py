"""Errors as problem details (RFC 9457): a status, a title and what to do; never a traceback, an id or a secret."""

from http import HTTPStatus
from typing import Any

import orjson
from aiohttp import web
from pydantic import ValidationError

from streams.http.exceptions import RateLimited, Unauthorized

CONTENT_TYPE = "application/problem+json"


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

    def response(self) -> web.Response:
        """The HTTP response; its title is the status's standard phrase."""
        title = HTTPStatus(self.status).phrase
        body = {"type": "about:blank", "title": title, "status": self.status, "detail": str(self), **self.more}
        return web.Response(
            status=self.status, body=orjson.dumps(body), content_type=CONTENT_TYPE, headers=self.headers
        )


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
    wrong = [{"field": ".".join(map(str, each["loc"])), "what": each["msg"]} for each in told[:5]]
    return Problem(422, "some fields are invalid", errors=wrong)
