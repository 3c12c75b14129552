"""What is known about a call to a model, and about an answered question."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from schemas import ReasonedBy


class Outcome(StrEnum):
    """How one HTTP call ended: a closed set, fit for a metric label."""

    OK = "ok"
    TIMEOUT = "timeout"
    RATE_LIMITED = "rate-limited"
    SERVER_ERROR = "server-error"
    CONNECTION = "connection"
    INVALID_REPLY = "invalid-reply"
    REFUSED = "refused"
    CLIENT_ERROR = "client-error"
    CIRCUIT_OPEN = "circuit-open"
    """The endpoint is away, so no call was made: questions end so, calls never do."""


@dataclass(frozen=True)
class CallRecord:
    """One HTTP call, without a word of what was said.

    Attributes:
        name: what was asked, such as `evolve_v1`.
        outcome: how it ended.
        model: the model that was asked for.
        prompt_hash: blake2b of prompt and schema, 16 hex digits.
        prompt_tokens: as the endpoint counted them; 0 if it did not say.
        completion_tokens: as the endpoint counted them; 0 if it did not say.
        latency_ms: of this call alone, without waits.
    """

    name: str
    outcome: Outcome
    model: str
    prompt_hash: str
    prompt_tokens: int
    completion_tokens: int
    latency_ms: int


@dataclass(frozen=True)
class Reply:
    """An answer that fits its schema, and its cost, failed calls included.

    Attributes:
        answer: the JSON object.
        model: the model that was asked for.
        prompt_hash: blake2b of prompt and schema, 16 hex digits; a corrective retry does not change it.
        prompt_tokens: the sum over all calls.
        completion_tokens: the sum over all calls.
        latency_ms: from the question to the answer, waits included.
        calls: HTTP calls made, 1 when all went well.
    """

    answer: Mapping[str, Any]
    model: str
    prompt_hash: str
    prompt_tokens: int
    completion_tokens: int
    latency_ms: int
    calls: int

    def reasoned_by(self, prompt: str) -> ReasonedBy:
        """The record as events carry it; `prompt` is the prompt's file and version, such as `evolve.v1`."""
        return ReasonedBy(
            reasoner="llm",
            model=self.model,
            prompt=prompt,
            prompt_hash=self.prompt_hash,
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            calls=self.calls,
            latency_ms=self.latency_ms,
        )
