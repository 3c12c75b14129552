"""The console as an ASGI application, mounted at /console beside the API."""

import logging
from collections.abc import Awaitable, Callable
from http import HTTPStatus

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streams.console import changes, operations, query, skill  # noqa: F401 - declare pages
from streams.console.pages import PAGES, Page, PageContext
from streams.console.rendering import STATIC, address, render
from streams.console.security import (
    COOKIE,
    Sessions,
    SignInPages,
    check_csrf,
    check_host,
    check_origin,
    fields,
    form_of,
)
from streams.http.api import Api
from streams.http.app import PAGE_HEADERS, problem_of
from streams.http.problems import Problem
from streams.http.routing import refuse
from streams.settings import Settings

BY_ITSELF = "x-sager-by-itself"  # header of requests that a page repeats on a timer
YEAR = "public, max-age=31536000, immutable"
_NO_SNAPSHOT = (
    "There is nothing to show yet. New data is published every few seconds: load the page again. "
    "If nothing appears, see the log of the materializer."
)

logger = logging.getLogger("sager.console")


class Console:
    """The console of a deployment: its ASGI application and its sessions."""

    def __init__(self, api: Api) -> None:
        self._api, self.sessions = api, Sessions(api.gate)
        self.app = Starlette(
            routes=[
                Mount("/static", StaticFiles(directory=STATIC)),
                *SignInPages(api.gate, self.sessions).routes,
                *(Route(page.path, self._endpoint(page), methods=[page.method]) for page in PAGES),
            ],
            middleware=[Middleware(_Guard, settings=api.settings)],
            exception_handlers={HTTPException: _no_page},
        )
        self.app.router.redirect_slashes = False
        self.app.state.monitor = operations.ProcessMonitor(api.settings)

    def _endpoint(self, page: Page) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            found = self.sessions.find(request.cookies.get(COOKIE, ""), used=BY_ITSELF not in request.headers)
            if found is None:
                return _to_login(request)
            session, token = found
            self._api.gate.count_request(token)
            ctx = PageContext(request, self._api, session, token, page, fields(request.url.query))
            request.state.ctx = ctx
            if page.needs and not page.needs & token.scopes:
                raise refuse(tuple(sorted(page.needs)))
            if page.method == "POST":
                check_origin(request)
                ctx.fields.clear()
                ctx.fields.update(await form_of(request))
                check_csrf(request, ctx.fields, session.csrf)
            return await page.handler(ctx)

        return answer


def _to_login(request: Request) -> Response:
    if request.headers.get("hx-request") == "true":
        # Otherwise htmx would put the sign-in form into a part of the current page.
        return Response(status_code=204, headers={"HX-Redirect": address("/login")})
    return RedirectResponse(address("/login"), 303)


async def _no_page(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101
    no_page = "There is no such page. It may have been moved, or the address may be incomplete."
    detail = no_page if error.status_code == HTTPStatus.NOT_FOUND else error.detail
    return _error_page(Problem(error.status_code, detail, dict(error.headers or {})))


def _error_page(problem: Problem, ctx: PageContext | None = None) -> Response:
    page = render("error.html", ctx=ctx, problem=problem, title=HTTPStatus(problem.status).phrase)
    return HTMLResponse(page, problem.status, problem.headers)


class _Guard:
    """Checks the host name, sets headers, and turns errors into pages."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request, started = Request(scope), False

        async def send_guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                headers.update(PAGE_HEADERS)
                headers.setdefault("Cache-Control", YEAR if "etag" in headers else "no-store")
            await send(message)

        try:
            check_host(request, self._settings)
            await self._app(scope, receive, send_guarded)
        except Exception as error:
            if started:
                raise
            problem = problem_of(error, request.url.path, logger, _NO_SNAPSHOT)
            await _error_page(problem, scope.get("state", {}).get("ctx"))(scope, receive, send_guarded)
