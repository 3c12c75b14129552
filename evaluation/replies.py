"""Stores a model's replies by question, so that runs resume.

Each arm gets a `CachedClient` with the interface of `streams.llm.LlmClient`, which accounts for its cost. All clients
of a run share the replies and the budget.
"""

import asyncio
import hashlib
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import duckdb
import orjson

from evaluation.exceptions import BudgetSpent, NoReply, QualityError
from operators.evolve.proposals import ReasonerUnavailable
from operators.llm import prompt_hash
from streams.llm.calls import CallRecord, Outcome, Reply
from streams.llm.client import LlmClient
from streams.settings import Settings

_TABLE = """
CREATE TABLE IF NOT EXISTS replies (
    question VARCHAR PRIMARY KEY, model VARCHAR, name VARCHAR, prompt_hash VARCHAR, answered_at TIMESTAMP,
    outcome VARCHAR, answer JSON, calls INTEGER, prompt_tokens BIGINT, completion_tokens BIGINT, latency_ms BIGINT)
"""
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    # DuckDB 1.5, today's command line, cannot read the default storage of 2.0.
    "storage_compatibility_version": "v1.5.0",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
# Outcomes that depend on the question and not on the endpoint: asking again gives the same outcome.
_ITS_OWN = frozenset({Outcome.INVALID_REPLY, Outcome.REFUSED})


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of LLM calls, as the endpoint counts it.

    `cached_calls` are those of an earlier run, whose replies were kept; `unusable` counts questions.
    """

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_calls: int = 0
    unusable: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        mine, theirs = asdict(self), asdict(other)
        return Cost(**{name: mine[name] + theirs[name] for name in mine})

    def __str__(self) -> str:
        kept = f" ({self.cached_calls:,} kept)" if self.cached_calls else ""
        return f"{self.calls:,} calls{kept}, {self.prompt_tokens + self.completion_tokens:,} tokens"


@dataclass(frozen=True, slots=True)
class StoredReply:
    """The outcome of a question, with its answer or detail."""

    outcome: Outcome
    answer: Any
    cost: Cost
    prompt_hash: str
    latency_ms: int


class Replies:
    """The stored replies and the budget of new calls (None: unlimited).

    `path` is a DuckDB file, created if missing; None: memory. QualityError if it cannot be opened.
    """

    def __init__(self, path: Path | None = None, calls: int | None = None) -> None:
        self.path = path
        self.asked = Cost()
        self._calls = calls
        # Kept open: a commit per reply takes a millisecond, opening a file fifty.
        self._db = _opened(path)
        self._stopped: QualityError | None = None
        self._by_hash: dict[str, Cost] = {}
        self._under_way: dict[str, asyncio.Task[StoredReply]] = {}
        self._unanswered = 0

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def count(self, call: CallRecord) -> None:
        """Account for an HTTP call; for `LlmClient(on_call=...)`."""
        cost = Cost(1, call.prompt_tokens, call.completion_tokens)
        self.asked += cost
        self._by_hash[call.prompt_hash] = self._by_hash.get(call.prompt_hash, Cost()) + cost

    async def answer(
        self, question: str, name: str, model: str, ask: Callable[[], Coroutine[Any, Any, StoredReply]]
    ) -> StoredReply:
        """The stored answer, or a new one; no question is asked twice.

        Raises:
            BudgetSpent: it would need a new call. All calls in flight have been answered and stored by then.
        """
        found = self._find(question)
        if found is not None:
            return found
        known = self._under_way.get(question)
        if known is None:
            if self._calls is not None and self.asked.calls + self._unanswered >= self._calls:
                spent = f"the budget of {self._calls:,} calls is spent. {self.how_to_continue()}"
                self._stopped = self._stopped or BudgetSpent(spent)
            if self._stopped is not None:
                await self._settle()
                raise self._stopped
            self._unanswered += 1
            known = asyncio.create_task(self._ask(question, name, model, ask))
            self._under_way[question] = known
            known.add_done_callback(lambda task: self._done(question, task))
        try:
            # Shielded from a cancelled caller: this call costs money already.
            return await asyncio.shield(known)
        except QualityError as error:
            self._stopped = self._stopped or error
            await self._settle()
            raise

    def spent_on(self, prompt_hash: str) -> Cost:
        """Take the cost of a question's calls in this run."""
        return self._by_hash.pop(prompt_hash, Cost())

    def how_to_continue(self) -> str:
        """How to continue, for error messages."""
        if self.path is None:
            return "The answers so far are lost, because no file stores them"
        return f"The answers so far are stored in {self.path}; the same command continues from there"

    async def _settle(self) -> None:
        """Wait until all calls are answered and stored."""
        if self._under_way:
            await asyncio.wait(list(self._under_way.values()))

    def _done(self, question: str, task: asyncio.Task[StoredReply]) -> None:
        self._under_way.pop(question, None)
        if not task.cancelled():
            task.exception()  # the caller may be gone; an unretrieved error would be logged

    async def _ask(
        self, question: str, name: str, model: str, ask: Callable[[], Coroutine[Any, Any, StoredReply]]
    ) -> StoredReply:
        try:
            kept = await ask()
        finally:
            # From here on its calls are counted as asked.
            self._unanswered -= 1
        row = [question, model, name, kept.prompt_hash, kept.outcome.value, orjson.dumps(kept.answer).decode()]
        cost = [kept.cost.calls, kept.cost.prompt_tokens, kept.cost.completion_tokens, kept.latency_ms]
        self._db.execute(
            "INSERT OR REPLACE INTO replies SELECT ?, ?, ?, ?, now()::TIMESTAMP, ?, ?, ?, ?, ?, ?", row + cost
        )
        return kept

    def _find(self, question: str) -> StoredReply | None:
        found = self._db.execute(
            "SELECT outcome, answer, calls, prompt_tokens, completion_tokens, prompt_hash, latency_ms "
            "FROM replies WHERE question = ?",
            [question],
        ).fetchone()
        if found is None:
            return None
        outcome, answer, calls, prompt_tokens, completion_tokens, prompt_hash, latency_ms = found
        cost = Cost(calls, prompt_tokens, completion_tokens, cached_calls=calls)
        return StoredReply(Outcome(outcome), orjson.loads(answer), cost, prompt_hash, latency_ms)


class CachedClient:
    """A client whose replies are stored, with the account of one arm."""

    def __init__(self, endpoint: LlmClient, replies: Replies, form: str = "") -> None:
        self._endpoint = endpoint
        self._replies = replies
        self._form = form
        self.spent = Cost()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._endpoint.aclose()

    async def ask(self, prompt: str, schema: Mapping[str, object], *, name: str, max_tokens: int) -> Reply:
        """Ask like `LlmClient`; may raise NoReply or BudgetSpent."""
        model, hashed = self._endpoint.model, prompt_hash(prompt, schema)

        async def asked() -> StoredReply:
            began = time.monotonic()
            try:
                outcome: Outcome = Outcome.OK
                answer: object = (await self._endpoint.ask(prompt, schema, name=name, max_tokens=max_tokens)).answer
            except ReasonerUnavailable as error:
                if error.outcome not in _ITS_OWN:
                    raise NoReply(
                        f"the endpoint does not answer: {error}. {self._replies.how_to_continue()}"
                    ) from error
                outcome, answer = Outcome(error.outcome), error.detail
            latency_ms = round(1000 * (time.monotonic() - began))
            return StoredReply(outcome, answer, self._replies.spent_on(hashed), hashed, latency_ms)

        key = orjson.dumps([model, self._form, name, prompt, schema, max_tokens])
        kept = await self._replies.answer(hashlib.sha256(key).hexdigest(), name, model, asked)
        self.spent += kept.cost
        if kept.outcome is not Outcome.OK:
            self.spent += Cost(unusable=1)
            raise ReasonerUnavailable(kept.outcome.value, str(kept.answer))
        return Reply(
            answer=kept.answer,
            model=model,
            prompt_hash=kept.prompt_hash,
            prompt_tokens=kept.cost.prompt_tokens,
            completion_tokens=kept.cost.completion_tokens,
            latency_ms=kept.latency_ms,
            calls=kept.cost.calls,
        )


def client_of(settings: Settings, replies: Replies) -> CachedClient:
    """The configured endpoint with stored replies and all calls counted."""
    # No circuit breaker: if the endpoint stays down, the run ends and can be resumed.
    client = LlmClient(settings, on_call=replies.count)
    # Requests to one model differ only in the form of a strict schema.
    return CachedClient(client, replies, f"sizes={settings.llm_sizes_in_schema}")


def _opened(path: Path | None) -> duckdb.DuckDBPyConnection:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
    try:
        db = duckdb.connect(str(path or ":memory:"), config=_CONFIG)
        db.execute(_TABLE)
    except duckdb.Error as error:
        held = "lock" in str(error).lower()
        why = "another process holds it: wait for it, or" if held else f"it cannot be opened ({error}):"
        raise QualityError(f"{path} cannot store the replies: {why} name another --results") from error
    return db
