"""Errors as pages: what is wrong and what to do; never a traceback, an id or a secret."""

import logging
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response

from streams.console import rendering
from streams.http import problems
from streams.http.problems import Problem

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
    if isinstance(error, HTTPException):
        known = error.status_code == HTTPStatus.NOT_FOUND
        return Problem(error.status_code, _NO_PAGE if known else error.detail, dict(error.headers or {}))
    return problems.problem_of(error, where, logger, _NO_SNAPSHOT)


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
