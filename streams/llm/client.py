"""The LLM client: `openai` with retries, a correction and a circuit breaker."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import httpx2
import orjson
import tenacity
from openai import APIConnectionError, APIResponseValidationError, APIStatusError, AsyncOpenAI, DefaultAioHttpClient
from openai.types.chat import ChatCompletion

from operators.evolve.proposals import ReasonerUnavailable
from operators.llm import prompt_hash
from streams.llm.breaker import BreakerState, CircuitBreaker
from streams.llm.calls import CallFailed, CallRecord, EndpointUnavailable, Outcome, Reply, status_failure
from streams.llm.replies import answer, usage, without_sizes
from streams.settings import Settings

OPENAI_URL = "https://api.openai.com/v1"

# Added to the prompt of the corrective retry; at most 300 characters, which prompt budgets reserve.
CORRECTION = "\n\nYour last reply to this could not be used: {why}. Reply with the JSON object only, free text short."
# Added if the endpoint accepts no schema.
WITH_SCHEMA = "\n\nReply with one JSON object that fits this JSON schema: {schema}"

# Outcomes caused by the endpoint, not by the prompt.
_AWAY = frozenset({Outcome.TIMEOUT, Outcome.CONNECTION, Outcome.SERVER_ERROR})
# Far above the longest answer. Without a limit an endpoint could fill the worker's memory.
MAX_BODY_BYTES = 4 * 1024 * 1024

# At DEBUG it logs whole requests with users' data.
logging.getLogger("openai").setLevel(logging.INFO)


@dataclass
class _Question:
    """A question, and the cost of its calls so far."""

    prompt: str
    name: str
    prompt_hash: str
    # The schema that an answer must fit.
    schema: Mapping[str, Any]
    # The schema as the endpoint gets it.
    sent_schema: Mapping[str, Any]
    max_tokens: int
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    began: float = field(default_factory=time.monotonic)


class LlmClient:
    """Requests JSON that fits a schema from the configured endpoint.

    A client belongs to one event loop. Besides the configured attempts there may be a corrective retry, and a call
    after the schema was refused.

    Args:
        on_call: receives the record of every completed HTTP call.
        limit: entered for each HTTP call, such as a shared semaphore; None: no limit.
        breaker: while it is open, calls fail at once; None: no breaker.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        on_call: Callable[[CallRecord], None] | None = None,
        breaker: CircuitBreaker | None = None,
        limit: AbstractAsyncContextManager[Any] | None = None,
    ) -> None:
        self.settings, self.model = settings, settings.llm_model
        self._on_call = on_call or (lambda _: None)
        self._limit: AbstractAsyncContextManager[Any] = limit or nullcontext()
        self._breaker = breaker or CircuitBreaker()
        self._openai: AsyncOpenAI | None = None
        # False once the endpoint has refused a schema.
        self._accepts_schema = True
        exponential = tenacity.wait_exponential(multiplier=0.25, max=settings.llm_retry_seconds)
        self._backoff = exponential + tenacity.wait_random(0, 0.25)

    async def ask(self, prompt: str, schema: Mapping[str, object], *, name: str, max_tokens: int) -> Reply:
        """Return the model's answer, fitting the schema, at temperature 0.

        `name` names the question in the request and the record: at most 64 letters, digits, `_` and `-`.

        Raises:
            ReasonerUnavailable: there is no usable answer; its outcome is a value of `Outcome`.
        """
        sent = dict(schema) if self.settings.llm_sizes_in_schema else without_sizes(schema)
        question = _Question(prompt, name, prompt_hash(prompt, schema), schema, sent, max_tokens)
        return Reply(
            answer=await self._answer_to(question),
            model=self.model,
            prompt_hash=question.prompt_hash,
            prompt_tokens=question.prompt_tokens,
            completion_tokens=question.completion_tokens,
            latency_ms=_elapsed_ms(question.began),
            calls=question.calls,
        )

    async def aclose(self) -> None:
        """Close the connections."""
        if self._openai is not None:
            await self._openai.close()
            self._openai = None

    async def _answer_to(self, question: _Question) -> dict[str, Any]:
        """Return the answer, after one correction if it needs one."""
        limit, corrected = self.settings.llm_attempts, False
        while True:
            had_schema = self._accepts_schema
            try:
                return await self._insist(question, limit)
            except CallFailed as failed:
                if failed.refused_format and had_schema:
                    self._accepts_schema = False
                elif failed.outcome is Outcome.INVALID_REPLY and not corrected:
                    corrected = True
                    question.prompt += CORRECTION.replace("{why}", failed.detail[:180])
                else:
                    raise self._unavailable(failed, question) from None
                limit = max(limit, question.calls) + 1

    def _unavailable(self, failed: CallFailed, question: _Question) -> ReasonerUnavailable:
        """Return the caller's error, without a cause that may quote the prompt."""
        outcome, detail = failed.outcome.value, f"{failed.detail} ({question.calls} calls)"
        if self._breaker.state is BreakerState.CLOSED:
            return ReasonerUnavailable(outcome, detail)
        return EndpointUnavailable(outcome, detail, lambda: self._breaker.passable)

    async def _insist(self, question: _Question, limit: int) -> dict[str, Any]:
        """Call until a reply, a permanent failure or the limit of calls."""
        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(lambda error: isinstance(error, CallFailed) and error.may_pass),
            stop=lambda _: question.calls >= limit or self._breaker.state is not BreakerState.CLOSED,
            wait=self._pause,
            reraise=True,
        )
        return await retrying(self._call, question, limit)

    def _pause(self, state: tenacity.RetryCallState) -> float:
        error, longest = state.outcome and state.outcome.exception(), self.settings.llm_retry_seconds
        asked = error.retry_after_seconds if isinstance(error, CallFailed) else None
        if asked is None:
            pause = self._backoff(state)
        else:
            # A little later than requested, so that not all clients return at once.
            asked = min(asked, longest)
            pause = tenacity.wait_random(asked, 1.1 * asked)(state)
        return min(pause, longest)

    async def _call(self, question: _Question, limit: int) -> dict[str, Any]:
        """Make one call if the breaker admits it, and report to it."""
        ticket = self._breaker.admit()
        if ticket is None:
            raise CallFailed(Outcome.CIRCUIT_OPEN, "calls are blocked until the endpoint is back")
        question.calls += 1
        try:
            async with self._limit:
                found = await self._recorded(question)
        except CallFailed as failed:
            # A rate limit is no outage while attempts remain, except for a probe.
            last = question.calls >= limit or self._breaker.state is not BreakerState.CLOSED
            if failed.outcome in _AWAY or failed.misconfigured or (failed.outcome is Outcome.RATE_LIMITED and last):
                self._breaker.failed(ticket, failed)
            elif failed.outcome is not Outcome.RATE_LIMITED:
                self._breaker.succeeded(ticket)
            raise
        except BaseException:
            self._breaker.abandoned(ticket)
            raise
        self._breaker.succeeded(ticket)
        return found

    async def _recorded(self, question: _Question) -> dict[str, Any]:
        """Make the call and record it."""
        began, tokens = time.monotonic(), (0, 0)

        def record(outcome: Outcome) -> None:
            spent = _elapsed_ms(began)
            self._on_call(CallRecord(question.name, outcome, self.model, question.prompt_hash, *tokens, spent))

        try:
            completion = await self._complete(question)
            tokens = usage(completion)
            question.prompt_tokens += tokens[0]
            question.completion_tokens += tokens[1]
            found = answer(completion, question.schema)
        except CallFailed as failed:
            record(failed.outcome)
            raise
        record(Outcome.OK)
        return found

    async def _complete(self, question: _Question) -> ChatCompletion:
        """Return the completion, of which any field may be missing or mistyped."""
        if self._openai is None:
            self._openai = connect(self.settings)
        prompt, options = question.prompt, dict[str, Any]()
        if self._accepts_schema:
            schema = {"name": question.name, "strict": True, "schema": question.sent_schema}
            options["response_format"] = {"type": "json_schema", "json_schema": schema}
        else:
            prompt += WITH_SCHEMA.replace("{schema}", orjson.dumps(question.sent_schema).decode())
        try:
            # One timeout for the whole call: an endpoint that drips bytes would never exceed a read timeout.
            async with asyncio.timeout(self.settings.llm_timeout_seconds):
                found: object = await self._openai.chat.completions.create(
                    model=self.model,
                    messages=[{"role": "user", "content": prompt}],
                    temperature=0,
                    max_tokens=question.max_tokens,
                    **options,
                )
        except TimeoutError:
            late = f"no reply within {self.settings.llm_timeout_seconds:g} s"
            raise CallFailed(Outcome.TIMEOUT, late, may_pass=True) from None
        except APIStatusError as error:
            raise status_failure(error) from None
        except APIConnectionError as error:
            if isinstance(error.__cause__, CallFailed):
                raise error.__cause__ from None
            raise CallFailed(Outcome.CONNECTION, "the connection failed or broke", may_pass=True) from None
        except (APIResponseValidationError, ValueError):
            found = None
        if not isinstance(found, ChatCompletion):
            raise CallFailed(Outcome.SERVER_ERROR, "the endpoint did not answer in JSON", may_pass=True)
        return found


def _elapsed_ms(began: float) -> int:
    return round(1000 * (time.monotonic() - began))


def connect(settings: Settings) -> AsyncOpenAI:
    """Return an `openai` client without redirects and retries.

    A prompt goes only to the configured address, or through the proxy that the environment names for it. Credentials
    in the address replace the key, as HTTP has one header for both.
    """
    address = httpx2.URL(settings.llm_base_url or OPENAI_URL)
    http = DefaultAioHttpClient(
        auth=(address.username, address.password) if address.userinfo else None,
        timeout=None,
        follow_redirects=False,
        # Compressed replies could grow beyond the limit after it was checked.
        headers={"Accept-Encoding": "identity"},
        limits=httpx2.Limits(max_connections=0),
        event_hooks={"response": [_bound]},
    )
    key = settings.llm_api_key.get_secret_value() if settings.llm_api_key else ""
    url = address.copy_with(userinfo=b"")
    return AsyncOpenAI(base_url=url, api_key=key or "none", max_retries=0, timeout=None, http_client=http)


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._stream:
            size += len(part)
            if size > MAX_BODY_BYTES:
                raise CallFailed(Outcome.SERVER_ERROR, f"the endpoint sent more than {MAX_BODY_BYTES:,} bytes")
            yield part

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _bound(response: httpx2.Response) -> None:
    if response.headers.get("content-encoding", "identity") != "identity":
        raise CallFailed(Outcome.SERVER_ERROR, "the endpoint compressed its reply, although it was asked not to")
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _Bounded(response.stream)
