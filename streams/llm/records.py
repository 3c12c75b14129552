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
    NO_LOGPROBS = "no-logprobs"
    """The endpoint does not tell the probabilities of tokens; only `LlmClient.first_token` ends so."""
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
class Answered:
    """What an answered question cost, failed calls included.

    Attributes:
        model: the model that was asked for.
        prompt_hash: blake2b of prompt and schema or choices, 16 hex digits; a corrective retry does not change it.
        prompt_tokens: the sum over all calls.
        completion_tokens: the sum over all calls.
        latency_ms: from the question to the answer, waits included.
        calls: HTTP calls made, 1 when all went well.
    """

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


@dataclass(frozen=True)
class Reply(Answered):
    """An answer that fits its schema.

    Attributes:
        answer: the JSON object.
    """

    answer: Mapping[str, Any]


@dataclass(frozen=True)
class FirstToken(Answered):
    """How probable each choice was as the first token of the answer.

    Attributes:
        logprobs: natural logarithm of the probability per choice, in the order of the choices.
        seen: how many choices the endpoint told a probability of; the others share a floor below the least it told.
    """

    logprobs: Mapping[str, float]
    seen: int
