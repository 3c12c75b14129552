"""The LLM reasoner of a worker: the client from the settings, its calls counted."""

from operators.evolve import Reasoner
from operators.tokens import count_tokens
from streams import metrics
from streams.exceptions import MissingExtra
from streams.settings import Settings

OPENAI_URL = "https://api.openai.com/v1"

try:
    from operators.evolve.llm import LlmReasoner
    from operators.llm import CallRecord, LlmClient
except ImportError as error:
    raise MissingExtra(
        "SAGER_REASONER=llm needs an extra: pip install 'sager-streams[llm]', or set SAGER_REASONER=rules"
    ) from error


def llm_reasoner(settings: Settings) -> Reasoner:
    """A reasoner that asks the configured endpoint."""
    key = settings.llm_api_key.get_secret_value() if settings.llm_api_key else ""
    client = LlmClient(
        base_url=settings.llm_base_url or OPENAI_URL,
        api_key=key,
        model=settings.llm_model,
        timeout_seconds=settings.llm_timeout_seconds,
        attempts=settings.llm_attempts,
        max_retry_seconds=settings.llm_retry_seconds,
        sizes_in_schema=settings.llm_sizes_in_schema,
        on_call=_count,
    )
    return LlmReasoner(client, count_tokens=count_tokens)


def _count(call: CallRecord) -> None:
    metrics.LLM_CALLS.labels(call.outcome.value).inc()
    metrics.LLM_TOKENS.labels("prompt").inc(call.prompt_tokens)
    metrics.LLM_TOKENS.labels("completion").inc(call.completion_tokens)
    metrics.LLM_SECONDS.observe(call.latency_ms / 1000)
