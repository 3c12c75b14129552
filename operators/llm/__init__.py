"""One client for any OpenAI-compatible endpoint: structured answers, bounded retries, a record of every call.

Raises:
    ImportError: the optional extra `llm` is not installed.
"""

from operators.llm.client import LlmClient
from operators.llm.records import CallRecord, FirstToken, Outcome, Reply

__all__ = ["CallRecord", "FirstToken", "LlmClient", "Outcome", "Reply"]
