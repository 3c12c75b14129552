"""One attempt to deliver a message: what to make of the answer."""

import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from enum import Enum

import aiohttp

from streams.webhooks import metrics
from streams.webhooks.endpoints import Endpoint
from streams.webhooks.messages import headers

TIMEOUT_SECONDS = 10.0
ANSWER_BYTES = 4_096
"""Of an answer nobody reads more; what it says is not looked at."""
MAX_RETRY_AFTER = 3_600.0
_OK, _REDIRECT, _CLIENT, _SERVER, _GONE = 200, 300, 400, 500, 410
_LATER = frozenset({401, 403, 404, 408, 409, 421, 425, 429})
"""Statuses of 4xx that are about the endpoint or the moment, and not about the message."""


class Outcome(Enum):
    """What came of an attempt."""

    DELIVERED = "delivered"
    DOWN = "failed"
    REFUSED = "refused"
    GONE = "gone"


@dataclass(frozen=True)
class Answer:
    """An endpoint's answer.

    Attributes:
        outcome: what it means.
        what: in words, without anything that the endpoint says.
        retry_after: in how many seconds to try again, if it says so.
    """

    outcome: Outcome
    what: str
    retry_after: float | None = None


async def post(session: aiohttp.ClientSession, endpoint: Endpoint, ident: str, body: bytes) -> Answer:
    """Posts a message once. Redirects are not followed: they could lead anywhere.

    Args:
        session: of `new_session`.
        endpoint: where to.
        ident: the message's id.
        body: its body.
    """
    began = time.perf_counter()
    signed = headers(endpoint.keys, ident, int(time.time()), body)
    try:
        async with session.post(endpoint.url, data=body, headers=signed, allow_redirects=False) as reply:
            await reply.content.read(ANSWER_BYTES)
            answer = _answer(reply.status, reply.headers.get("Retry-After"), time.time())
    except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
        answer = Answer(Outcome.DOWN, type(error).__name__)
    metrics.SECONDS.labels(endpoint.name).observe(time.perf_counter() - began)
    return answer


def new_session() -> aiohttp.ClientSession:
    """A session that keeps no cookies and heeds no proxy of the environment."""
    return aiohttp.ClientSession(
        timeout=aiohttp.ClientTimeout(total=TIMEOUT_SECONDS),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={"User-Agent": "sager-streams"},
        auto_decompress=False,
        trust_env=False,
    )


def _answer(status: int, retry_after: str | None, now: float) -> Answer:
    what, wait = f"status {status}", _seconds(retry_after, now)
    if _OK <= status < _REDIRECT:
        return Answer(Outcome.DELIVERED, what)
    if status == _GONE:
        return Answer(Outcome.GONE, what)
    if _CLIENT <= status < _SERVER and status not in _LATER:
        return Answer(Outcome.REFUSED, what)
    return Answer(Outcome.DOWN, what, wait)


def _seconds(retry_after: str | None, now: float) -> float | None:
    """The header `Retry-After`, in seconds or as a date; at most an hour.

    >>> _seconds("7", 0), _seconds("Thu, 01 Jan 1970 00:00:09 GMT", 0), _seconds("soon", 0)
    (7.0, 9.0, None)
    """
    if retry_after is None:
        return None
    try:
        if retry_after.isascii() and retry_after.isdigit():
            wait = float(retry_after[:9])
        else:
            wait = parsedate_to_datetime(retry_after).timestamp() - now
    except (ValueError, TypeError, OverflowError):
        return None
    return min(max(0.0, wait), MAX_RETRY_AFTER)
