"""A model's replies, kept by question: a run that was interrupted goes on, and one that is repeated asks nothing.

Whoever asks gets a `Desk`, which has the form of `operators.llm.LlmClient` and keeps the account of one arm. The kept
replies and the budget belong to all desks of a run.
"""

import asyncio
import hashlib
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import duckdb
import orjson

from evaluation.arms.arm import Cost
from evaluation.exceptions import BadResults, BudgetSpent, NoReply, QualityError
from operators.evolve import ReasonerUnavailable
from operators.llm import CallRecord, FirstToken, Outcome, Reply
from operators.llm.questions import milliseconds_since, prompt_hash

LAYOUT = 1
_TABLES = (
    "CREATE TABLE replies_layout (version INTEGER)",
    """CREATE TABLE replies (
        question VARCHAR PRIMARY KEY, model VARCHAR, name VARCHAR, prompt_hash VARCHAR, answered_at TIMESTAMP,
        outcome VARCHAR, told JSON,
        calls INTEGER, prompt_tokens BIGINT, completion_tokens BIGINT, latency_ms BIGINT)""",
)
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    # DuckDB 1.5, today's command line, cannot read the default storage of 2.0.
    "storage_compatibility_version": "v1.5.0",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
_ITS_OWN = frozenset({Outcome.INVALID_REPLY, Outcome.REFUSED, Outcome.NO_LOGPROBS})
"""Outcomes that tell of the question and not of the endpoint: asked again, it would end so again."""


class Endpoint(Protocol):
    """What asks. `operators.llm.LlmClient` is one."""

    model: str

    async def ask(self, prompt: str, schema: Mapping[str, object], *, name: str, max_tokens: int) -> Reply:
        """The model's answer to this prompt, fitting this schema."""
        ...

    async def first_token(self, prompt: str, choices: Sequence[str], *, name: str) -> FirstToken:
        """How probable each choice is as the first token of the answer."""
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...


@dataclass(frozen=True, slots=True)
class Kept:
    """How a question ended.

    Attributes:
        outcome: `ok`, or one that tells of the question.
        told: the answer, or the failure's detail.
        cost: of all its calls.
    """

    outcome: Outcome
    told: Any
    cost: Cost
    prompt_hash: str
    latency_ms: int


class Replies:
    """The kept replies and the budget.

    Args:
        path: the DuckDB file that keeps them, created; None: nothing is kept beyond this object.
        calls, tokens: how many may be spent on new replies; None: any number.

    Raises:
        BadResults: the file is none of replies, or another process holds it for too long.
    """

    def __init__(self, path: Path | None = None, calls: int | None = None, tokens: int | None = None) -> None:
        self.path = path
        self.asked = Cost()
        self._calls, self._tokens = calls, tokens
        # Open all the time: a commit per reply takes a millisecond, opening a file fifty.
        self._db = _opened(path)
        self._stopped: QualityError | None = None
        self._by_hash: dict[str, Cost] = {}
        self._under_way: dict[str, asyncio.Task[Kept]] = {}
        self._unanswered = 0

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def count(self, call: CallRecord) -> None:
        """Take an HTTP call into account; for `LlmClient(on_call=...)`."""
        cost = Cost(1, call.prompt_tokens, call.completion_tokens)
        self.asked += cost
        self._by_hash[call.prompt_hash] = self._by_hash.get(call.prompt_hash, Cost()) + cost

    async def answer(self, question: str, name: str, model: str, ask: Callable[[], Coroutine[Any, Any, Kept]]) -> Kept:
        """The kept answer, or a new one, which is kept then; nobody asks a question twice, not even at once.

        Raises:
            BudgetSpent: it would be a new one. All that is under way has been answered and kept then.
        """
        found = self._find(question)
        if found is not None:
            return found
        known = self._under_way.get(question)
        if known is None:
            self._stopped = self._stopped or self._too_much()
            if self._stopped is not None:
                await self._settle()
                raise self._stopped
            self._unanswered += 1
            known = asyncio.create_task(self._ask(question, name, model, ask))
            self._under_way[question] = known
            known.add_done_callback(lambda task: self._done(question, task))
        try:
            # Whoever stops waiting for it: this call is paid for.
            return await asyncio.shield(known)
        except QualityError as error:
            self._stopped = self._stopped or error
            await self._settle()
            raise

    def spent_on(self, prompt_hash: str) -> Cost:
        """What the calls of a question of this run have cost so far; then its account begins anew."""
        return self._by_hash.pop(prompt_hash, Cost())

    def kept_where(self) -> str:
        """How to go on, for a message of why it stopped."""
        if self.path is None:
            return "What was answered is lost, for no file keeps it"
        return f"What was answered is kept in {self.path}; the same command goes on from there"

    async def _settle(self) -> None:
        """Wait until nothing is under way; what has been answered by then is kept."""
        if self._under_way:
            await asyncio.wait(list(self._under_way.values()))

    def _done(self, question: str, task: asyncio.Task[Kept]) -> None:
        self._under_way.pop(question, None)
        if not task.cancelled():
            # Whoever asked may be gone; an error that nobody takes would be logged.
            task.exception()

    def _too_much(self) -> QualityError | None:
        """Why one more call would be too much, if it would."""
        tokens = self.asked.prompt_tokens + self.asked.completion_tokens
        if self._calls is not None and self.asked.calls + self._unanswered >= self._calls:
            budget = f"{self._calls:,} calls"
        elif self._tokens is not None and tokens >= self._tokens:
            budget = f"{self._tokens:,} tokens"
        else:
            return None
        return BudgetSpent(f"the budget of {budget} is spent. {self.kept_where()}")

    async def _ask(self, question: str, name: str, model: str, ask: Callable[[], Coroutine[Any, Any, Kept]]) -> Kept:
        try:
            kept = await ask()
        finally:
            # From here on its calls are among those that were asked.
            self._unanswered -= 1
        row = [question, model, name, kept.prompt_hash, kept.outcome.value, orjson.dumps(kept.told).decode()]
        cost = [kept.cost.calls, kept.cost.prompt_tokens, kept.cost.completion_tokens, kept.latency_ms]
        self._db.execute(
            "INSERT OR REPLACE INTO replies SELECT ?, ?, ?, ?, now()::TIMESTAMP, ?, ?, ?, ?, ?, ?", row + cost
        )
        return kept

    def _find(self, question: str) -> Kept | None:
        found = self._db.execute(
            "SELECT outcome, told, calls, prompt_tokens, completion_tokens, prompt_hash, latency_ms "
            "FROM replies WHERE question = ?",
            [question],
        ).fetchone()
        if found is None:
            return None
        outcome, told, calls, prompt_tokens, completion_tokens, prompt_hash, latency_ms = found
        cost = Cost(calls, prompt_tokens, completion_tokens, cached_calls=calls)
        return Kept(Outcome(outcome), orjson.loads(told), cost, prompt_hash, latency_ms)


class Desk:
    """A client whose replies are kept, and the account of whoever holds it.

    Args:
        endpoint: who is asked where nothing is kept.
        replies: what is kept.
        form: all else that the answers depend on, such as settings of the endpoint.
    """

    def __init__(self, endpoint: Endpoint, replies: Replies, form: str = "") -> None:
        self._endpoint = endpoint
        self._replies = replies
        self._form = form
        self.spent = Cost()

    async def ask(self, prompt: str, schema: Mapping[str, object], *, name: str, max_tokens: int) -> Reply:
        """As `LlmClient.ask`.

        Raises:
            ReasonerUnavailable: of the reply nothing can be made.
            NoReply: the endpoint did not answer.
            BudgetSpent: the question is new, and too much.
        """

        async def asked() -> Any:
            return (await self._endpoint.ask(prompt, schema, name=name, max_tokens=max_tokens)).answer

        kept = await self._answer([prompt, schema, max_tokens], name, prompt_hash(prompt, schema), asked)
        return Reply(answer=kept.told, **self._record(kept))

    async def first_token(self, prompt: str, choices: Sequence[str], *, name: str) -> FirstToken:
        """As `LlmClient.first_token`; raises as `ask` does."""

        async def asked() -> Any:
            token = await self._endpoint.first_token(prompt, choices, name=name)
            return {"logprobs": dict(token.logprobs), "seen": token.seen}

        hashed = prompt_hash(prompt, {"choices": list(choices)})
        kept = await self._answer([prompt, list(choices)], name, hashed, asked)
        return FirstToken(logprobs=kept.told["logprobs"], seen=kept.told["seen"], **self._record(kept))

    async def _answer(
        self, parts: Sequence[object], name: str, hashed: str, asked: Callable[[], Coroutine[Any, Any, Any]]
    ) -> Kept:
        model = self._endpoint.model

        async def ask() -> Kept:
            began = time.monotonic()
            try:
                outcome, told = Outcome.OK, await asked()
            except ReasonerUnavailable as error:
                if error.outcome not in _ITS_OWN:
                    raise NoReply(f"the endpoint does not answer: {error}. {self._replies.kept_where()}") from error
                outcome, told = Outcome(error.outcome), error.detail
            return Kept(outcome, told, self._replies.spent_on(hashed), hashed, milliseconds_since(began))

        question = hashlib.sha256(orjson.dumps([model, self._form, name, *parts])).hexdigest()
        kept = await self._replies.answer(question, name, model, ask)
        self.spent += kept.cost
        if kept.outcome is Outcome.OK:
            return kept
        if kept.outcome is not Outcome.NO_LOGPROBS:
            self.spent += Cost(unusable=1)
        raise ReasonerUnavailable(kept.outcome.value, str(kept.told))

    def _record(self, kept: Kept) -> dict[str, Any]:
        return {
            "model": self._endpoint.model,
            "prompt_hash": kept.prompt_hash,
            "prompt_tokens": kept.cost.prompt_tokens,
            "completion_tokens": kept.cost.completion_tokens,
            "latency_ms": kept.latency_ms,
            "calls": kept.cost.calls,
        }


def _opened(path: Path | None) -> duckdb.DuckDBPyConnection:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
    try:
        db = duckdb.connect(str(path or ":memory:"), config=_CONFIG)
    except duckdb.Error as error:
        held = "lock" in str(error).lower()
        why = "another process holds it: wait for it, or" if held else f"it cannot be opened ({error}):"
        raise BadResults(f"{path} is to keep the replies, but {why} name other --results") from error
    tables = {name for (name,) in db.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    if not tables:
        db.execute("BEGIN")
        for statement in _TABLES:
            db.execute(statement)
        db.execute("INSERT INTO replies_layout VALUES (?)", [LAYOUT])
        db.execute("COMMIT")
    elif "replies_layout" not in tables or db.execute("FROM replies_layout").fetchall() != [(LAYOUT,)]:
        db.close()
        raise BadResults(f"{path} is to keep the replies, but holds something else: name other --results")
    return db
