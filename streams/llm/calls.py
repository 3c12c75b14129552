"""Calls to a model: outcomes, records, replies and failures."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import isnan
from typing import TYPE_CHECKING, Any

from operators.evolve.proposals import ReasonerUnavailable
from schemas import Provenance

if TYPE_CHECKING:
    from openai import APIStatusError


class Outcome(StrEnum):
    """The end of one HTTP call, fit for a metric label."""

    OK = "ok"
    TIMEOUT = "timeout"
    RATE_LIMITED = "rate-limited"
    SERVER_ERROR = "server-error"
    CONNECTION = "connection"
    INVALID_REPLY = "invalid-reply"
    REFUSED = "refused"
    CLIENT_ERROR = "client-error"
    # The breaker blocked the call.
    CIRCUIT_OPEN = "circuit-open"


_RETRIED = {408: Outcome.TIMEOUT, 409: Outcome.SERVER_ERROR, 429: Outcome.RATE_LIMITED}
_SERVER_ERRORS = 500
_CLIENT_ERRORS = 400
# The key is wrong or missing, or the model or the address does not exist.
_MISCONFIGURED = frozenset({401, 403, 404})


@dataclass(frozen=True)
class CallRecord:
    """One HTTP call without its texts; tokens as the endpoint counted them."""

    name: str
    outcome: Outcome
    model: str
    prompt_hash: str
    prompt_tokens: int
    completion_tokens: int
    latency_ms: int


@dataclass(frozen=True)
class Reply:
    """A valid answer, and the cost of all its calls."""

    answer: Mapping[str, Any]
    model: str
    prompt_hash: str
    prompt_tokens: int
    completion_tokens: int
    latency_ms: int
    calls: int

    def reasoned_by(self, prompt: str) -> Provenance:
        """Return the provenance for events; `prompt` is such as `evolve.v1`."""
        return Provenance(
            reasoner="llm",
            model=self.model,
            prompt=prompt,
            prompt_hash=self.prompt_hash,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            calls=self.calls,
            latency_ms=self.latency_ms,
        )


@dataclass(eq=False)
class CallFailed(Exception):
    """One HTTP call failed. Its detail never quotes the prompt."""

    outcome: Outcome
    detail: str
    # The same call may succeed later.
    may_pass: bool = False
    retry_after_seconds: float | None = None
    # Every call fails until the configuration changes.
    misconfigured: bool = False
    refused_format: bool = False

    def __str__(self) -> str:
        return self.detail


class EndpointUnavailable(ReasonerUnavailable):
    """No answer; the circuit breaker blocks calls until `passable` returns True."""

    def __init__(self, outcome: str, detail: str, passable: Callable[[], bool]) -> None:
        super().__init__(outcome, detail)
        self.passable = passable


def retry_after(value: str | None) -> float | None:
    """Return the seconds of a `Retry-After` header, if it has any.

    >>> retry_after("30"), retry_after("soon")
    (30.0, None)
    """
    try:
        seconds = float(value or "nan")
    except ValueError:  # a date, which endpoints of models do not send
        return None
    return None if isnan(seconds) else max(0.0, seconds)


def status_failure(error: "APIStatusError") -> CallFailed:
    """Return the failure that an HTTP status other than 2xx means."""
    status, headers, body = error.status_code, error.response.headers, error.response.content
    outcome = Outcome.SERVER_ERROR if status >= _SERVER_ERRORS else _RETRIED.get(status, Outcome.CLIENT_ERROR)
    # Code and parameter are fixed words; the endpoint's message may quote the prompt.
    words = [word for word in (error.code, error.param) if re.fullmatch(r"[\w.\-\[\]]{1,60}", str(word or ""))]
    return CallFailed(
        outcome,
        " ".join([f"HTTP {status}", *map(str, words)]),
        may_pass=outcome is not Outcome.CLIENT_ERROR,
        retry_after_seconds=retry_after(headers.get("retry-after")),
        # A redirect is an error too: the base URL should name its target.
        misconfigured=status in _MISCONFIGURED or status < _CLIENT_ERRORS,
        refused_format=outcome is Outcome.CLIENT_ERROR and (b"response_format" in body or b"json_schema" in body),
    )
