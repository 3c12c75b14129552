"""Errors as RFC 9457 has them: JSON with a status, a title and what to do; never a traceback, an id or a secret."""

from typing import Any

import orjson
from aiohttp import web
from pydantic import ValidationError

from streams.http.exceptions import NotLetIn

CONTENT_TYPE = "application/problem+json"
TITLES = {
    400: "Bad request",
    401: "No good token",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    409: "Refused",
    413: "Too large",
    422: "Not valid",
    429: "Too many requests",
    500: "Our fault",
    503: "Not at the moment",
}


class Problem(Exception):
    """A request that is not done, and what the client is told of it.

    Args:
        status: HTTP's.
        detail: what is wrong, and what to do.
        headers: of the answer.
        more: members of the answer besides.
    """

    def __init__(self, status: int, detail: str, headers: dict[str, str] | None = None, **more: Any) -> None:
        super().__init__(detail)
        self.status, self.headers, self.more = status, headers or {}, more

    def response(self) -> web.Response:
        """The answer."""
        title = TITLES.get(self.status, "Not done")
        body = {"type": "about:blank", "title": title, "status": self.status, "detail": str(self), **self.more}
        return web.Response(
            status=self.status, body=orjson.dumps(body), content_type=CONTENT_TYPE, headers=self.headers
        )


def not_let_in(why: NotLetIn) -> Problem:
    """What somebody is told who does not get past the gate; whether a token is expired or never was is not said."""
    if why.retry_seconds:
        seconds = str(int(why.retry_seconds) + 1)
        return Problem(429, f"too many requests: try again in {seconds} s", {"Retry-After": seconds})
    return Problem(
        401,
        "send a token that is good: `Authorization: Bearer sager_...`. `sager token new` makes one",
        {"WWW-Authenticate": "Bearer" if why.reason == "missing" else 'Bearer error="invalid_token"'},
    )


def not_valid(error: ValidationError) -> Problem:
    """What is wrong with which field; never what stood there."""
    told = error.errors(include_url=False, include_context=False, include_input=False)
    wrong = [{"field": ".".join(map(str, each["loc"])), "what": each["msg"]} for each in told[:5]]
    return Problem(422, "some fields are not as they have to be", errors=wrong)
