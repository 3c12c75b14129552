"""The router of the API: required scopes, JSON bodies, and typed parameters."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any, cast
from urllib.parse import unquote

import orjson
from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, BeforeValidator, ConfigDict
from pydantic_core import from_json

from schemas import DomainField, Model, UserIdField
from streams.http import metrics
from streams.http.problems import Problem
from streams.http.tokens import ALL_USERS, Scope, Token

# The key under which the middleware stores the request's token.
TOKEN = "sager.token"  # noqa: S105 - a name in the ASGI scope
MAX_ID_CHARS = 400


class Body(Model):
    """A body of the API; an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


async def _token_of(request: Request) -> Token:
    return cast("Token", request.scope[TOKEN])


def _decoded(value: Any) -> Any:
    return unquote(value, errors="strict") if isinstance(value, str) else value


# Paths are routed percent-encoded, so that ids may contain `/`; parameters decode them.
DECODED = BeforeValidator(_decoded)
TokenParam = Annotated[Token, Depends(_token_of)]
UserPath = Annotated[UserIdField, DECODED, Path(alias="user", description="The user's id, percent-encoded.")]
DomainPath = Annotated[DomainField, DECODED, Path(alias="domain", description="Such as `films`.")]
LinePath = Annotated[
    str, DECODED, Path(alias="attribute", min_length=1, max_length=MAX_ID_CHARS, description="Of a line or statement.")
]
DomainQuery = Annotated[DomainField | None, Query(alias="domain", description="Only this domain.")]


def refuse(scopes: tuple[Scope, ...]) -> Problem:
    """Return the problem of a token without one of the scopes."""
    # The same for users who do not exist, so that tokens cannot probe for them.
    metrics.AUTH_FAILURES.labels("scope").inc()
    return Problem(403, f"this token lacks the scope {' or '.join(scopes)} for that user")


@dataclass(frozen=True)
class RequireScopes:
    """A dependency: one of these scopes for the path's user.

    Without a user in the path, for all users. With `every` it needs all scopes, for any user; the route checks which.
    """

    scopes: tuple[Scope, ...]
    every: bool

    async def __call__(self, request: Request) -> None:
        """Raise a 403 problem for other tokens."""
        token, user = await _token_of(request), request.path_params.get("user")
        about = ALL_USERS if user is None else unquote(user)
        if self.every:
            is_allowed = all(scope in token.scopes for scope in self.scopes)
        else:
            is_allowed = any(token.allows(scope, about) for scope in self.scopes)
        if not is_allowed:
            raise refuse(self.scopes)


def require(*scopes: Scope, every: bool = False) -> Any:
    """Return `RequireScopes` as a dependency."""
    return Depends(RequireScopes(scopes, every))


class _Request(Request):
    async def json(self) -> Any:
        # The workers' parser: no NaN, no lone surrogates, integers of any size, bounded depth.
        return from_json(await self.body(), allow_inf_nan=False)


class _Route(APIRoute):
    """A route for JSON bodies only."""

    # Forms and plain text are refused: pages of other sites can send them without a preflight request.

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def checked(request: Request) -> Response:
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if self.body_field is not None and kind != "application/json":
                raise Problem(415, "send `Content-Type: application/json`", {"Accept": "application/json"})
            return await handle(_Request(request.scope, request.receive))

        return checked


def router(*tags: str) -> APIRouter:
    """Return a router whose routes have these tags in OpenAPI."""
    return APIRouter(route_class=_Route, tags=list(tags))


def json_response(body: Any, status: int = 200) -> Response:
    """Return a JSON response for data or a model."""
    content = body.model_dump_json() if isinstance(body, BaseModel) else orjson.dumps(body)
    return Response(content, status, media_type="application/json")
