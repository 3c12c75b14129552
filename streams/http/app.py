"""The application: all routes behind authentication, body limits, problems for every error, and metrics."""

import asyncio
import logging
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import orjson
from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.telemetry import TelemetryConfig
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streams.http import metrics
from streams.http.api import Api
from streams.http.limits import BODY_BYTES, LARGER_BODIES, MIB
from streams.http.openapi import ROUTERS, TITLE, VERSION, document
from streams.http.problems import Problem, log_failure, problem_of, validation_problem
from streams.http.routing import TOKEN

CONSOLE, OPENAPI, PAGE = "/console", "/openapi.json", "/docs"
STATIC = Path(__file__).parent / "static"
HEADERS: Final = {b"cache-control": b"no-store", b"x-content-type-options": b"nosniff"}
DOCS_HEADERS: Final = {
    b"cache-control": b"no-cache",
    b"x-content-type-options": b"nosniff",
    # Swagger's arrows are images in its style sheet.
    b"content-security-policy": b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    b"cross-origin-opener-policy": b"same-origin",
    b"referrer-policy": b"no-referrer",
}
"""Headers of every answer, unless the answer has them itself, and of the documentation's."""
NOT_TRACED: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
"""FastAPI would send spans to wherever OpenTelemetry's variables point, with paths, which name users."""
DISCARDED_BYTES, DISCARDED_SECONDS = MIB, 1.0
"""How much of a body that is too large is read: if the server closed at once, the client might not see its answer."""
NO_STATUS = 499  # in metrics: the client disconnected before the answer
_HTTP: Final = {
    400: "the body is not valid JSON",
    404: "there is no such path",
    405: "this path does not support the method",
}

logger = logging.getLogger("sager.http")


def application(api: Api, console: ASGIApp | None = None, routers: Iterable[APIRouter] = ()) -> FastAPI:
    """Return the API as an ASGI application, with more routers and the console's pages if given."""
    app = FastAPI(title=TITLE, version=VERSION, openapi_url=None, telemetry=NOT_TRACED)
    app.state.api = api
    app.router.redirect_slashes = False
    for kind in (HTTPException, RequestValidationError):
        app.add_exception_handler(kind, _problem_response)
    for router in (*ROUTERS, *routers):
        # Flat, so that a request is matched in one list and every route is seen in it.
        app.router.routes.extend(router.routes)
    app.router.routes += [
        Route(OPENAPI, _openapi), Route(PAGE, _page), Mount(PAGE, StaticFiles(directory=STATIC))
    ]  # fmt: skip
    if console is not None:
        app.add_api_route(CONSOLE, _to_console, include_in_schema=False)
        app.mount(CONSOLE, console)
        app.add_api_route("/", _to_console, include_in_schema=False)
    for route in app.routes:
        metrics.SECONDS.labels(getattr(route, "path", metrics.NO_ROUTE))
    app.add_middleware(_Middleware, api=api, has_console=console is not None)
    return app


async def _to_console() -> RedirectResponse:
    return RedirectResponse(f"{CONSOLE}/")


async def _openapi(_: Request) -> Response:
    return Response(orjson.dumps(document()), media_type="application/json")


async def _page(_: Request) -> Response:
    """Answer with Swagger UI, which comes from this host alone."""
    return FileResponse(STATIC / "docs.html")


class _Middleware:
    """The outermost part. Unknown paths need a token too: strangers must not learn which paths exist."""

    def __init__(self, app: ASGIApp, api: Api, has_console: bool) -> None:
        self._app, self._gate, self._has_console = app, api.gate, has_console
        self._seconds = api.settings.http_request_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), NO_STATUS

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = message.setdefault("headers", [])
                names = {name for name, _ in headers}
                more = DOCS_HEADERS if _is_docs(scope["path"]) else HEADERS
                headers.extend((name, value) for name, value in more.items() if name not in names)
            await send(message)

        try:
            body = [await self._enter(scope, receive)]

            async def receiving() -> Message:
                if body:
                    return {"type": "http.request", "body": body.pop(), "more_body": False}
                return await receive()

            await self._app(scope, receiving, sending)
        except ClientDisconnect:
            pass
        except Exception as error:
            if status != NO_STATUS:
                # The answer has begun and cannot be taken back: the connection ends.
                log_failure(error, _where(scope), logger)
                raise _Broken from None
            await _problem(error, scope).response()(scope, receive, sending)
        finally:
            route = _route(scope)
            method = scope["method"] if route != metrics.NO_ROUTE else "other"
            metrics.REQUESTS.labels(method, route, status).inc()
            metrics.SECONDS.labels(route).observe(time.perf_counter() - began)

    async def _enter(self, scope: Scope, receive: Receive) -> bytes:
        """Authenticate the request, and return its body."""
        # Routes match the percent-encoded path: a `/` in an id is part of it.
        path = scope["path"] = scope["raw_path"].decode("ascii")
        limit, headers = BODY_BYTES, dict(scope["headers"])
        is_console = self._has_console and (path in ("/", CONSOLE) or path.startswith(f"{CONSOLE}/"))
        if not _is_docs(path) and not is_console:
            authorization = headers.get(b"authorization", b"").decode("latin-1")
            token = scope[TOKEN] = self._gate.authenticate(
                authorization, scope["client"][0] if scope["client"] else "?"
            )
            for pattern, size, needed in LARGER_BODIES:
                if pattern.fullmatch(path) and needed in token.scopes:
                    limit = size
        declared = int(headers.get(b"content-length", b"0"))
        if declared <= limit + DISCARDED_BYTES:
            try:
                async with asyncio.timeout(self._seconds if declared <= limit else DISCARDED_SECONDS):
                    if (body := await _read_body(receive, limit)) is not None:
                        return body
            except TimeoutError:
                if declared <= limit:
                    metrics.REFUSED.labels("too-slow").inc()
                    raise Problem(408, "the request did not arrive in time", {"Connection": "close"}) from None
        metrics.REFUSED.labels("body-too-large").inc()
        raise Problem(413, f"the body is larger than {limit:,} bytes", {"Connection": "close"})


async def _read_body(receive: Receive, limit: int) -> bytes | None:
    """Return the whole body; None if it is larger than the limit."""
    body, size, more = bytearray(), 0, True
    while more and size <= limit + DISCARDED_BYTES:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        chunk = message.get("body", b"")
        size += len(chunk)
        if size <= limit:
            body += chunk
        more = message.get("more_body", False)
    return bytes(body) if size <= limit else None


def _is_docs(path: str) -> bool:
    """Return True for paths that need no token: they reveal nothing about the deployment."""
    return path in (OPENAPI, PAGE) or path.startswith(f"{PAGE}/")


class _Broken(Exception):
    """An answer could not be finished; the log has more."""


async def _problem_response(request: Request, error: Exception) -> Response:
    """Answer errors that FastAPI would answer in its own way."""
    return _problem(error, request.scope).response()


def _problem(error: Exception, scope: Scope) -> Problem:
    match error:
        case RequestValidationError():
            return validation_problem(error)
        case HTTPException():
            headers = {name.title(): value for name, value in (error.headers or {}).items() if name.lower() == "allow"}
            return Problem(error.status_code, _HTTP.get(error.status_code, error.detail), headers)
    return problem_of(error, _where(scope), logger, "no snapshot is available at the moment")


def _where(scope: Scope) -> str:
    return f"{scope['method']} {_route(scope)}"


def _route(scope: Scope) -> str:
    """Return the path template, which names no user."""
    route = scope.get("route")
    return metrics.NO_ROUTE if route is None else route.path
