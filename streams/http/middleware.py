"""What surrounds every request: authentication before it, a problem for every error, metrics."""

import logging
import re
import time
import traceback
from collections.abc import Callable
from urllib.parse import unquote

import duckdb
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streams.http import metrics
from streams.http.auth import TOKEN
from streams.http.exceptions import RateLimited, TokensUnusable, Unauthorized
from streams.http.gate import Gate
from streams.http.problems import Problem, of_fields, rate_limited, refused, unauthorized
from streams.http.refusals import PATH, REFUSALS
from streams.materializer.exceptions import MaterializerError

NO_STORE, NO_SNIFF = (b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")
RETRY = {"Retry-After": "5"}
STARTED = "http.response.start"
_NO_STATUS = 499
"""In metrics: the client was gone before there was an answer."""
_PLAIN = re.compile(r"%(?:2[DdEe]|[357][0-9A-Fa-f]|[46][1-9A-Fa-f])")
"""Letters, digits and the like in their percent-encoded form, besides a few signs, which stay as they are."""

logger = logging.getLogger("sager.http")

IsOpen = Callable[[str], bool]
"""Whether a path is not authenticated here: it does so itself, or tells nothing."""


class Answering:
    """The outermost part of the application.

    Args:
        app: the rest of it.
        gate: authenticates requests, even to unknown paths: strangers must not learn which paths exist.
        is_open: which paths are left to themselves.
    """

    def __init__(self, app: ASGIApp, gate: Gate, is_open: IsOpen) -> None:
        self._app, self._gate, self._is_open = app, gate, is_open

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), _NO_STATUS

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == STARTED:
                status = message["status"]
                _complete(message)
            await send(message)

        try:
            self._enter(scope)
            await self._app(scope, receive, sending)
        except Exception as error:
            if status != _NO_STATUS:
                # What has been said cannot be taken back: the connection ends.
                _tell(error, scope)
                raise _Broken from None
            await _problem(error, scope).response()(scope, receive, sending)
        finally:
            route = _route(scope)
            method = scope["method"] if route != metrics.NO_ROUTE else "other"
            metrics.REQUESTS.labels(method, route, status).inc()
            metrics.SECONDS.labels(route).observe(time.perf_counter() - began)

    def _enter(self, scope: Scope) -> None:
        # Routes match the percent-encoded path: a `/` in an id is part of it.
        path = scope["path"] = scope["raw_path"].decode("ascii")
        if "%" in path:
            scope["path"] = _PLAIN.sub(_unescaped, path)
        if path.startswith(PATH) and (refusal := REFUSALS.get(path.removeprefix(PATH))):
            raise refused(refusal)
        if not self._is_open(path):
            client = scope["client"]
            authorization = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
            scope[TOKEN] = self._gate.enter(authorization.decode("latin-1"), client[0] if client else "?")


class _Broken(Exception):
    """An answer could not be finished; the log has more."""


async def problem_response(request: Request, error: Exception) -> Response:
    """The handler of errors that FastAPI would answer in its own way."""
    return _problem(error, request.scope).response()


def _complete(message: Message) -> None:
    """Adds what every answer says, unless it says otherwise itself."""
    headers = message.setdefault("headers", [])
    names = {name for name, _ in headers}
    headers.extend(each for each in (NO_STORE, NO_SNIFF) if each[0] not in names)


def _problem(error: Exception, scope: Scope) -> Problem:
    match error:
        case Problem():
            told = error
            if error.__cause__ is not None:
                logger.warning("%s: %s", error, error.__cause__)
        case Unauthorized():
            told = unauthorized(error)
        case RateLimited():
            told = rate_limited(error)
        case TokensUnusable():
            told = Problem(503, "no token can be checked at the moment; see the server's log")
        case MaterializerError():
            logger.error("%s", error)
            told = Problem(503, "no snapshot is available at the moment", RETRY)
        case RequestValidationError():
            told = _not_valid(error)
        case HTTPException():
            headers = {name.title(): value for name, value in (error.headers or {}).items() if name.lower() == "allow"}
            told = Problem(error.status_code, _HTTP.get(error.status_code, error.detail), headers)
        case duckdb.Error():
            _tell(error, scope)
            told = Problem(503, "the snapshot did not answer", RETRY)
        case _:
            _tell(error, scope)
            told = Problem(500, "an error in the server; see its log")
    return told


_HTTP = {404: "there is no such path", 405: "this path does not support the method"}


def _not_valid(error: RequestValidationError) -> Problem:
    """What is wrong with parameters or the body; the first part of a place says which of them."""
    return of_fields(error.errors(), skipped=1)


def _tell(error: Exception, scope: Scope) -> None:
    """Logs the traceback without the error's message, which may quote a user's id or data."""
    where = "".join(traceback.format_tb(error.__traceback__))
    logger.error("%s %s failed with %s\n%s", scope["method"], _route(scope), type(error).__name__, where)


def _route(scope: Scope) -> str:
    """The path template, which names no user."""
    route = scope.get("route")
    return metrics.NO_ROUTE if route is None else route.path


def _unescaped(found: "re.Match[str]") -> str:
    sign = unquote(found[0])
    return sign if sign.isascii() and (sign.isalnum() or sign in "-._~") else found[0]
