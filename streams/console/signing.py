"""Signing in with a token or a one-time code, and signing out."""

from http import HTTPStatus

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from streams.console import rendering
from streams.console.addresses import ROOT, address
from streams.console.forms import form_of
from streams.console.security import CSRF_FIELD, CSRF_HEADER, check_csrf, check_origin, host_of, is_loopback
from streams.console.session import COOKIE, LONGEST_SECONDS, Sessions
from streams.http.api import Api
from streams.http.gate import RateLimited, Unauthorized
from streams.http.problems import Problem
from streams.http.tokens import Token

WRONG = "This token is not valid. It begins with sager_, and whoever runs this deployment has made it for you."
CODE_GONE = "This link is good no more: it signs in once, within an hour. Sign in with a token instead."


class Signs:
    """The pages for which nobody need be signed in.

    Args:
        api: the deployment; its gate limits how often somebody may try.
        sessions: where sessions begin and end.
    """

    def __init__(self, api: Api, sessions: Sessions) -> None:
        self._api, self._sessions = api, sessions

    async def ask(self, request: Request) -> Response:
        """The form that asks for a token."""
        if self._sessions.find(request.cookies.get(COOKIE, ""), used=False):
            return RedirectResponse(address("/"), 303)
        return _form()

    async def sign_in(self, request: Request) -> Response:
        """Begins a session with the token in the form."""
        check_origin(request)
        presented = (await form_of(request)).get("token", "").strip()
        try:
            token = self._api.gate.enter(f"Bearer {presented}", _address_of(request))
        except Unauthorized:
            return _form(WRONG, HTTPStatus.UNAUTHORIZED)
        except RateLimited as error:
            return _form(f"Too many attempts: try again in {error.retry_after} s.", HTTPStatus.TOO_MANY_REQUESTS)
        return self._begun(request, token)

    async def offer(self, request: Request) -> Response:
        """Show the token's name and ask for consent, without redeeming the code.

        A link alone does not sign in: an attacker's link would put the victim's browser into the attacker's session,
        where the victim would then state preferences and look up people.
        """
        if request.method != "GET":
            return Response(status_code=405, headers={"Allow": "GET"})
        code = request.query_params.get("code", "")
        token = self._sessions.peek(code)
        if token is None:
            return self._refused(request)
        found = self._sessions.find(request.cookies.get(COOKIE, ""), used=False)
        context = {"visit": None, "code": code, "name": token.name, "now": found[1].name if found else ""}
        return HTMLResponse(rendering.render("enter.html", context))

    async def enter(self, request: Request) -> Response:
        """Redeem the code of a link and begin a session, only from the page that asked for consent."""
        check_origin(request)
        token = self._sessions.redeem((await form_of(request)).get("code", ""))
        return self._refused(request) if token is None else self._begun(request, token)

    def _refused(self, request: Request) -> Response:
        """The answer to a wrong code, which counts like a wrong token."""
        try:
            self._api.gate.enter(None, _address_of(request))
        except Unauthorized:
            return _form(CODE_GONE, HTTPStatus.UNAUTHORIZED)
        raise Problem(401, CODE_GONE)

    async def sign_out(self, request: Request) -> Response:
        """Ends the session."""
        check_origin(request)
        secret = request.cookies.get(COOKIE, "")
        found = self._sessions.find(secret)
        if found:
            form = await form_of(request)
            check_csrf(request.headers.get(CSRF_HEADER) or form.get(CSRF_FIELD, ""), found[0].csrf)
            self._sessions.end(secret)
        gone = RedirectResponse(address("/login"), 303)
        gone.delete_cookie(COOKIE, path=ROOT, httponly=True, samesite="strict")
        return gone

    def _begun(self, request: Request, token: Token) -> Response:
        # What a session of before could do, nobody can by its cookie any more.
        self._sessions.end(request.cookies.get(COOKIE, ""))
        begun = RedirectResponse(address("/"), 303)
        begun.set_cookie(
            COOKIE,
            self._sessions.begin(token),
            max_age=int(LONGEST_SECONDS),
            path=ROOT,
            httponly=True,
            samesite="strict",
            # Not over a network that others can listen in to. The loopback has no such network, and no TLS.
            secure=not is_loopback(host_of(request.headers.get("host", ""))),
        )
        return begun


def _form(wrong: str = "", status: int = 200) -> Response:
    return HTMLResponse(rendering.render("login.html", {"visit": None, "wrong": wrong}), status)


def _address_of(request: Request) -> str:
    return request.client.host if request.client else "?"
