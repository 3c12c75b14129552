"""The one place that talks to a model: timeouts, retries, repair and refusal live here and nowhere else."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from typing import Any, TypeVar

import aiohttp
import orjson
import tenacity

from operators.asks import prompt_hash
from operators.evolve.proposal import ReasonerUnavailable
from operators.llm import endpoint
from operators.llm.bodies import TOP_LOGPROBS, answer, choice_logprobs, usage
from operators.llm.breaker import BreakerState, CircuitBreaker
from operators.llm.failures import CallFailed, EndpointAway, status_failure
from operators.llm.questions import Question, Spent, milliseconds_since
from operators.llm.records import CallRecord, FirstToken, Outcome, Reply
from operators.llm.replies import assert_supported, without_sizes

CORRECTION = "\n\nYour last reply to this could not be used: {why}. Reply with the JSON object only, free text short."
"""Added to the prompt of the corrective retry; at most 300 characters, so that a prompt's budget can allow for it."""
CHOICE_CORRECTION = "\n\nYour last reply to this could not be used: {why}. Reply with one of these only: {choices}."
"""The same for a question of which only the first token counts."""

_AWAY = frozenset({Outcome.TIMEOUT, Outcome.CONNECTION, Outcome.SERVER_ERROR})
"""Failures that tell of the endpoint and not of the question."""
_LOOK_SECONDS = 0.25
"""How soon a pause before a retry notices that the circuit has opened."""

_T = TypeVar("_T")


class LlmClient:
    """Asks a model for JSON that fits a schema, or for a first token. Belongs to the event loop of its first use.

    Args:
        base_url: of an OpenAI-compatible endpoint, such as `http://127.0.0.1:8091/v1`.
        api_key: may be empty for a local endpoint.
        model: the model's name there.
        timeout_seconds: for one HTTP call, from connecting to the last byte.
        attempts: HTTP calls per question. The corrective retry after an unusable reply is allowed one more.
        max_retry_seconds: longest pause before a retry, whatever `Retry-After` says.
        sizes_in_schema: send `maxLength` and `maxItems` too. llama.cpp and vLLM hold a model to them, without which
            a small one talks until it is cut off; OpenAI, Azure and Anthropic document strict schemas without (some
            of) them, so by default only our check knows them.
        on_call: is told of every HTTP call once it has ended; not of one that was cancelled.
        limit: entered for each HTTP call, such as a semaphore that several clients share; None: no limit.
        breaker: while it is open, questions fail at once and no call goes out; None: every call goes out.
    """

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str,
        model: str,
        timeout_seconds: float,
        attempts: int,
        max_retry_seconds: float,
        sizes_in_schema: bool = False,
        on_call: Callable[[CallRecord], None] | None = None,
        breaker: CircuitBreaker | None = None,
        limit: AbstractAsyncContextManager[Any] | None = None,
    ) -> None:
        if attempts < 1 or timeout_seconds <= 0 or max_retry_seconds < 0:
            raise ValueError("attempts, timeout_seconds and max_retry_seconds must be positive")
        self.model = model
        self.attempts = attempts
        self.timeout_seconds = timeout_seconds
        self.max_retry_seconds = max_retry_seconds
        self._sizes_in_schema = sizes_in_schema
        self._on_call = on_call or (lambda _: None)
        self._limit: AbstractAsyncContextManager[Any] = limit or nullcontext()
        self._breaker = breaker or CircuitBreaker(
            failures=0, pause_seconds=0, max_pause_seconds=0, clock=time.monotonic, chance=lambda: 0.0
        )
        self._url = endpoint.address(base_url, "chat/completions")
        self._headers = endpoint.headers(self._url, api_key)
        self._session: aiohttp.ClientSession | None = None
        self._backoff = tenacity.wait_exponential(multiplier=0.25, max=max_retry_seconds) + tenacity.wait_random(
            0, 0.25
        )

    @property
    def worst_case_seconds(self) -> float:
        """No question takes longer than this: every call times out, every pause is the longest."""
        return (self.attempts + 1) * self.timeout_seconds + self.attempts * self.max_retry_seconds

    async def ask(self, prompt: str, schema: Mapping[str, object], *, name: str, max_tokens: int) -> Reply:
        """The model's answer to this prompt, fitting this schema, at temperature 0.

        Args:
            prompt: the one user message.
            schema: JSON Schema of an object, of the keywords that `operators.llm.replies` checks.
            name: what is asked, for the endpoint and the record: letters, digits, `_`, `-`; at most 64.
            max_tokens: the most that one reply may cost, in the model's tokens.

        Raises:
            ReasonerUnavailable: there is no usable answer; its outcome is a value of `Outcome`.
            ValueError: the schema uses keywords that are not checked.
        """
        assert_supported(schema)
        sent = dict(schema) if self._sizes_in_schema else without_sizes(schema)
        form = {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": sent}}
        question: Question[Mapping[str, Any]] = Question(
            prompt,
            name,
            prompt_hash(prompt, schema),
            {"response_format": form, "max_tokens": max_tokens},
            lambda body: answer(body, schema),
            CORRECTION,
        )
        spent = Spent()
        return Reply(answer=await self._answer_to(question, spent), **self._cost(question, spent))

    async def first_token(self, prompt: str, choices: Sequence[str], *, name: str) -> FirstToken:
        """How probable the model finds each choice as the first token of its answer, at the price of one token.

        Args:
            prompt: the one user message; it names the choices and asks for one of them and nothing else.
            choices: short words that are one token each, such as letters, and differ in more than case; at most 20,
                because OpenAI tells no more alternatives of a token.
            name: what is asked, as in `ask`.

        Raises:
            ReasonerUnavailable: there is no usable answer; its outcome is a value of `Outcome`, `no-logprobs` if the
                endpoint has answered but does not tell probabilities.
            ValueError: there are no choices, too many, or two that are the same but for case.
        """
        if not 0 < len({choice.casefold() for choice in choices}) == len(choices) <= TOP_LOGPROBS:
            raise ValueError(f"choices must be 1 to {TOP_LOGPROBS} different words")
        question = Question(
            prompt,
            name,
            prompt_hash(prompt, {"choices": list(choices)}),
            {"logprobs": True, "top_logprobs": TOP_LOGPROBS, "max_tokens": 1},
            lambda body: choice_logprobs(body, choices),
            CHOICE_CORRECTION.replace("{choices}", ", ".join(choices)),
        )
        spent = Spent()
        logprobs, seen = await self._answer_to(question, spent)
        return FirstToken(logprobs=logprobs, seen=seen, **self._cost(question, spent))

    async def aclose(self) -> None:
        """Closes the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _answer_to(self, question: Question[_T], spent: Spent) -> _T:
        """The answer, after one correction if it takes one."""
        try:
            try:
                return await self._insist(question, spent, limit=self.attempts)
            except CallFailed as failed:
                if failed.outcome is not Outcome.INVALID_REPLY:
                    raise
                corrected = replace(
                    question, prompt=question.prompt + question.correction.replace("{why}", failed.detail[:180])
                )
                return await self._insist(corrected, spent, limit=self.attempts + 1)
        except CallFailed as failed:
            # The cause is left out on purpose: an endpoint's error may quote the prompt or the key.
            outcome, detail = failed.outcome.value, f"{failed.detail} ({spent.calls} calls)"
            if self._breaker.state is BreakerState.CLOSED:
                raise ReasonerUnavailable(outcome, detail) from None
            raise EndpointAway(outcome, detail, lambda: self._breaker.passable) from None

    def _cost(self, question: Question[Any], spent: Spent) -> dict[str, Any]:
        return {
            "model": self.model,
            "prompt_hash": question.prompt_hash,
            "prompt_tokens": spent.prompt_tokens,
            "completion_tokens": spent.completion_tokens,
            "latency_ms": milliseconds_since(spent.began),
            "calls": spent.calls,
        }

    async def _insist(self, question: Question[_T], spent: Spent, limit: int) -> _T:
        """Calls until there is a reply, a failure that retrying does not heal, or `limit` calls have been spent."""
        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(lambda error: isinstance(error, CallFailed) and error.may_pass),
            stop=lambda _: spent.calls >= limit or self._breaker.state is not BreakerState.CLOSED,
            wait=self._pause,
            sleep=self._sleep,
            reraise=True,
        )
        return await retrying(self._call, question, spent, limit)

    async def _sleep(self, seconds: float) -> None:
        """The pause before a retry; it ends when there will be none, because the circuit has opened."""
        until = time.monotonic() + seconds
        while self._breaker.state is BreakerState.CLOSED and (remaining := until - time.monotonic()) > 0:  # noqa: ASYNC110 - a breaker knows no event loop
            await asyncio.sleep(min(remaining, _LOOK_SECONDS))

    def _pause(self, state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = error.retry_after_seconds if isinstance(error, CallFailed) else None
        if asked is None:
            pause = self._backoff(state)
        else:
            # A little later than asked, so that all who were told the same do not come back at once.
            asked = min(asked, self.max_retry_seconds)
            pause = tenacity.wait_random(asked, 1.1 * asked)(state)
        return min(pause, self.max_retry_seconds)

    async def _call(self, question: Question[_T], spent: Spent, limit: int) -> _T:
        """One call, if the circuit breaker lets it out, and what it tells of the endpoint."""
        ticket = self._breaker.admit()
        if ticket is None:
            raise CallFailed(Outcome.CIRCUIT_OPEN, "no calls go out until the endpoint is back")
        spent.calls += 1
        try:
            found = await self._recorded(question, spent)
        except CallFailed as failed:
            # A rate limit that a later attempt may still get through is no outage, unless it meets the probe.
            last = spent.calls >= limit or self._breaker.state is not BreakerState.CLOSED
            if failed.outcome in _AWAY or failed.misconfigured or (failed.outcome is Outcome.RATE_LIMITED and last):
                self._breaker.failed(ticket, failed)
            elif failed.outcome is not Outcome.RATE_LIMITED:
                self._breaker.succeeded(ticket)
            raise
        except BaseException:
            self._breaker.left(ticket)
            raise
        self._breaker.succeeded(ticket)
        return found

    async def _recorded(self, question: Question[_T], spent: Spent) -> _T:
        """Make one HTTP call within the concurrency limit, and record it."""
        async with self._limit:
            return await self._timed(question, spent)

    async def _timed(self, question: Question[_T], spent: Spent) -> _T:
        """Make the call; its latency begins when it goes out."""
        began = time.monotonic()
        outcome: Outcome | None = None
        prompt_tokens = completion_tokens = 0
        try:
            body = await self._post(question)
            prompt_tokens, completion_tokens = usage(body)
            spent.prompt_tokens += prompt_tokens
            spent.completion_tokens += completion_tokens
            found = question.read(body)
            outcome = Outcome.OK
        except CallFailed as failed:
            outcome = failed.outcome
            raise
        finally:
            if outcome is not None:
                self._on_call(
                    CallRecord(
                        name=question.name,
                        outcome=outcome,
                        model=self.model,
                        prompt_hash=question.prompt_hash,
                        prompt_tokens=prompt_tokens,
                        completion_tokens=completion_tokens,
                        latency_ms=milliseconds_since(began),
                    )
                )
        return found

    async def _post(self, question: Question[Any]) -> object:
        """The body of the endpoint's answer, as it was sent: any field could be anything."""
        if self._session is None:
            self._session = endpoint.new_session(self._url)
        messages = [{"role": "user", "content": question.prompt}]
        asked = orjson.dumps({"model": self.model, "messages": messages, "temperature": 0, **question.wanted})
        try:
            # One limit for all of it: an endpoint that drips bytes would never exceed one per read.
            async with asyncio.timeout(self.timeout_seconds):
                # A redirect is not followed: a prompt goes to the address that was configured, and to no other.
                async with self._session.post(
                    self._url, data=asked, headers=self._headers, allow_redirects=False
                ) as response:
                    raw = await endpoint.read_body(response)
        except TimeoutError:
            late = f"no reply within {self.timeout_seconds:g} s"
            raise CallFailed(Outcome.TIMEOUT, late, may_pass=True) from None
        except (aiohttp.ClientError, OSError):
            raise CallFailed(Outcome.CONNECTION, "the connection failed or broke", may_pass=True) from None
        if not endpoint.is_success(response.status):
            failed = status_failure(response.status, response.headers, raw)
            # Some endpoints refuse to tell probabilities instead of leaving them out, each in its own words.
            if failed.outcome is Outcome.CLIENT_ERROR and "logprobs" in question.wanted and b"logprobs" in raw:
                raise CallFailed(Outcome.NO_LOGPROBS, f"{failed.detail}: no log-probabilities")
            raise failed
        try:
            body: object = orjson.loads(raw)
        except orjson.JSONDecodeError:
            raise CallFailed(Outcome.SERVER_ERROR, "the endpoint did not answer in JSON", may_pass=True) from None
        return body
