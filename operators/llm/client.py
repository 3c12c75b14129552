"""The one place that talks to a model: timeouts, retries, repair and refusal live here and nowhere else."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import orjson

from operators.evolve.proposal import ReasonerUnavailable
from operators.llm.failures import CallFailed, status_failure
from operators.llm.records import CallRecord, Outcome, Reply
from operators.llm.replies import BadReply, assert_supported, read, without_sizes

try:
    import openai
    import tenacity
except ImportError as missing:
    raise ImportError("the LLM client needs an optional extra: pip install 'sager-streams[llm]'") from missing

CORRECTION = "\n\nYour last reply to this could not be used: {why}. Reply with the JSON object only, free text short."
"""Added to the prompt of the corrective retry; at most 300 characters, so that a prompt's budget can allow for it."""


class LlmClient:
    """Asks a model for JSON that fits a schema. Belongs to the event loop in which it is first used.

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
    ) -> None:
        if attempts < 1 or timeout_seconds <= 0 or max_retry_seconds < 0:
            raise ValueError("attempts, timeout_seconds and max_retry_seconds must be positive")
        self.model = model
        self.attempts = attempts
        self.timeout_seconds = timeout_seconds
        self.max_retry_seconds = max_retry_seconds
        self._sizes_in_schema = sizes_in_schema
        self._on_call = on_call or (lambda _: None)
        self._openai = openai.AsyncOpenAI(
            base_url=base_url, api_key=api_key or "none", timeout=timeout_seconds, max_retries=0
        )
        # Version 2 of the library logs whole requests at DEBUG: prompts hold people's words and are never logged.
        logging.getLogger("openai").setLevel(logging.INFO)
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
        question = _Question(prompt, schema, name, max_tokens, prompt_hash(prompt, schema))
        spent = _Spent()
        began = time.monotonic()
        try:
            try:
                answer = await self._insist(question, spent, limit=self.attempts)
            except CallFailed as failed:
                if failed.outcome is not Outcome.INVALID_REPLY:
                    raise
                corrected = replace(question, prompt=prompt + CORRECTION.format(why=failed.detail[:180]))
                answer = await self._insist(corrected, spent, limit=self.attempts + 1)
        except CallFailed as failed:
            # The cause is left out on purpose: an endpoint's error may quote the prompt or the key.
            raise ReasonerUnavailable(failed.outcome.value, f"{failed.detail} ({spent.calls} calls)") from None
        return Reply(
            answer=answer,
            model=self.model,
            prompt_hash=question.prompt_hash,
            prompt_tokens=spent.prompt_tokens,
            completion_tokens=spent.completion_tokens,
            latency_ms=_milliseconds_since(began),
            calls=spent.calls,
        )

    async def aclose(self) -> None:
        """Closes the connections. The client cannot be used afterwards."""
        await self._openai.close()

    async def _insist(self, question: "_Question", spent: "_Spent", limit: int) -> dict[str, Any]:
        """Calls until there is a reply, a failure that retrying does not heal, or `limit` calls have been spent."""
        retrying = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(lambda error: isinstance(error, CallFailed) and error.may_pass),
            stop=lambda _: spent.calls >= limit,
            wait=self._pause,
            reraise=True,
        )
        return await retrying(self._call, question, spent)

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

    async def _call(self, question: "_Question", spent: "_Spent") -> dict[str, Any]:
        """One HTTP call and its record."""
        began = time.monotonic()
        outcome: Outcome | None = None
        prompt_tokens = completion_tokens = 0
        spent.calls += 1
        try:
            body = await self._post(question)
            prompt_tokens, completion_tokens = _usage(body)
            spent.prompt_tokens += prompt_tokens
            spent.completion_tokens += completion_tokens
            answer = _answer(body, question.schema)
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
                        latency_ms=_milliseconds_since(began),
                    )
                )
        return answer

    async def _post(self, question: "_Question") -> object:
        schema = dict(question.schema) if self._sizes_in_schema else without_sizes(question.schema)
        try:
            # The library's own timeout is per read: an endpoint that drips bytes would never reach it.
            async with asyncio.timeout(self.timeout_seconds):
                response = await self._openai.chat.completions.with_raw_response.create(
                    model=self.model,
                    messages=[{"role": "user", "content": question.prompt}],
                    response_format={
                        "type": "json_schema",
                        "json_schema": {"name": question.name, "strict": True, "schema": schema},
                    },
                    temperature=0,
                    max_tokens=question.max_tokens,
                )
            # Raw, because the library builds its models without checking: any field could be anything.
            body: object = orjson.loads(response.http_response.content)
        except (TimeoutError, openai.APITimeoutError):
            late = f"no reply within {self.timeout_seconds:g} s"
            raise CallFailed(Outcome.TIMEOUT, late, may_pass=True) from None
        except openai.APIStatusError as error:
            raise status_failure(error.status_code, error.response.headers, (error.code, error.param)) from None
        except openai.APIConnectionError:
            raise CallFailed(Outcome.CONNECTION, "the connection failed or broke", may_pass=True) from None
        except (openai.OpenAIError, orjson.JSONDecodeError):
            raise CallFailed(Outcome.SERVER_ERROR, "the endpoint did not answer in JSON", may_pass=True) from None
        return body


@dataclass(frozen=True)
class _Question:
    prompt: str
    schema: Mapping[str, object]
    name: str
    max_tokens: int
    prompt_hash: str


@dataclass
class _Spent:
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


def prompt_hash(prompt: str, schema: Mapping[str, object]) -> str:
    """Blake2b of all that the model is told, 16 hex digits."""
    return blake2b(prompt.encode() + b"\0" + orjson.dumps(schema), digest_size=8).hexdigest()


def _answer(body: object, schema: Mapping[str, Any]) -> dict[str, Any]:
    match body:
        case {"choices": [{"message": {"refusal": str(why)}}, *_]} if why:
            raise CallFailed(Outcome.REFUSED, "the model refused")
        case {"choices": [{"finish_reason": "content_filter"}, *_]}:
            raise CallFailed(Outcome.REFUSED, "the endpoint's content filter stepped in")
        case {"choices": [{"message": {"content": str(text)}} as choice, *_]} if text:
            try:
                return read(text, schema)
            except BadReply as bad:
                cut_off = choice.get("finish_reason") == "length"
                why = "it was too long and was cut off" if cut_off else str(bad)
                raise CallFailed(Outcome.INVALID_REPLY, why) from None
        case _:
            raise CallFailed(Outcome.INVALID_REPLY, "it was empty")


def _usage(body: object) -> tuple[int, int]:
    match body:
        case {"usage": {"prompt_tokens": int(read_in), "completion_tokens": int(written)}}:
            return max(0, read_in), max(0, written)
        case _:
            return 0, 0


def _milliseconds_since(began: float) -> int:
    return round(1000 * (time.monotonic() - began))
