"""What the API and the console answer alike to an error that no route foresees."""

import logging
import traceback

import duckdb

from streams.http.exceptions import RateLimited, TokensUnusable
from streams.http.problems import Problem, rate_limited
from streams.materializer.exceptions import MaterializerError

RETRY = {"Retry-After": "5"}


def problem_of(error: Exception, where: str, logger: logging.Logger, no_snapshot: str) -> Problem:
    """What is told of an error; the rest of it is for the log.

    Args:
        error: what went wrong.
        where: what was asked for, without parameters, for the log.
        logger: whose log.
        no_snapshot: what to say where there is no snapshot yet.
    """
    match error:
        case Problem():
            if error.__cause__ is not None:
                logger.warning("%s: %s", error, error.__cause__)
            return error
        case RateLimited():
            return rate_limited(error)
        case TokensUnusable():
            return Problem(503, "no token can be checked at the moment; see the server's log", RETRY)
        case MaterializerError():
            logger.error("%s", error)
            return Problem(503, no_snapshot, RETRY)
    log_failure(error, where, logger)
    if isinstance(error, duckdb.Error):
        return Problem(503, "the snapshot did not answer", RETRY)
    return Problem(500, "an error in the server; see its log")


def log_failure(error: Exception, where: str, logger: logging.Logger) -> None:
    """Logs the traceback without the error's message, which may quote a user's id or data."""
    told = "".join(traceback.format_tb(error.__traceback__))
    logger.error("%s failed with %s\n%s", where, type(error).__name__, told)
