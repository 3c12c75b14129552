"""Errors as problem details (RFC 9457), without tracebacks, ids or secrets."""

import logging
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, Final

import duckdb
import orjson
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.responses import Response

from streams.analytics import MaterializerError
from streams.http.limits import Refusal
from streams.http.tokens import TokensUnusable

CONTENT_TYPE: Final = "application/problem+json"
MAX_ERRORS: Final = 5
RETRY: Final = {"Retry-After": "5"}
_TEXTS: Final = {
    # Pydantic's messages would quote the client's value.
    "unknown_version": "the schema_version is not one that this release knows",
    "off_the_scale": "the rating must lie on its scale",
}


class Problem(Exception):
    """An error response; `more`: additional members of the problem."""

    def __init__(self, status: int, detail: str, headers: dict[str, str] | None = None, **more: Any) -> None:
        super().__init__(detail)
        self.status, self.headers, self.more = status, headers or {}, more

    def response(self) -> Response:
        """Return the HTTP response, titled with the status's phrase."""
        title = HTTPStatus(self.status).phrase
        body = {"type": "about:blank", "title": title, "status": self.status, "detail": str(self), **self.more}
        return Response(orjson.dumps(body), self.status, {**self.headers, "Content-Type": CONTENT_TYPE})


def problem_of(error: Exception, where: str, logger: logging.Logger, no_snapshot: str) -> Problem:
    """Return the problem of an error, and log its details.

    `where`: the request without parameters, for the log. `no_snapshot`: the message if there is no snapshot yet.
    """
    match error:
        case Problem():
            if error.__cause__ is not None:
                logger.warning("%s: %s", error, error.__cause__)
            return error
        case Refusal():
            return Problem(error.status, str(error), error.headers)
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
    """Log a traceback without its message, which may quote a user's data."""
    lines = "".join(traceback.format_tb(error.__traceback__))
    logger.error("%s failed with %s\n%s", where, type(error).__name__, lines)


@contextmanager
def checked_fields() -> Iterator[None]:
    """Turn validation errors into problems."""
    try:
        yield
    except ValidationError as error:
        raise validation_problem(error) from None


def validation_problem(error: ValidationError | RequestValidationError) -> Problem:
    """Return the problem of an invalid request, without quoting its values."""
    return Problem(422, "some fields are invalid", errors=field_errors(error))


def field_errors(error: ValidationError | RequestValidationError, whole: str = "") -> tuple[dict[str, str], ...]:
    """Return at most five invalid fields; `whole` names the object itself."""
    found = []
    skipped = isinstance(error, RequestValidationError)  # FastAPI starts each location with "body" or "query"
    for each in error.errors()[:MAX_ERRORS]:
        *path, last = each["loc"][skipped:] or ("",)
        # The name of an unknown field comes from the client, so it is not quoted.
        parts = [*path, "?" if each["type"] == "extra_forbidden" else last]
        message = _TEXTS.get(each["type"], each["msg"])
        found.append({"field": ".".join(map(str, parts)) or whole, "what": message})
    return tuple(found)
