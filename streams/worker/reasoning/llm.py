"""Creates the configured reasoner and models, and their LLM clients."""

import asyncio
import logging
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from operators.evolve.llm import LlmReasoner
from operators.evolve.proposals import Reasoner, without_model
from operators.language.correction_llm import LlmCorrectionReader
from operators.language.extraction_llm import LlmExtractor
from operators.rank.listwise import ListwiseRanker
from operators.slim.llm import LlmExtract
from operators.steps.enrich import LlmEnricher
from streams.language import RULES
from streams.llm.breaker import BreakerState, CircuitBreaker
from streams.llm.calls import CallRecord, Outcome
from streams.policies import output_gate, privacy_of
from streams.settings import Settings
from streams.worker import metrics

if TYPE_CHECKING:
    from streams.llm.client import LlmClient

logger = logging.getLogger("sager.llm")

CONFIGURATION_HINT = (
    "calls fail until the settings are fixed: check SAGER_LLM_API_KEY (401, 403), SAGER_LLM_MODEL (403, 404) and "
    "SAGER_LLM_BASE_URL (404, or a redirect, which is not followed), and restart the worker"
)

_clients: "WeakValueDictionary[tuple[object, ...], LlmClient]" = WeakValueDictionary()


@dataclass(frozen=True)
class Models:
    """The models of slim skills and rankings (paper eq. 3 and 4)."""

    extract: LlmExtract | None = None
    rank: ListwiseRanker | None = None


def asks_models(settings: Settings) -> bool:
    """Return True if a choice may need a model's answer."""
    return "llm" in (settings.reasoner, settings.extract_by)


def reasoner_of(settings: Settings) -> Reasoner:
    """Return the configured reasoner: rules, or a model."""
    if settings.reasoner == "rules":
        return without_model(settings.evolve_mode)
    return LlmReasoner(shared_client(settings), gate=output_gate(settings))


def correction_reader(settings: Settings) -> LlmCorrectionReader | None:
    """Return the model that reads corrections after the rules, if any."""
    asks = settings.reasoner == "llm"
    return LlmCorrectionReader(shared_client(settings), gate=output_gate(settings)) if asks else None


def conversation_reader(settings: Settings) -> LlmExtractor | None:
    """Return the model that reads conversations besides the rules, if any."""
    if settings.reasoner == "rules":
        return None
    return LlmExtractor(
        shared_client(settings), gate=output_gate(settings), extractor=RULES, has_memory=settings.listen_memory
    )


def enricher_of(settings: Settings) -> LlmEnricher | None:
    """Return the model that quotes facts from items' texts, if any."""
    asks = settings.enrich == "llm"
    return LlmEnricher(shared_client(settings), output_gate(settings), privacy_of(settings)) if asks else None


def models_of(settings: Settings) -> Models:
    """Return the configured models of rankings and slim skills."""
    ranks = settings.ranker != "deterministic"
    if settings.extract_by == "rules" and not ranks:
        return Models()
    client, gate = shared_client(settings), output_gate(settings)
    return Models(
        extract=LlmExtract(client, gate=gate) if settings.extract_by == "llm" else None,
        rank=ListwiseRanker(client, settings.rank_orders, gate, settings.rank_reasons) if ranks else None,
    )


def shared_client(settings: Settings) -> "LlmClient":
    """Return the client of these settings, which all models share."""
    names = sorted(name for name in Settings.model_fields if name.startswith("llm_"))
    key = (settings.in_flight, *(getattr(settings, name) for name in names))
    client = _clients.get(key)
    if client is None:
        client = _clients[key] = _client(settings)
    return client


def _client(settings: Settings) -> "LlmClient":
    from streams.llm.client import LlmClient  # noqa: PLC0415 - the openai package takes half a second

    for outcome in set(Outcome) - {Outcome.OK, Outcome.CIRCUIT_OPEN}:
        metrics.LLM_OPENINGS.labels(outcome.value)  # at 0, so that the first outage is seen as an increase
    return LlmClient(
        settings,
        on_call=partial(_count, settings),
        limit=asyncio.Semaphore(settings.in_flight),
        breaker=CircuitBreaker(
            failure_threshold=settings.llm_breaker_failures,
            pause_seconds=settings.llm_breaker_seconds,
            max_pause_seconds=max(settings.llm_breaker_seconds, settings.llm_breaker_max_seconds),
            on_change=_report_breaker,
        ),
    )


async def close_clients() -> None:
    """Close the connections of all clients, in their event loop."""
    for client in list(_clients.values()):
        await client.aclose()


def _count(settings: Settings, call: CallRecord) -> None:
    name = call.name
    metrics.LLM_CALLS.labels(name, call.outcome.value).inc()
    metrics.LLM_TOKENS.labels(name, "prompt").inc(call.prompt_tokens)
    metrics.LLM_TOKENS.labels(name, "completion").inc(call.completion_tokens)
    metrics.LLM_COST.labels(name).inc(settings.llm_cost(call.prompt_tokens, call.completion_tokens))
    metrics.LLM_SECONDS.labels(name).observe(call.latency_ms / 1000)


def _report_breaker(breaker: CircuitBreaker) -> None:
    metrics.LLM_CIRCUIT.set(breaker.state.value)
    if breaker.state is BreakerState.CLOSED:
        logger.warning("the LLM endpoint answers again")
    elif breaker.state is BreakerState.OPEN and breaker.failure is not None:
        failure = breaker.failure
        if not breaker.is_same_outage:
            metrics.LLM_OPENINGS.labels(failure.outcome.value).inc()
        logger.warning(
            "the LLM endpoint %s, %s: %s; no calls for %.1f s%s",
            "is still unavailable" if breaker.is_same_outage else "is unavailable",
            failure.outcome.value,
            failure.detail,
            breaker.remaining_seconds,
            f". {CONFIGURATION_HINT}" if failure.misconfigured else "",
        )
