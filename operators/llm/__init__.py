"""One client for any OpenAI-compatible endpoint: structured answers, bounded retries, a record of every call."""

from operators.llm.breaker import BreakerState, CircuitBreaker
from operators.llm.client import LlmClient
from operators.llm.failures import EndpointAway
from operators.llm.records import CallRecord, FirstToken, Outcome, Reply

__all__ = [
    "BreakerState",
    "CallRecord",
    "CircuitBreaker",
    "EndpointAway",
    "FirstToken",
    "LlmClient",
    "Outcome",
    "Reply",
]
