"""What operators need of a client for a model. `operators.llm.LlmClient` is one.

Said as protocols, so that without the extra `llm` everything here can be imported, and with a client of an app's own
everything here can be used.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from schemas import ReasonedBy

CORRECTION_TOKENS = 100
"""Kept free in every prompt for what the client adds to that of a corrective retry."""
NO_LOGPROBS = "no-logprobs"
"""The outcome of an endpoint that has answered, but without probabilities: only another form can help."""


def assert_room(max_prompt_tokens: int, least: int) -> None:
    """Refuse a budget in which a prompt's own words leave no room for the input.

    Raises:
        ValueError: it is one.
    """
    if max_prompt_tokens < least:
        raise ValueError(f"max_prompt_tokens must be at least {least}, not {max_prompt_tokens}")


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
