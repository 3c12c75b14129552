"""The console as an ASGI application: sign-in, and an endpoint per page."""

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, Field
from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streams.console import changes, security, skill  # noqa: F401 - declare pages
from streams.console.pages import PAGES, ROOT, STATIC, Page, PageContext, address, render
from streams.http.api import Api
from streams.http.app import PAGE_HEADERS, problem_of
from streams.http.limits import RateLimited, Unauthorized, is_loopback
from streams.http.problems import Problem
from streams.http.routing import TokenParam, refuse, router
from streams.http.tokens import Token
from streams.settings import Settings

COOKIE = "sager_console"
WRONG_TOKEN = "This token is not valid. It starts with sager_; ask your administrator for one."  # noqa: S105
WRONG_CODE = "This link is not valid: it signs in once, within an hour. Sign in with a token instead."
YEAR = "public, max-age=31536000, immutable"
_NO_SNAPSHOT = (
    "There is nothing to show yet. New data is published every few seconds: load the page again. "
    "If nothing appears, see the log of the materializer."
)

logger = logging.getLogger("sager.console")
links = router("console")


class ConsoleLink(BaseModel):
    """A link to the console."""

    path: str = Field(description="A path on this server. The first browser that opens it within an hour is signed in.")


@links.post("/v1/console/links")
async def console_link(request: Request, token: TokenParam) -> ConsoleLink:
    """Return a link that signs in once with this token."""
    return ConsoleLink(path=address("/enter", code=request.app.state.console.sessions.code(token.sha256)))


class Console:
    """The console of a deployment: its ASGI application and its sessions."""

    def __init__(self, api: Api) -> None:
        self._api, self.sessions = api, security.Sessions(api.gate)
        self.app = Starlette(
            routes=[
                Mount("/static", StaticFiles(directory=STATIC)),
                Route("/login", self.ask),
                Route("/login", self.sign_in, methods=["POST"]),
                Route("/enter", self.offer),
                Route("/enter", self.enter, methods=["POST"]),
                Route("/logout", self.sign_out, methods=["POST"]),
                *(Route(page.path, self._endpoint(page), methods=[page.method]) for page in PAGES),
            ],
            middleware=[Middleware(_Guard, settings=api.settings)],
            exception_handlers={HTTPException: _no_page},
        )
        self.app.router.redirect_slashes = False

    def _endpoint(self, page: Page) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            found = self.sessions.find(request.cookies.get(COOKIE, ""))
            if found is None:
                return _to_login(request)
            session, token = found
            self._api.gate.count_request(token)
            ctx = PageContext(request, self._api, session, token, page, security.fields(request.url.query))
            request.state.ctx = ctx
            if page.scopes and not page.scopes & token.scopes:
                raise refuse(tuple(sorted(page.scopes)))
            if page.method == "POST":
                security.check_origin(request)
                ctx.fields.clear()
                ctx.fields.update(await security.form_of(request))
                security.check_csrf(request, ctx.fields, session.csrf)
            return await page.handler(ctx)

        return answer

    async def ask(self, request: Request) -> Response:
        """The form for a token."""
        if self.sessions.find(request.cookies.get(COOKIE, "")):
            return RedirectResponse(address("/"), 303)
        return _form()

    async def sign_in(self, request: Request) -> Response:
        """Begin a session with the token in the form."""
        security.check_origin(request)
        presented = (await security.form_of(request)).get("token", "").strip()
        try:
            token = self._api.gate.authenticate(f"Bearer {presented}", request.client)
        except Unauthorized:
            return _form(WRONG_TOKEN, HTTPStatus.UNAUTHORIZED)
        except RateLimited as error:
            return _form(f"Too many attempts: try again in {error.retry_after} s.", error.status)
        return self._begin(request, token)

    async def offer(self, request: Request) -> Response:
        """Show the token's name and ask for consent, without redeeming the code."""
        # A link alone must not sign in: with an attacker's link, victims would state their preferences in the
        # attacker's session.
        code = request.query_params.get("code", "")
        token = self.sessions.token_of(code, redeem=False)
        if token is None:
            return self._refuse(request)
        current = self.sessions.find(request.cookies.get(COOKIE, ""))
        return _form(code=code, name=token.name, current=current[1].name if current else "")

    async def enter(self, request: Request) -> Response:
        """Redeem a code, sent by the consent page, and begin a session."""
        security.check_origin(request)
        token = self.sessions.token_of((await security.form_of(request)).get("code", ""), redeem=True)
        return self._refuse(request) if token is None else self._begin(request, token)

    async def sign_out(self, request: Request) -> Response:
        """End the session."""
        security.check_origin(request)
        secret = request.cookies.get(COOKIE, "")
        if found := self.sessions.find(secret):
            security.check_csrf(request, await security.form_of(request), found[0].csrf)
            self.sessions.end(secret)
        reply = RedirectResponse(address("/login"), 303)
        reply.delete_cookie(COOKIE, path=ROOT, httponly=True, samesite="strict")
        return reply

    def _refuse(self, request: Request) -> Response:
        with suppress(Unauthorized):  # counts as a failure like a wrong token
            self._api.gate.authenticate(None, request.client)
        return _form(WRONG_CODE, HTTPStatus.UNAUTHORIZED)

    def _begin(self, request: Request, token: Token) -> Response:
        self.sessions.end(request.cookies.get(COOKIE, ""))
        reply = RedirectResponse(address("/"), 303)
        # The loopback has no TLS, and no network to read the cookie on.
        secure = not is_loopback(security.host_of(request.headers.get("host", "")))
        given: dict[str, Any] = {"path": ROOT, "httponly": True, "samesite": "strict", "secure": secure}
        reply.set_cookie(COOKIE, self.sessions.begin(token), max_age=int(security.LONGEST_SECONDS), **given)
        return reply


def _form(wrong: str = "", status: int = 200, *, code: str = "", name: str = "", current: str = "") -> Response:
    page = render("sign_in.html", ctx=None, wrong=wrong, code=code, name=name, current=current)
    return HTMLResponse(page, status)


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
            security.check_host(request, self._settings)
            await self._app(scope, receive, send_guarded)
        except Exception as error:
            if started:
                raise
            problem = problem_of(error, request.url.path, logger, _NO_SNAPSHOT)
            await _error_page(problem, scope.get("state", {}).get("ctx"))(scope, receive, send_guarded)
