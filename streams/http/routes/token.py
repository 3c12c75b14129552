"""What a token is good for: whoever holds one may know."""

from datetime import datetime

from fastapi import Response

from schemas import Model
from streams.http.answer import as_json
from streams.http.auth import TheToken
from streams.http.strict import router as strict_router
from streams.http.tokens import Scope

router = strict_router("operation")


class TokenFacts(Model):
    """What the server knows of the token of a request."""

    name: str
    scopes: tuple[Scope, ...]
    user: str | None
    expires: datetime | None


@router.get("/v1/token", response_model=TokenFacts)
async def own_token(token: TheToken) -> Response:
    """The token of this very request: its name, its scopes, and the user that it is about (`*` is everybody)."""
    scopes = [scope.value for scope in Scope if scope in token.scopes]
    return as_json({"name": token.name, "scopes": scopes, "user": token.user, "expires": token.expires})
