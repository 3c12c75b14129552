"""The ASGI application: authentication, body limits, errors as problems, metrics."""

import asyncio
import logging
import time
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import duckdb
import orjson
from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.telemetry import TelemetryConfig
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streams.analytics import MaterializerError
from streams.http import metrics
from streams.http.api import Api
from streams.http.limits import BODY_BYTES, LARGER_BODIES, MIB
from streams.http.openapi import ROUTERS, TITLE, VERSION, document
from streams.http.problems import RETRY, Problem, invalid_fields
from streams.http.routing import TOKEN
from streams.http.tokens import TokensUnusable

CONSOLE, OPENAPI, PAGE = "/console", "/openapi.json", "/docs"
STATIC = Path(__file__).parent / "static"
# Defaults for every response; pages for browsers, the console's too, need more.
HEADERS: Final = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
PAGE_HEADERS: Final = {
    # Swagger's arrows are images in its style sheet.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    # `no-referrer` would make browsers send `Origin: null` with the console's own forms.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "X-Robots-Tag": "noindex",
}
DOCS_HEADERS: Final = {**PAGE_HEADERS, "Cache-Control": "no-cache"}
# FastAPI would send spans to wherever OpenTelemetry's variables point, with paths, which name users.
NOT_TRACED: TelemetryConfig = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
# How much of a too large body is read and dropped: a server that closes at once may lose its 413 response.
DISCARDED_BYTES = MIB
NO_STATUS = 499  # in metrics: the client disconnected before the answer
_HTTP: Final = {
    400: "the body is not valid JSON",
    404: "there is no such path",
    405: "this path does not support the method",
}

logger = logging.getLogger("sager.http")


def application(api: Api, console: ASGIApp | None = None, routers: Iterable[APIRouter] = ()) -> FastAPI:
    """Return the API as an ASGI application, beside the console's pages."""
    app = FastAPI(title=TITLE, version=VERSION, openapi_url=None, telemetry=NOT_TRACED)
    app.state.api = api
    app.router.redirect_slashes = False
    for kind in (HTTPException, RequestValidationError):
        app.add_exception_handler(kind, _problem_response)
    for router in (*ROUTERS, *routers):
        # A flat list: one lookup per request, and metrics and tests see every route.
        app.router.routes.extend(router.routes)
    app.router.routes += [
        Route(OPENAPI, _openapi), Route(PAGE, _page), Mount(PAGE, StaticFiles(directory=STATIC))
    ]  # fmt: skip
    if console is not None:
        app.add_api_route(CONSOLE, _to_console, include_in_schema=False)
        app.mount(CONSOLE, console)
        app.add_api_route("/", _to_console, include_in_schema=False)
    for route in app.routes:
        metrics.SECONDS.labels(getattr(route, "path", metrics.OTHER))
    app.add_middleware(_Middleware, api=api, has_console=console is not None)
    return app


async def _to_console() -> RedirectResponse:
    return RedirectResponse(f"{CONSOLE}/")


async def _openapi(_: Request) -> Response:
    return Response(orjson.dumps(document()), media_type="application/json")


async def _page(_: Request) -> Response:
    # Swagger UI is served from this host alone.
    return FileResponse(STATIC / "docs.html")


class _Middleware:
    """Authenticates requests, reads their bodies, sets headers and counts."""

    def __init__(self, app: ASGIApp, api: Api, has_console: bool) -> None:
        self._app, self._gate, self._has_console = app, api.gate, has_console
        self._seconds = api.settings.http_request_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start, status = time.perf_counter(), NO_STATUS

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(raw=message.setdefault("headers", []))
                for name, value in (DOCS_HEADERS if _is_docs(scope["path"]) else HEADERS).items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            body = [await self._read_authenticated(scope, receive)]

            async def receiving() -> Message:
                if body:
                    return {"type": "http.request", "body": body.pop(), "more_body": False}
                return await receive()

            await self._app(scope, receiving, sending)
        except ClientDisconnect:
            pass
        except Exception as error:
            if status != NO_STATUS:
                # The headers are sent, so no problem can follow: break the connection.
                _log_failure(error, _where(scope), logger)
                raise _ResponseBroken from None
            await _problem(error, scope).response()(scope, receive, sending)
        finally:
            route = _route(scope)
            method = scope["method"] if route != metrics.OTHER else metrics.OTHER
            metrics.REQUESTS.labels(method, route, status).inc()
            metrics.SECONDS.labels(route).observe(time.perf_counter() - start)

    async def _read_authenticated(self, scope: Scope, receive: Receive) -> bytes:
        """Return the body of an authenticated request."""
        # Routes match the percent-encoded path, because ids may contain `/`.
        path = scope["path"] = scope["raw_path"].decode("ascii")
        limit, headers = BODY_BYTES, dict(scope["headers"])
        is_console = self._has_console and (path in ("/", CONSOLE) or path.startswith(f"{CONSOLE}/"))
        # Unknown paths need a token too, so that strangers cannot probe which exist.
        if not _is_docs(path) and not is_console:
            authorization = headers.get(b"authorization", b"").decode("latin-1")
            token = scope[TOKEN] = self._gate.authenticate(authorization, scope["client"])
            for pattern, size, needed in LARGER_BODIES:
                if pattern.fullmatch(path) and needed in token.scopes:
                    limit = size
        body, declared = None, int(headers.get(b"content-length", b"0"))
        if declared <= limit + DISCARDED_BYTES:
            try:
                async with asyncio.timeout(self._seconds):
                    body = await _read_body(receive, limit)
            except TimeoutError:
                metrics.REFUSED.labels("too-slow").inc()
                raise Problem(408, "the request did not arrive in time", {"Connection": "close"}) from None
        if body is None:
            metrics.REFUSED.labels("body-too-large").inc()
            raise Problem(413, f"the body is larger than {limit:,} bytes", {"Connection": "close"})
        return body


async def _read_body(receive: Receive, limit: int) -> bytes | None:
    """Return the whole body, or None if it exceeds the limit."""
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
    # Open to all: the documentation reveals nothing about the deployment.
    return path in (OPENAPI, PAGE) or path.startswith(f"{PAGE}/")


class _ResponseBroken(Exception):
    """The response failed after its headers; see the log."""


async def _problem_response(request: Request, error: Exception) -> Response:
    return _problem(error, request.scope).response()


def _problem(error: Exception, scope: Scope) -> Problem:
    match error:
        case RequestValidationError():
            return invalid_fields(error.errors(), skipped=1)  # FastAPI starts each location with "body" or "query"
        case HTTPException():
            headers = {name.title(): value for name, value in (error.headers or {}).items() if name.lower() == "allow"}
            return Problem(error.status_code, _HTTP.get(error.status_code, error.detail), headers)
    return problem_of(error, _where(scope), logger, "no snapshot is available at the moment")


def problem_of(error: Exception, where: str, logger: logging.Logger, no_snapshot: str) -> Problem:
    """Return the problem of an error, and log its details.

    `where`: the request without parameters, for the log. `no_snapshot`: the message if there is no snapshot yet.
    """
    match error:
        case Problem():
            if error.__cause__ is not None:
                logger.warning("%s: %s", error, error.__cause__)
            return error
        case TokensUnusable():
            return Problem(503, "no token can be checked at the moment; see the server's log", RETRY)
        case MaterializerError():
            logger.error("%s", error)
            return Problem(503, no_snapshot, RETRY)
    _log_failure(error, where, logger)
    if isinstance(error, duckdb.Error):
        return Problem(503, "the snapshot did not answer", RETRY)
    return Problem(500, "an error in the server; see its log")


def _log_failure(error: Exception, where: str, logger: logging.Logger) -> None:
    # Without its message, which may quote a user's data.
    lines = "".join(traceback.format_tb(error.__traceback__))
    logger.error("%s failed with %s\n%s", where, type(error).__name__, lines)


def _where(scope: Scope) -> str:
    return f"{scope['method']} {_route(scope)}"


def _route(scope: Scope) -> str:
    # The template, not the path: paths name users.
    route = scope.get("route")
    return metrics.OTHER if route is None else route.path
