"""What surrounds every request: authentication before it, a problem for every error, metrics."""

import logging
import re
import time
from collections.abc import Callable
from urllib.parse import unquote

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streams.http import metrics
from streams.http.auth import TOKEN
from streams.http.exceptions import Unauthorized
from streams.http.failures import log_failure, problem_of
from streams.http.gate import Gate
from streams.http.problems import Problem, of_fields, refused, unauthorized
from streams.http.refusals import PATH, REFUSALS

NO_STORE, NO_SNIFF = (b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")
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
                log_failure(error, _where(scope), logger)
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
        case Unauthorized():
            return unauthorized(error)
        case RequestValidationError():
            return _not_valid(error)
        case HTTPException():
            headers = {name.title(): value for name, value in (error.headers or {}).items() if name.lower() == "allow"}
            return Problem(error.status_code, _HTTP.get(error.status_code, error.detail), headers)
    return problem_of(error, _where(scope), logger, "no snapshot is available at the moment")


_HTTP = {404: "there is no such path", 405: "this path does not support the method"}


def _not_valid(error: RequestValidationError) -> Problem:
    """What is wrong with parameters or the body; the first part of a place says which of them."""
    return of_fields(error.errors(), skipped=1)


def _where(scope: Scope) -> str:
    return f"{scope['method']} {_route(scope)}"


def _route(scope: Scope) -> str:
    """The path template, which names no user."""
    route = scope.get("route")
    return metrics.NO_ROUTE if route is None else route.path


def _unescaped(found: "re.Match[str]") -> str:
    sign = unquote(found[0])
    return sign if sign.isascii() and (sign.isalnum() or sign in "-._~") else found[0]
