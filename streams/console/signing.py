"""Sign in with a token or a one-time link, and sign out."""

from contextlib import suppress
from http import HTTPStatus

from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from streams.console.rendering import ROOT, address, render
from streams.console.security import CSRF_FIELD, CSRF_HEADER, check_csrf, check_origin, form_of, host_of
from streams.console.session import COOKIE, LONGEST_SECONDS, Sessions
from streams.http.limits import Gate, RateLimited, Unauthorized, is_loopback
from streams.http.routing import TheToken
from streams.http.routing import router as router_of
from streams.http.tokens import Token

WRONG_TOKEN = "This token is not valid. It begins with sager_, and whoever runs this deployment has made it for you."  # noqa: S105
WRONG_CODE = "This link is not valid: it signs in once, within an hour. Sign in with a token instead."

router = router_of("console")


class Link(BaseModel):
    """A link to the console."""

    path: str = Field(description="Where it leads, on this server; whoever opens it first within an hour is signed in.")


@router.post("/v1/console/links")
async def link_to_the_console(request: Request, token: TheToken) -> Link:
    """A link that signs in to the console with the request's token, once, within an hour."""
    path: str = request.app.state.console.code(token.sha256)
    return Link(path=path)


class SignIn:
    """The pages that need no session."""

    def __init__(self, gate: Gate, sessions: Sessions) -> None:
        self._gate, self._sessions = gate, sessions

    def routes(self) -> list[Route]:
        """The routes of these pages."""
        return [
            Route("/login", self.ask, methods=["GET"]),
            Route("/login", self.sign_in, methods=["POST"]),
            Route("/enter", self.offer, methods=["GET"]),
            Route("/enter", self.enter, methods=["POST"]),
            Route("/logout", self.sign_out, methods=["POST"]),
        ]

    async def ask(self, request: Request) -> Response:
        """The form for a token."""
        if self._sessions.find(request.cookies.get(COOKIE, ""), used=False):
            return RedirectResponse(address("/"), 303)
        return _form()

    async def sign_in(self, request: Request) -> Response:
        """Begin a session with the token in the form."""
        check_origin(request)
        presented = (await form_of(request)).get("token", "").strip()
        try:
            token = self._gate.enter(f"Bearer {presented}", _address_of(request))
        except Unauthorized:
            return _form(WRONG_TOKEN, HTTPStatus.UNAUTHORIZED)
        except RateLimited as error:
            return _form(f"Too many attempts: try again in {error.retry_after} s.", HTTPStatus.TOO_MANY_REQUESTS)
        return self._begin(request, token)

    async def offer(self, request: Request) -> Response:
        """Show the token's name and ask for consent, without redeeming the code.

        A link alone does not sign in: an attacker's link would put the victim's browser into the attacker's session,
        where the victim would then state preferences and look up people.
        """
        code = request.query_params.get("code", "")
        token = self._sessions.token_of(code, redeem=False)
        if token is None:
            return self._refuse(request)
        current = self._sessions.find(request.cookies.get(COOKIE, ""), used=False)
        return _form(code=code, name=token.name, current=current[1].name if current else "")

    async def enter(self, request: Request) -> Response:
        """Redeem the code of a link and begin a session, only from the page that asked for consent."""
        check_origin(request)
        token = self._sessions.token_of((await form_of(request)).get("code", ""), redeem=True)
        return self._refuse(request) if token is None else self._begin(request, token)

    async def sign_out(self, request: Request) -> Response:
        """End the session."""
        check_origin(request)
        secret = request.cookies.get(COOKIE, "")
        if found := self._sessions.find(secret):
            form = await form_of(request)
            check_csrf(request.headers.get(CSRF_HEADER) or form.get(CSRF_FIELD, ""), found[0].csrf)
            self._sessions.end(secret)
        reply = RedirectResponse(address("/login"), 303)
        reply.delete_cookie(COOKIE, path=ROOT, httponly=True, samesite="strict")
        return reply

    def _refuse(self, request: Request) -> Response:
        """Answer to a wrong code, which counts as a failure like a wrong token."""
        with suppress(Unauthorized):
            self._gate.enter(None, _address_of(request))
        return _form(WRONG_CODE, HTTPStatus.UNAUTHORIZED)

    def _begin(self, request: Request, token: Token) -> Response:
        self._sessions.end(request.cookies.get(COOKIE, ""))
        reply = RedirectResponse(address("/"), 303)
        reply.set_cookie(
            COOKIE,
            self._sessions.begin(token),
            max_age=int(LONGEST_SECONDS),
            path=ROOT,
            httponly=True,
            samesite="strict",
            # The loopback has no TLS, and no network on which others could read the cookie.
            secure=not is_loopback(host_of(request.headers.get("host", ""))),
        )
        return reply


def _form(wrong: str = "", status: int = 200, *, code: str = "", name: str = "", current: str = "") -> Response:
    page = render("sign_in.html", visit=None, wrong=wrong, code=code, name=name, current=current)
    return HTMLResponse(page, status)


def _address_of(request: Request) -> str:
    return request.client.host if request.client else "?"
