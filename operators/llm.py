"""The model client that operators need; `streams.llm.LlmClient` implements it."""

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any, Protocol, TypeVar

import orjson

from schemas import Provenance, Stance

EntryT = TypeVar("EntryT")
# Tokens reserved in every prompt for the message of a corrective retry.
CORRECTION_TOKENS = 100
# The limit of every prompt but that about a conversation, a corrective retry included.
MAX_PROMPT_TOKENS = 1_500
# The longest answer, 24 judgements, has 800 tokens; indentation and other tokenizers can double them.
MAX_REPLY_TOKENS = 1_600


def prompt_hash(prompt: str, schema: Mapping[str, object]) -> str:
    """Hash prompt and schema to 16 hex digits (blake2b)."""
    return blake2b(prompt.encode() + b"\0" + orjson.dumps(schema), digest_size=8).hexdigest()


def strict_object(properties: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object with exactly these properties, all required."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def without_contradictions(entries: Iterable[tuple[object, Stance, EntryT]]) -> tuple[EntryT, ...]:
    """Return each subject's first entry, unless its entries disagree."""
    by_subject: dict[object, list[tuple[Stance, EntryT]]] = {}
    for subject, stance, entry in entries:
        by_subject.setdefault(subject, []).append((stance, entry))
    return tuple(found[0][1] for found in by_subject.values() if len({stance for stance, _ in found}) == 1)


class ModelAnswer(Protocol):
    """A JSON answer with the record of its cost."""

    @property
    def answer(self) -> Mapping[str, Any]:
        """The JSON object."""

    def reasoned_by(self, prompt: str) -> Provenance:
        """Return the record for events, for the prompt of this name."""


class ModelClient(Protocol):
    """A client that asks a model for JSON."""

    async def ask(self, prompt: str, schema: Mapping[str, object], *, name: str, max_tokens: int) -> ModelAnswer:
        """Return the model's answer to this prompt, fitting this schema."""


async def ask(
    client: ModelClient, name: str, prompt: str, schema: Mapping[str, object], max_tokens: int = MAX_REPLY_TOKENS
) -> ModelAnswer:
    """Ask with the prompt of this name, such as `evolve.v3`."""
    # The name becomes the schema's, which has no dots.
    return await client.ask(prompt, schema, name=name.replace(".", "_"), max_tokens=max_tokens)
