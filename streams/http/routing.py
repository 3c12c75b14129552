"""What the API's routes share: the router, scopes, the request's token, and typed parameters.

Paths are routed in their percent-encoded form, so that a `/` within an id stays within it; parameters decode it.
"""

from collections.abc import Callable, Coroutine
from typing import Annotated, Any, cast
from urllib.parse import unquote

import orjson
from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, BeforeValidator, ConfigDict
from pydantic_core import from_json

from schemas import Model
from schemas.base import DomainField, UserIdField
from streams.http import metrics
from streams.http.problems import Problem
from streams.http.tokens import ALL_USERS, Scope, Token

TOKEN = "sager.token"  # noqa: S105 - a name in the ASGI scope
"""Where the middleware puts the token of a request."""
MAX_ID_CHARS = 400


class Body(Model):
    """A body of the API; an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


async def _token_of(request: Request) -> Token:
    return cast("Token", request.scope[TOKEN])


def _decoded(value: Any) -> Any:
    return unquote(value, errors="strict") if isinstance(value, str) else value


DECODED = BeforeValidator(_decoded)
TokenParam = Annotated[Token, Depends(_token_of)]
UserPath = Annotated[UserIdField, DECODED, Path(alias="user", description="The user's id, percent-encoded.")]
DomainPath = Annotated[DomainField, DECODED, Path(alias="domain", description="Such as `films`.")]
LinePath = Annotated[
    str, DECODED, Path(alias="attribute", min_length=1, max_length=MAX_ID_CHARS, description="Of a line or statement.")
]
DomainQuery = Annotated[DomainField | None, Query(alias="domain", description="Only this domain.")]


def refuse(scopes: tuple[Scope, ...]) -> Problem:
    """Return the response to a token without the scope; the same whether the user exists or not."""
    metrics.AUTH_FAILURES.labels("scope").inc()
    return Problem(403, f"this token lacks the scope {' or '.join(scopes)} for that user")


class RequireScopes:
    """A dependency: the token needs one of these scopes, for the user in the path where there is one.

    Without a user in the path, a scope that is about a user must be about all of them. With `every`, the token needs
    all the scopes, for some user; the route checks for which.
    """

    def __init__(self, *scopes: Scope, every: bool = False) -> None:
        self.scopes, self.every = scopes, every

    async def __call__(self, request: Request) -> None:
        """Refuse other tokens."""
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
    return Depends(RequireScopes(*scopes, every=every))


class _Request(Request):
    async def json(self) -> Any:
        """Read JSON as workers do: no NaN, no lone surrogates, whole numbers of any size, bounded depth."""
        return from_json(await self.body(), allow_inf_nan=False)


class _Route(APIRoute):
    """A route that reads JSON as workers do, and no body of another type, which a page of another site can send."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def checked(request: Request) -> Response:
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if self.body_field is not None and kind != "application/json":
                raise Problem(415, "send `Content-Type: application/json`", {"Accept": "application/json"})
            return await handle(_Request(request.scope, request.receive))

        return checked


def router(*tags: str) -> APIRouter:
    """Return a router for routes of the API, under these headings of its document."""
    return APIRouter(route_class=_Route, tags=list(tags))


def json_response(body: Any, status: int = 200) -> Response:
    """Return a JSON response for data or a model."""
    content = body.model_dump_json() if isinstance(body, BaseModel) else orjson.dumps(body)
    return Response(content, status, media_type="application/json")
