"""How a call to a model fails, and whether asking again may help."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isnan

from operators.llm.records import Outcome

_RETRIED = {408: Outcome.TIMEOUT, 409: Outcome.SERVER_ERROR, 429: Outcome.RATE_LIMITED}
_SERVER_ERRORS = 500


class CallFailed(Exception):
    """One call came to nothing; `may_pass` says whether the same call may succeed later."""

    def __init__(
        self, outcome: Outcome, detail: str, *, may_pass: bool = False, retry_after_seconds: float | None = None
    ) -> None:
        super().__init__(detail)
        self.outcome = outcome
        self.detail = detail
        self.may_pass = may_pass
        self.retry_after_seconds = retry_after_seconds


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


def status_failure(status: int, headers: Mapping[str, str], words: tuple[object, ...]) -> CallFailed:
    """The failure that an HTTP status of 4xx or 5xx means; `words` are what the endpoint calls it."""
    outcome = Outcome.SERVER_ERROR if status >= _SERVER_ERRORS else _RETRIED.get(status, Outcome.CLIENT_ERROR)
    # Words from the endpoint's closed vocabulary help whoever must mend it; its message could quote the prompt.
    named = [w for w in words if isinstance(w, str) and re.fullmatch(r"[\w.\-\[\]]{1,60}", w)]
    return CallFailed(
        outcome,
        " ".join([f"HTTP {status}", *named]),
        may_pass=outcome is not Outcome.CLIENT_ERROR,
        retry_after_seconds=retry_after(headers.get("retry-after"), datetime.now(UTC)),
    )
