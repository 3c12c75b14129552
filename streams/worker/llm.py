"""What a worker asks a model for: the client from the settings, its calls counted."""

from operators.evolve import GatedReasoner, Reasoner, Replacer
from operators.tokens import count_tokens
from streams import metrics
from streams.exceptions import MissingExtra
from streams.settings import By, RankerName, Settings
from streams.worker.models import Models

OPENAI_URL = "https://api.openai.com/v1"

try:
    from operators.evolve.llm import LlmReasoner, LlmReplacer
    from operators.llm import CallRecord, LlmClient
    from operators.rank.llm import Form, LlmRanker
    from operators.retrieve.llm import LlmFacets
    from operators.slim.llm import LlmExtract
except ImportError as error:
    raise MissingExtra(
        "a model is configured, which needs an extra: pip install 'sager-streams[llm]'; "
        "or set SAGER_REASONER=rules, SAGER_RANKER=deterministic, SAGER_FACETS_BY=rules and SAGER_EXTRACT_BY=rules"
    ) from error


def llm_reasoner(settings: Settings) -> Reasoner:
    """A reasoner that asks the configured endpoint, if wanted only where there is something new to judge."""
    reasoner = LlmReasoner(llm_client(settings), count_tokens=count_tokens)
    return GatedReasoner(reasoner, _count_gated) if settings.gate else reasoner


def llm_replacer(settings: Settings) -> Replacer:
    """A replacer that asks the configured endpoint. It has no gate: a skill written anew is new each time."""
    return LlmReplacer(llm_client(settings), count_tokens=count_tokens)


def llm_models(settings: Settings) -> Models:
    """The models of the stages before a ranking, all over one client."""
    client = llm_client(settings)
    ranks = settings.ranker is not RankerName.DETERMINISTIC
    return Models(
        facets=LlmFacets(client, count_tokens=count_tokens) if settings.facets_by is By.LLM else None,
        extract=LlmExtract(client, count_tokens=count_tokens) if settings.extract_by is By.LLM else None,
        rank=LlmRanker(client, count_tokens=count_tokens, form=Form(settings.ranker.value), orders=settings.rank_orders)
        if ranks
        else None,
    )


def llm_client(settings: Settings) -> LlmClient:
    """The configured endpoint's client, its calls counted."""
    key = settings.llm_api_key.get_secret_value() if settings.llm_api_key else ""
    return LlmClient(
        base_url=settings.llm_base_url or OPENAI_URL,
        api_key=key,
        model=settings.llm_model,
        timeout_seconds=settings.llm_timeout_seconds,
        attempts=settings.llm_attempts,
        max_retry_seconds=settings.llm_retry_seconds,
        sizes_in_schema=settings.llm_sizes_in_schema,
        on_call=_count,
    )


def _count(call: CallRecord) -> None:
    metrics.LLM_CALLS.labels(call.name, call.outcome.value).inc()
    metrics.LLM_TOKENS.labels(call.name, "prompt").inc(call.prompt_tokens)
    metrics.LLM_TOKENS.labels(call.name, "completion").inc(call.completion_tokens)
    metrics.LLM_SECONDS.labels(call.name).observe(call.latency_ms / 1000)


def _count_gated() -> None:
    metrics.GATED.inc()
