"""What operators need of a client for a model. `operators.llm.LlmClient` is one.

Said as protocols, so that without the extra `llm` everything here can be imported, and with a client of an app's own
everything here can be used.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from schemas import ReasonedBy

CORRECTION_TOKENS = 100
"""Kept free in every prompt for what the client adds to that of a corrective retry."""
NO_LOGPROBS = "no-logprobs"
"""The outcome of an endpoint that has answered, but without probabilities: only another form can help."""


def reply_tokens(count_tokens: Callable[[str], int], longest_answer: str) -> int:
    """The most that a reply may cost.

    Twice as much as we count: another tokenizer, and white space that some endpoints indent with.
    """
    return 64 + 2 * count_tokens(longest_answer)


def strict_object(properties: dict[str, Any]) -> dict[str, Any]:
    """The schema of an object that has all these properties and no other."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


class Recorded(Protocol):
    """An answered question, with the record of what it cost."""

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
    """Can ask for JSON."""

    async def ask(self, prompt: str, schema: Mapping[str, object], *, name: str, max_tokens: int) -> Answer:
        """The model's answer to this prompt, fitting this schema."""
        ...


class Chooses(Protocol):
    """Can ask for the first token."""

    async def first_token(self, prompt: str, choices: Sequence[str], *, name: str) -> Choice:
        """How probable each choice is as the first token of the answer."""
        ...


class Client(Asks, Chooses, Protocol):
    """Can ask for both."""


class Question(Protocol):
    """What is asked in JSON."""

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
        """An answer as long as they come."""
        ...


class Asker:
    """The base of all that ask a model for JSON.

    Args:
        client: how to reach the model; whoever made it closes it.
        count_tokens: how many tokens a text has.
        max_prompt_tokens: no prompt is longer, whatever the input, a corrective retry included.

    Raises:
        ValueError: `max_prompt_tokens` leaves no room for the input.
    """

    name = "llm"
    least_prompt_tokens: ClassVar[int]
    """A prompt's own words, a corrective retry's, and the shortest input."""

    def __init__(self, client: Asks, *, count_tokens: Callable[[str], int], max_prompt_tokens: int = 1_500) -> None:
        if max_prompt_tokens < self.least_prompt_tokens:
            raise ValueError(f"max_prompt_tokens must be at least {self.least_prompt_tokens}, not {max_prompt_tokens}")
        self._client = client
        self._count_tokens = count_tokens
        self._max_prompt_tokens = max_prompt_tokens

    async def _ask(self, prompt: str, question: Question) -> Answer:
        """The answer to a question put with the prompt of this name, such as `evolve.v2`."""
        return await self._client.ask(
            question.prompt,
            question.schema,
            name=prompt.replace(".", "_"),
            max_tokens=reply_tokens(self._count_tokens, question.longest_answer),
        )
