"""Errors as problem details (RFC 9457): a status, a title and what to do; never a traceback, an id or a secret."""

import logging
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from http import HTTPStatus
from typing import Any, Final, get_args

import duckdb
import orjson
from pydantic import ValidationError
from starlette.responses import Response

from schemas import CardCommand, CardStated, Model, SkillCommand, Stated
from schemas.topics import FROM_APPS, TOPICS
from streams.http.gate import RateLimited, Unauthorized
from streams.http.tokens import TokensUnusable
from streams.materializer.exceptions import MaterializerError

CONTENT_TYPE: Final = "application/problem+json"
MAX_ERRORS: Final = 5
RETRY: Final = {"Retry-After": "5"}
_TEXTS: Final = {
    # Pydantic's own texts would quote the client's value.
    "unknown_version": "the schema_version is not one that this release knows",
    "off_the_scale": "the rating must lie on its scale",
}
_PARAMETERS: Final = {"after", "limit", "last", "user", "request", "from", "budget_tokens", "as_of", "format"}

FieldError = dict[str, str]
"""An invalid field: `field`, its path, and `what`, the mistake. Neither quotes the client's values or names."""


class Problem(Exception):
    """An error response.

    Args:
        status: the HTTP status.
        detail: the mistake, and what to do.
        headers: additional headers.
        more: additional members of the problem.
    """

    def __init__(self, status: int, detail: str, headers: dict[str, str] | None = None, **more: Any) -> None:
        super().__init__(detail)
        self.status, self.headers, self.more = status, headers or {}, more

    def response(self) -> Response:
        """Return the HTTP response; its title is the status's standard phrase."""
        title = HTTPStatus(self.status).phrase
        body = {"type": "about:blank", "title": title, "status": self.status, "detail": str(self), **self.more}
        return Response(orjson.dumps(body), self.status, {**self.headers, "Content-Type": CONTENT_TYPE})


def problem_of(error: Exception, where: str, logger: logging.Logger, no_snapshot: str) -> Problem:  # noqa: PLR0911
    """Return the problem that the API or the console answers with, and log the rest.

    Args:
        error: the error.
        where: the request without parameters, for the log.
        logger: the log.
        no_snapshot: the text where there is no snapshot yet.
    """
    match error:
        case Problem():
            if error.__cause__ is not None:
                logger.warning("%s: %s", error, error.__cause__)
            return error
        case RateLimited():
            return Problem(429, str(error), {"Retry-After": error.retry_after})
        case Unauthorized():
            challenge = "Bearer" if error.reason == "missing" else 'Bearer error="invalid_token"'
            return Problem(
                401,
                "send a valid token: `Authorization: Bearer sager_...`. `sager token new` creates one",
                {"WWW-Authenticate": challenge},
            )
        case TokensUnusable():
            return Problem(503, "no token can be checked at the moment; see the server's log", RETRY)
        case MaterializerError():
            logger.error("%s", error)
            return Problem(503, no_snapshot, RETRY)
    log_failure(error, where, logger)
    if isinstance(error, duckdb.Error):
        return Problem(503, "the snapshot did not answer", RETRY)
    return Problem(500, "an error in the server; see its log")


def log_failure(error: Exception, where: str, logger: logging.Logger) -> None:
    """Log the traceback without the error's message, which may quote a user's id or data."""
    lines = "".join(traceback.format_tb(error.__traceback__))
    logger.error("%s failed with %s\n%s", where, type(error).__name__, lines)


def not_valid(error: ValidationError) -> Problem:
    """Return the response to an invalid request: its wrong fields and why, never their values."""
    return of_fields(plain_errors(error))


def plain_errors(error: ValidationError) -> Sequence[Mapping[str, Any]]:
    """Return Pydantic's errors without the client's values."""
    return error.errors(include_url=False, include_context=False, include_input=False)


def of_fields(errors: Sequence[Mapping[str, Any]], *, skipped: int = 0) -> Problem:
    """Return the response to an invalid request; `skipped` parts of each place are FastAPI's, such as "body"."""
    return Problem(422, "some fields are invalid", errors=fields_of(errors, skipped=skipped))


def fields_of(errors: Sequence[Mapping[str, Any]], *, skipped: int = 0, whole: str = "") -> tuple[FieldError, ...]:
    """Return at most five of Pydantic's errors; `whole` names the field of an error about the whole object."""
    return tuple(
        {"field": place(each["loc"][skipped:]) or whole, "what": _TEXTS.get(each["type"], each["msg"])}
        for each in errors[:MAX_ERRORS]
    )


def place(path: tuple[int | str, ...]) -> str:
    """Return the path of an invalid field without the names that the client made up."""
    return ".".join(str(part) if isinstance(part, int) or part in _field_names() else "?" for part in path)


@cache
def _field_names() -> frozenset[str]:
    """Return the names of all fields that clients send, as deep as they go."""
    found = {*_PARAMETERS, "events", "event", "topic"}
    waiting: list[Any] = [SkillCommand, Stated, CardCommand, CardStated, *(TOPICS[base].model for base in FROM_APPS)]
    seen: set[Any] = set()
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, type) and issubclass(kind, Model) and kind not in seen:
            seen.add(kind)
            found.update(kind.model_fields)
            waiting += [field.annotation for field in kind.model_fields.values()]
        else:
            waiting += get_args(kind)
    return frozenset(found)
