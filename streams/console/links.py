"""Links that sign in to the console: made for whoever has a token, and good once."""

from typing import TYPE_CHECKING, cast

from fastapi import Request
from pydantic import BaseModel, Field

from streams.http.routing import TheToken
from streams.http.routing import router as router_of

if TYPE_CHECKING:
    from streams.console.app import Console

router = router_of("console")


class Link(BaseModel):
    """A link to the console."""

    path: str = Field(description="Where it leads, on this server; whoever opens it first within an hour is signed in.")


@router.post("/v1/console/links")
async def link_to_the_console(request: Request, token: TheToken) -> Link:
    """A link that signs in to the console with the request's token, once, within an hour."""
    console = cast("Console", request.app.state.console)
    return Link(path=console.code(token.sha256))
