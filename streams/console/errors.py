"""Errors as pages: what is wrong and what to do; never a traceback, an id or a secret."""

import logging
import traceback
from http import HTTPStatus

import duckdb
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response

from streams.console import rendering
from streams.http.exceptions import RateLimited, TokensUnusable
from streams.http.problems import Problem, rate_limited
from streams.materializer.exceptions import MaterializerError

RETRY = {"Retry-After": "5"}

logger = logging.getLogger("sager.console")

_NO_PAGE = "There is no such page. It may have been moved, or the address is not complete."
_NO_SNAPSHOT = (
    "Nothing has been published yet that could be shown. The materializer publishes every few seconds: "
    "load the page again. If this stays so, see its log."
)


def problem_of(error: Exception, where: str) -> Problem:
    """What a page tells of an error.

    Args:
        error: what went wrong.
        where: the page's path without parameters, for the log.
    """
    match error:
        case Problem():
            if error.__cause__ is not None:
                logger.warning("%s: %s", error, error.__cause__)
            told = error
        case RateLimited():
            told = rate_limited(error)
        case TokensUnusable():
            told = Problem(503, "no token can be checked at the moment; see the server's log", RETRY)
        case MaterializerError():
            logger.error("%s", error)
            told = Problem(503, _NO_SNAPSHOT, RETRY)
        case HTTPException():
            known = error.status_code == HTTPStatus.NOT_FOUND
            told = Problem(error.status_code, _NO_PAGE if known else error.detail, dict(error.headers or {}))
        case duckdb.Error():
            _tell(error, where)
            told = Problem(503, "the snapshot did not answer", RETRY)
        case _:
            _tell(error, where)
            told = Problem(500, "an error in the server; see its log")
    return told


def error_page(problem: Problem, nav: object = None) -> Response:
    """The page of an error.

    Args:
        problem: what is wrong.
        nav: the visit whose navigation is shown; None for somebody who is not signed in.
    """
    detail = str(problem)
    values = {
        "visit": nav,
        "status": problem.status,
        "title": HTTPStatus(problem.status).phrase,
        "detail": detail[:1].upper() + detail[1:] + ("" if detail.endswith((".", "?")) else "."),
        "wrong": problem.more.get("errors", ()),
    }
    return HTMLResponse(rendering.render("error.html", values), problem.status, problem.headers)


def _tell(error: Exception, where: str) -> None:
    """Logs the traceback without the error's message, which may quote a user's id or data."""
    told = "".join(traceback.format_tb(error.__traceback__))
    logger.error("%s failed with %s\n%s", where, type(error).__name__, told)
