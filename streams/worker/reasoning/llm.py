"""What a worker asks a model for: the client from the settings, its calls counted and its endpoint's state told."""

import asyncio
import logging
import random
import time
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakSet, WeakValueDictionary

from operators.evolve import GatedReasoner, Reasoner
from operators.evolve.llm import LlmReasoner
from operators.language.correction_llm import LlmUnderstanding
from operators.language.extraction import LlmListening
from operators.rank.listwise import ListwiseRanker
from operators.slim.llm import LlmExtract
from operators.tokens import count_tokens
from streams.language import RULES
from streams.llm import BreakerState, CallRecord, CircuitBreaker, Outcome
from streams.settings import By, RankerName, Settings
from streams.vouching import vouching_of
from streams.worker import metrics
from streams.worker.reasoning.models import Models

if TYPE_CHECKING:
    from streams.llm.client import LlmClient

logger = logging.getLogger("sager.llm")

OPENAI_URL = "https://api.openai.com/v1"
CONFIGURATION = (
    "calls will fail until it is mended: see to SAGER_LLM_API_KEY (401, 403), SAGER_LLM_MODEL (403, 404) and "
    "SAGER_LLM_BASE_URL (404, or a redirect, which is not followed), and start the worker again"
)

_clients: "WeakValueDictionary[tuple[object, ...], LlmClient]" = WeakValueDictionary()
_all: "WeakSet[LlmClient]" = WeakSet()
_limits: WeakValueDictionary[int, asyncio.Semaphore] = WeakValueDictionary()


def llm_reasoner(settings: Settings) -> Reasoner:
    """A reasoner that asks the configured endpoint, if wanted only where there is something new to judge."""
    reasoner = LlmReasoner(shared_client(settings), count_tokens=count_tokens, vouching=vouching_of(settings))
    return GatedReasoner(reasoner, _count_gated) if settings.gate else reasoner


def llm_reader(settings: Settings) -> LlmUnderstanding:
    """A reader of corrections that asks the configured endpoint."""
    return LlmUnderstanding(shared_client(settings), count_tokens=count_tokens, vouching=vouching_of(settings))


def llm_listener(settings: Settings) -> LlmListening:
    """A reader of conversations that asks the configured endpoint."""
    return LlmListening(
        shared_client(settings), count_tokens=count_tokens, vouching=vouching_of(settings), extractor=RULES
    )


def arm_reasoner(settings: Settings, purpose: str) -> Reasoner:
    """The reasoner of an arm beside the live one, with a client and a circuit breaker of its own."""
    client, vouching = llm_client(settings, purpose), vouching_of(settings)
    reasoner = LlmReasoner(client, count_tokens=count_tokens, vouching=vouching)
    return GatedReasoner(reasoner) if settings.gate else reasoner


def llm_models(settings: Settings) -> Models:
    """The models of the stages before a ranking."""
    client = shared_client(settings)
    asks: dict[str, Any] = {"count_tokens": count_tokens, "vouching": vouching_of(settings)}
    ranks = settings.ranker is not RankerName.DETERMINISTIC
    return Models(
        extract=LlmExtract(client, **asks) if settings.extract_by is By.LLM else None,
        rank=ListwiseRanker(client, orders=settings.rank_orders, **asks) if ranks else None,
    )


def shared_client(settings: Settings) -> "LlmClient":
    """The one client of these settings, for as long as somebody holds it.

    Who asks the same endpoint learns from each other's failures: reasoner and ranker share one circuit
    breaker, and its connections. Nobody may close it by itself: `close_clients` does.
    """
    name = tuple(getattr(settings, field) for field in sorted(Settings.model_fields) if field.startswith("llm_"))
    client = _clients.get(name)
    if client is None:
        client = _clients[name] = llm_client(settings)
    return client


def llm_client(settings: Settings, purpose: str = "") -> "LlmClient":
    """A client of the configured endpoint, for the caller alone. Its calls are counted.

    Args:
        settings: the endpoint.
        purpose: for what beside the live path, told before the prompt's name in the metrics. The state of such a
            client's circuit is its own, and not told: it says nothing about the live path.
    """
    from streams.llm.client import LlmClient  # noqa: PLC0415 - the openai package takes half a second

    key = settings.llm_api_key.get_secret_value() if settings.llm_api_key else ""
    for outcome in set(Outcome) - {Outcome.OK, Outcome.CIRCUIT_OPEN}:
        metrics.LLM_OPENINGS.labels(outcome.value)  # at 0, so that the first outage is seen as an increase
    client = LlmClient(
        base_url=settings.llm_base_url or OPENAI_URL,
        api_key=key,
        model=settings.llm_model,
        timeout_seconds=settings.llm_timeout_seconds,
        attempts=settings.llm_attempts,
        max_retry_seconds=settings.llm_retry_seconds,
        sizes_in_schema=settings.llm_sizes_in_schema,
        on_call=partial(_count, settings, purpose),
        limit=_limit_of(settings),
        breaker=CircuitBreaker(
            failures=settings.llm_breaker_failures,
            pause_seconds=settings.llm_breaker_seconds,
            max_pause_seconds=max(settings.llm_breaker_seconds, settings.llm_breaker_max_seconds),
            clock=time.monotonic,
            chance=random.random,
            on_change=(lambda _: None) if purpose else _tell,
        ),
    )
    _all.add(client)
    return client


def _limit_of(settings: Settings) -> asyncio.Semaphore:
    """Limits concurrent model calls, for all clients of this process together."""
    limit = _limits.get(settings.in_flight)
    if limit is None:
        limit = _limits[settings.in_flight] = asyncio.Semaphore(settings.in_flight)
    return limit


async def close_clients() -> None:
    """Closes the connections of all clients that were made here, in the event loop that they belong to, at its end."""
    for client in list(_all):
        await client.aclose()


def _count(settings: Settings, purpose: str, call: CallRecord) -> None:
    name = f"{purpose}:{call.name}" if purpose else call.name
    metrics.LLM_CALLS.labels(name, call.outcome.value).inc()
    metrics.LLM_TOKENS.labels(name, "prompt").inc(call.prompt_tokens)
    metrics.LLM_TOKENS.labels(name, "completion").inc(call.completion_tokens)
    metrics.LLM_COST.labels(name).inc(settings.llm_cost(call.prompt_tokens, call.completion_tokens))
    metrics.LLM_SECONDS.labels(name).observe(call.latency_ms / 1000)


def _tell(breaker: CircuitBreaker) -> None:
    """Count and log what the circuit breaker has just done."""
    metrics.LLM_CIRCUIT.set(breaker.state.value)
    if breaker.state is BreakerState.CLOSED:
        logger.warning("the LLM endpoint answers again")
    elif breaker.state is BreakerState.OPEN and breaker.failure is not None:
        failure = breaker.failure
        if not breaker.still_away:
            metrics.LLM_OPENINGS.labels(failure.outcome.value).inc()
        logger.warning(
            "the LLM endpoint %s, %s: %s; no calls for %.1f s%s",
            "is still away" if breaker.still_away else "is away",
            failure.outcome.value,
            failure.detail,
            breaker.remaining_seconds,
            f". {CONFIGURATION}" if failure.misconfigured else "",
        )


def _count_gated() -> None:
    metrics.GATED.inc()
