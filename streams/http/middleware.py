"""What surrounds every request: the gate before it, an answer for whatever goes wrong, and what is counted."""

import logging
import time
import traceback

import duckdb
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from streams.http import metrics
from streams.http.exceptions import NotLetIn, TokensUnusable
from streams.http.gate import Gate
from streams.http.problems import Problem, not_let_in
from streams.http.tokens import Token
from streams.materializer.exceptions import MaterializerError

TOKEN: "web.RequestKey[Token]" = web.RequestKey("token", Token)
HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Server": "sager"}

logger = logging.getLogger("sager.http")


def answering(gate: Gate) -> Middleware:
    """The one middleware.

    Args:
        gate: who is let in, also to paths that there are not: what there is, is not told to strangers.
    """

    @web.middleware
    async def answer(request: web.Request, handler: Handler) -> web.StreamResponse:
        began = time.perf_counter()
        try:
            request[TOKEN] = gate.enter(request.headers.get("Authorization"), request.remote or "?")
            response = await handler(request)
        except Exception as error:
            response = _problem(error, request).response()
        response.headers.update(HEADERS)
        route = _route(request)
        metrics.REQUESTS.labels(request.method if route != metrics.NO_ROUTE else "other", route, response.status).inc()
        metrics.SECONDS.labels(route).observe(time.perf_counter() - began)
        return response

    return answer


def _problem(error: Exception, request: web.Request) -> Problem:
    match error:
        case Problem():
            told = error
            if error.__cause__ is not None:
                logger.warning("%s: %s", error, error.__cause__)
        case NotLetIn():
            told = not_let_in(error)
        case TokensUnusable():
            told = Problem(503, "nobody can be let in at the moment; the server's log tells why")
        case MaterializerError():
            logger.error("%s", error)
            told = Problem(503, "there is no snapshot to read at the moment", {"Retry-After": "5"})
        case web.HTTPException():
            headers = {"Allow": error.headers["Allow"]} if "Allow" in error.headers else {}
            told = Problem(error.status, _HTTP.get(error.status, error.reason), headers)
        case TimeoutError():
            told = Problem(408, "the request took too long to come")
        case duckdb.Error():
            _tell(error, request)
            told = Problem(503, "the snapshot did not answer", {"Retry-After": "5"})
        case _:
            _tell(error, request)
            told = Problem(500, "this is a defect of the server; its log tells more")
    return told


_HTTP = {404: "there is no such path", 405: "not with this method", 413: "the body is too large"}


def _tell(error: Exception, request: web.Request) -> None:
    """Where it came from, without its words: they may quote a user's id, or what is known of them."""
    where = "".join(traceback.format_tb(error.__traceback__))
    logger.error("%s %s failed with %s\n%s", request.method, _route(request), type(error).__name__, where)


def _route(request: web.Request) -> str:
    """The template of the path, in which users have no name."""
    resource = request.match_info.route.resource
    return metrics.NO_ROUTE if resource is None else resource.canonical
