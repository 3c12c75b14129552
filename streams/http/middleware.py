"""The middleware of every request: authentication before it, a problem for every error, metrics."""

import logging
import time
import traceback

import duckdb
from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from streams.http import metrics
from streams.http.exceptions import RateLimited, TokensUnusable, Unauthorized
from streams.http.gate import Gate
from streams.http.problems import Problem, rate_limited, refused, unauthorized
from streams.http.refusals import PATH, REFUSALS
from streams.http.tokens import Token
from streams.materializer.exceptions import MaterializerError

TOKEN: "web.RequestKey[Token]" = web.RequestKey("token", Token)
HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}

logger = logging.getLogger("sager.http")


def answering(gate: Gate) -> Middleware:
    """The API's middleware.

    Args:
        gate: authenticates requests, even to unknown paths: strangers must not learn which paths exist.
    """

    @web.middleware
    async def answer(request: web.Request, handler: Handler) -> web.StreamResponse:
        began = time.perf_counter()
        try:
            if (refusal := REFUSALS.get(request.path.removeprefix(PATH))) and request.path.startswith(PATH):
                raise refused(refusal)
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
        case Unauthorized():
            told = unauthorized(error)
        case RateLimited():
            told = rate_limited(error)
        case TokensUnusable():
            told = Problem(503, "no token can be checked at the moment; see the server's log")
        case MaterializerError():
            logger.error("%s", error)
            told = Problem(503, "no snapshot is available at the moment", {"Retry-After": "5"})
        case web.HTTPException():
            headers = {"Allow": error.headers["Allow"]} if "Allow" in error.headers else {}
            told = Problem(error.status, _HTTP.get(error.status, error.reason), headers)
        case duckdb.Error():
            _tell(error, request)
            told = Problem(503, "the snapshot did not answer", {"Retry-After": "5"})
        case _:
            _tell(error, request)
            told = Problem(500, "an error in the server; see its log")
    return told


_HTTP = {404: "there is no such path", 405: "this path does not support the method", 413: "the body is too large"}


def _tell(error: Exception, request: web.Request) -> None:
    """Logs the traceback without the error's message, which may quote a user's id or data."""
    where = "".join(traceback.format_tb(error.__traceback__))
    logger.error("%s %s failed with %s\n%s", request.method, _route(request), type(error).__name__, where)


def _route(request: web.Request) -> str:
    """The path template, which names no user."""
    resource = request.match_info.route.resource
    return metrics.NO_ROUTE if resource is None else resource.canonical
