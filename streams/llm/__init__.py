"""The client for OpenAI-compatible endpoints: structured answers, bounded retries, a record of every call.

`streams.llm.client` imports the `openai` package, which takes half a second and 50 MB, so nothing else here does.
"""

from streams.llm.breaker import BreakerState, CircuitBreaker
from streams.llm.calls import CallRecord, EndpointUnavailable, Outcome, Reply

__all__ = ["BreakerState", "CallRecord", "CircuitBreaker", "EndpointUnavailable", "Outcome", "Reply"]
