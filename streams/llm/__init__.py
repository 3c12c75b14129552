"""The LLM client; only `streams.llm.client` imports `openai` (50 MB)."""

from streams.llm.breaker import BreakerState, CircuitBreaker
from streams.llm.calls import CallRecord, EndpointUnavailable, Outcome, Reply

__all__ = ["BreakerState", "CallRecord", "CircuitBreaker", "EndpointUnavailable", "Outcome", "Reply"]
