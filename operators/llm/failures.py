"""How a call to a model fails, and whether asking again may help."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isnan

import orjson

from operators.evolve.proposal import ReasonerUnavailable
from operators.llm.records import Outcome

_RETRIED = {408: Outcome.TIMEOUT, 409: Outcome.SERVER_ERROR, 429: Outcome.RATE_LIMITED}
_SERVER_ERRORS = 500
_CLIENT_ERRORS = 400
_MISCONFIGURED = frozenset({401, 403, 404})
"""No key or a wrong one, a model that the key may not use, a model or an address that does not exist."""


class CallFailed(Exception):
    """One call came to nothing.

    Args:
        outcome: how it ended.
        detail: what happened, for a person; never the prompt's words.
        may_pass: whether the same call may succeed later.
        retry_after_seconds: when the endpoint wants to be asked again, if it said so.
        misconfigured: the endpoint refuses this key or knows no such model or address: no call will succeed until
            somebody has changed something.
    """

    def __init__(
        self,
        outcome: Outcome,
        detail: str,
        *,
        may_pass: bool = False,
        retry_after_seconds: float | None = None,
        misconfigured: bool = False,
    ) -> None:
        super().__init__(detail)
        self.outcome = outcome
        self.detail = detail
        self.may_pass = may_pass
        self.retry_after_seconds = retry_after_seconds
        self.misconfigured = misconfigured


class EndpointAway(ReasonerUnavailable):
    """There is no answer, and the circuit breaker lets no calls through: whoever can wait, waits until it does.

    Args:
        outcome: `circuit-open` if no call was made, else how the last one ended.
        detail: what happened, for a person.
        passable: whether a call may go out now.
    """

    def __init__(self, outcome: str, detail: str, passable: Callable[[], bool]) -> None:
        super().__init__(outcome, detail)
        self.passable = passable


def retry_after(value: str | None, now: datetime) -> float | None:
    """The seconds that a `Retry-After` header asks for, as number or HTTP date; None if it says nothing sensible.

    >>> retry_after("Fri, 01 Jan 2027 00:00:30 GMT", datetime(2027, 1, 1, tzinfo=UTC))
    30.0
    """
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            at = parsedate_to_datetime(value)
        except ValueError:
            return None
        seconds = (at.replace(tzinfo=at.tzinfo or UTC) - now).total_seconds()
    return None if isnan(seconds) else max(0.0, seconds)


def status_failure(status: int, headers: Mapping[str, str], body: bytes) -> CallFailed:
    """The failure that another HTTP status than 200 means; `body` is what the endpoint says of it."""
    outcome = Outcome.SERVER_ERROR if status >= _SERVER_ERRORS else _RETRIED.get(status, Outcome.CLIENT_ERROR)
    return CallFailed(
        outcome,
        " ".join([f"HTTP {status}", *_named(body)]),
        may_pass=outcome is not Outcome.CLIENT_ERROR,
        retry_after_seconds=retry_after(headers.get("retry-after"), datetime.now(UTC)),
        # A redirect leads elsewhere: to where the base URL should.
        misconfigured=status in _MISCONFIGURED or status < _CLIENT_ERRORS,
    )


def _named(body: bytes) -> list[str]:
    """What an endpoint calls the failure and its parameter: words of a closed vocabulary, which help who must mend it.

    Its message could quote the prompt.
    """
    try:
        told = orjson.loads(body)
    except orjson.JSONDecodeError:
        return []
    if isinstance(told, dict) and isinstance(told.get("error"), dict):
        told = told["error"]
    words = [told.get("code"), told.get("param")] if isinstance(told, dict) else []
    return [word for word in words if isinstance(word, str) and re.fullmatch(r"[\w.\-\[\]]{1,60}", word)]
