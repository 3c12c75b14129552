"""The console as an ASGI application, to be mounted at /console of the API's."""

from collections.abc import Awaitable, Callable, Sequence

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streams.console import signing
from streams.console.addresses import address
from streams.console.errors import error_page, problem_of
from streams.console.files import Files
from streams.console.forms import fields, form_of
from streams.console.pages import Page, Section
from streams.console.sections import SECTIONS
from streams.console.security import CSRF_FIELD, CSRF_HEADER, HEADERS, Hosts, check_csrf, check_origin
from streams.console.session import COOKIE, Sessions
from streams.console.visit import Visit
from streams.http.api import Api
from streams.http.problems import Problem
from streams.http.routing import refuse

BY_ITSELF = "x-sager-by-itself"
"""Sent with what a page asks by itself every few seconds: nobody need be there any more."""
HOME = "/"


class Console:
    """The console of a deployment.

    Args:
        api: the deployment.
        sections: its pages.

    Attributes:
        app: the application, to be mounted at /console.
        sessions: who is signed in.
    """

    def __init__(self, api: Api, sections: Sequence[Section] = SECTIONS) -> None:
        self.api, self.sections, self.sessions = api, sections, Sessions(api.gate)
        signs = signing.Signs(api, self.sessions)
        routes: list[Route | Mount] = [
            Mount("/static", Files(), name="static"),
            Route("/enter", self._open(signs.offer), methods=["GET"]),
            Route("/enter", self._open(signs.enter), methods=["POST"]),
            Route("/login", self._open(signs.ask), methods=["GET"]),
            Route("/login", self._open(signs.sign_in), methods=["POST"]),
            Route("/logout", self._open(signs.sign_out), methods=["POST"]),
            Route(HOME, self._page(Page("GET", HOME, frozenset(), self._home)), methods=["GET"]),
        ]
        for section in sections:
            routes += [Route(each.path, self._page(each), methods=[each.method]) for each in section.pages]
        self.app = Starlette(
            routes=routes,
            middleware=[Middleware(_Guarded, hosts=Hosts(api.settings))],
            exception_handlers={404: _no_page, 405: _no_page},
        )
        self.app.router.redirect_slashes = False

    def code(self, token_sha256: str) -> str:
        """The path of a sign-in link, which is valid once, within an hour."""
        return address("/enter", code=self.sessions.code(token_sha256))

    async def _home(self, visit: Visit) -> Response:
        """The first page that this token may come to."""
        for _, pages in visit.nav():
            return visit.go(pages[0].path)
        raise Problem(403, "this token opens no page of the console: it needs read-user, read-all or operate")

    def _open(self, handler: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        """A page for which nobody need be signed in."""

        async def answer(request: Request) -> Response:
            try:
                return await handler(request)
            except Exception as error:
                return error_page(problem_of(error, request.url.path))

        return answer

    def _page(self, page: Page) -> Callable[[Request], Awaitable[Response]]:
        """A page for somebody who is signed in and may come to it."""

        async def answer(request: Request) -> Response:
            visit: Visit | None = None
            try:
                query = fields(request.url.query)
                found = self.sessions.find(request.cookies.get(COOKIE, ""), used=BY_ITSELF not in request.headers)
                if found is None:
                    return _to_login(request)
                session, token = found
                self.api.gate.count(token)
                visit = Visit(request, self.api, session, token, self.sections, page, query, {})
                if page.needs and not page.is_for(token.scopes):
                    raise refuse(tuple(sorted(page.needs)))
                if page.method == "POST":
                    visit = await _with_form(visit)
                return await page.handler(visit)
            except Exception as error:
                return error_page(problem_of(error, page.path), visit)

        return answer


async def _with_form(visit: Visit) -> Visit:
    """The visit with the form that was sent, which is one of ours."""
    check_origin(visit.request)
    form = await form_of(visit.request)
    presented = visit.request.headers.get(CSRF_HEADER) or form.pop(CSRF_FIELD, "")
    form.pop(CSRF_FIELD, None)
    check_csrf(presented, visit.session.csrf)
    return Visit(**{**visit.__dict__, "form": form})


def _to_login(request: Request) -> Response:
    if request.headers.get("hx-request") == "true":
        # A script would put the page into its place on the former one.
        return Response(status_code=204, headers={"HX-Redirect": address("/login")})
    return RedirectResponse(address("/login"), 303)


async def _no_page(request: Request, error: Exception) -> Response:
    return error_page(problem_of(error, "/console"))


class _Guarded:
    """Answers only to our own names, and puts our headers on every answer."""

    def __init__(self, app: ASGIApp, hosts: Hosts) -> None:
        self._app, self._hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = message.setdefault("headers", [])
                present = {name.lower() for name, _ in headers}
                headers.extend(each for each in _HEADERS if each[0] not in present)
            await send(message)

        try:
            self._hosts.check(Request(scope))
        except Problem as problem:
            await error_page(problem)(scope, receive, sending)
            return
        await self._app(scope, receive, sending)


_HEADERS = [(name.lower().encode(), value.encode()) for name, value in {**HEADERS, "Cache-Control": "no-store"}.items()]
