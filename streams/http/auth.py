"""What a route needs of a token, as FastAPI's dependencies. Whether there is one was checked before."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, cast
from urllib.parse import unquote

from fastapi import Depends, Request
from fastapi.security import HTTPBearer

from streams.http import metrics
from streams.http.problems import Problem
from streams.http.tokens import EVERYBODY, Scope, Token

TOKEN = "sager.token"  # noqa: S105 - a name in the ASGI scope
"""Where the middleware puts the token of a request."""

_BEARER = HTTPBearer(auto_error=False, description="A token that `sager token new` makes; its scopes are the routes'.")
_USER = "user"
_OR, _AND = " or ", " and "


def token_of(request: Request) -> Token:
    """The request's token, which is valid."""
    return cast("Token", request.scope[TOKEN])


async def _token(request: Request) -> Token:
    """As a dependency; FastAPI would run one that is no coroutine in a thread."""
    return token_of(request)


TheToken = Annotated[Token, Depends(_token)]


def refuse(scopes: tuple[Scope, ...]) -> Problem:
    """The answer to a token that may not do this; the same whether the user exists or not."""
    metrics.AUTH_FAILURES.labels("scope").inc()
    return Problem(403, f"this token lacks the scope {' or '.join(scopes)} for that user")


def needs(*scopes: Scope) -> Any:
    """A dependency: the token must have one of these scopes, for the user in the path where there is one.

    Without a user in the path, a scope that is about a user must be about all of them.
    """

    async def check(request: Request) -> None:
        token, user = token_of(request), request.path_params.get(_USER)
        about = EVERYBODY if user is None else unquote(user)
        if not any(token.may(scope, about) for scope in scopes):
            raise refuse(scopes)

    return Depends(_telling(check, scopes, _OR))


def needs_some(*scopes: Scope) -> Any:
    """A dependency: the token must have all these scopes for somebody; the route looks whom the request is about."""

    async def check(request: Request) -> None:
        token = token_of(request)
        if not all(scope in token.scopes for scope in scopes):
            raise refuse(scopes)

    return Depends(_telling(check, scopes, _AND))


Check = Callable[[Request], Awaitable[None]]


def _telling(check: Check, scopes: tuple[Scope, ...], between: str) -> Check:
    """The check with what it asks for, which the API's document and docs/http.md tell."""
    alternatives = (scopes,) if between == _AND else tuple((scope,) for scope in scopes)
    vars(check).update(scopes=scopes, told=between.join(scopes), alternatives=alternatives)
    return check


DOCUMENTED = Depends(_BEARER)
"""Tells the API's document that there is a bearer token; it checks nothing."""
