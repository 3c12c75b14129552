"""The model client that operators need. `streams.llm.LlmClient` is one.

They are protocols, so that operators know no network, and can be used with an app's own client.
"""

from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Protocol

import orjson

from operators.vouch import Vouching
from schemas import ReasonedBy

CORRECTION_TOKENS = 100
"""Tokens reserved in every prompt for what a corrective retry adds."""
MAX_PROMPT_TOKENS = 1_500
"""The limit of every prompt but that about a conversation, a corrective retry included."""
NO_LOGPROBS = "no-logprobs"
"""The outcome when an endpoint answers without probabilities: only another form of question helps."""


def reply_tokens(count_tokens: Callable[[str], int], longest_answer: str) -> int:
    """The token limit of a reply.

    Twice our own count, to allow for other tokenizers and for endpoints that indent with white space.
    """
    return 64 + 2 * count_tokens(longest_answer)


def prompt_hash(prompt: str, schema: Mapping[str, object]) -> str:
    """Blake2b of all that a model is told, 16 hex digits."""
    return blake2b(prompt.encode() + b"\0" + orjson.dumps(schema), digest_size=8).hexdigest()


def strict_object(properties: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object with exactly these properties, all required."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


class Recorded(Protocol):
    """An answered question, with the record of its cost."""

    def reasoned_by(self, prompt: str) -> ReasonedBy:
        """The record as events carry it, for the prompt of this name."""
        ...


class Answer(Recorded, Protocol):
    """An answer in JSON."""

    @property
    def answer(self) -> Mapping[str, Any]:
        """The JSON object."""
        ...


class Choice(Recorded, Protocol):
    """An answer of one token."""

    @property
    def logprobs(self) -> Mapping[str, float]:
        """Log-probability per choice."""
        ...


class Asks(Protocol):
    """A client that can ask for JSON."""

    async def ask(self, prompt: str, schema: Mapping[str, object], *, name: str, max_tokens: int) -> Answer:
        """The model's answer to this prompt, fitting this schema."""
        ...


class Chooses(Protocol):
    """A client that can ask for the first token."""

    async def first_token(self, prompt: str, choices: Sequence[str], *, name: str) -> Choice:
        """How probable each choice is as the first token of the answer."""
        ...


class Client(Asks, Chooses, Protocol):
    """A client that can do both."""


class Question(Protocol):
    """A question with a JSON answer."""

    @property
    def prompt(self) -> str:
        """The text."""
        ...

    @property
    def schema(self) -> Mapping[str, Any]:
        """The JSON schema that the answer must fit."""
        ...

    @property
    def longest_answer(self) -> str:
        """The longest possible answer."""
        ...


class Asker:
    """The base of everything that asks a model for JSON."""

    name = "llm"

    def __init__(self, client: Asks, *, count_tokens: Callable[[str], int], vouching: Vouching) -> None:
        self._client = client
        self._count_tokens = count_tokens
        self._vouching = vouching

    async def _ask(self, prompt: str, question: Question) -> Answer:
        """The answer to a question asked with the prompt of this name, such as `evolve.v2`."""
        return await self._client.ask(
            question.prompt,
            question.schema,
            name=prompt.replace(".", "_"),
            max_tokens=reply_tokens(self._count_tokens, question.longest_answer),
        )
