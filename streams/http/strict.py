"""Routes that take what can be read in one way only: no parameter that is unknown or said twice, and strict bodies.

A proxy in front of the server may take the other one of two.
"""

from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

from fastapi import APIRouter, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from streams.http.auth import DOCUMENTED
from streams.http.bodies import body_of
from streams.http.problems import Problem

PROBLEMS: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "A problem (RFC 9457): what is wrong, and what to do.",
        "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
}
"""What every route may answer besides."""


Quick = Callable[[Scope], ASGIApp | None]
"""Answers a request without FastAPI, or leaves it to it."""
_QUICK = "quick"

EndpointT = TypeVar("EndpointT", bound=Callable[..., Any])


def quickly(quick: Quick) -> Callable[[EndpointT], EndpointT]:
    """Marks an endpoint most of whose requests `quick` answers: FastAPI takes longer to read parameters than that.

    What it leaves, such as a parameter that is wrong, is answered as the endpoint is written. Both say the same.
    """

    def mark(endpoint: EndpointT) -> EndpointT:
        vars(endpoint)[_QUICK] = quick
        return endpoint

    return mark


class StrictRoute(APIRoute):
    """A route whose query and body are checked before anything is read from them."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **more: Any) -> None:
        super().__init__(path, endpoint, **more)
        quick: Quick | None = getattr(endpoint, _QUICK, None)
        if quick is not None:
            self.app = _quick_first(quick, self.app)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's handler behind these checks."""
        handle = super().get_route_handler()
        names = tuple(sorted(_queries(self.dependant)))
        takes_json = self.body_field is not None

        async def checked(request: Request) -> Response:
            check_query(request, names)
            if takes_json:
                # Where Starlette keeps what it has parsed: FastAPI takes it from there.
                request._json = body_of(request.headers.get("content-type"), await request.body())
            return await handle(request)

        return checked


def _quick_first(quick: Quick, whole: ASGIApp) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await (quick(scope) or whole)(scope, receive, send)

    return app


def router(*tags: str) -> APIRouter:
    """A router for routes of the API, under these headings of its document."""
    return APIRouter(route_class=StrictRoute, tags=list(tags), responses=PROBLEMS, dependencies=[DOCUMENTED])


def check_query(request: Request, names: tuple[str, ...]) -> None:
    """Refuses a query with other parameters than these, or with one of them twice.

    Raises:
        Problem: it has.
    """
    if not request.scope["query_string"]:
        return
    given = request.query_params
    if len(given.multi_items()) > len(set(given)) or not set(given) <= set(names):
        may = f"{' and '.join(names)}, once" if names else "none"
        raise Problem(422, f"the query has parameters that this path does not take: it takes {may}")


def _queries(dependant: Dependant) -> Iterator[str]:
    yield from (parameter.alias for parameter in dependant.query_params)
    for other in dependant.dependencies:
        yield from _queries(other)
