"""What is said in a conversation, turn by turn."""

from enum import StrEnum
from typing import Annotated, Any, ClassVar, Self

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from .base import Event
from .conditions import equals
from .corrections import Language
from .fields import DomainField, Identifier, UserIdField

MAX_UTTERANCE_CHARS = 16_000
MAX_TURN = 1_000_000


class Role(StrEnum):
    """Who said it."""

    USER = "user"
    """The person whom the conversation teaches about."""
    ASSISTANT = "assistant"
    OTHER = "other"
    """A system prompt, a tool, another person."""


def _says_something() -> dict[str, Any]:
    words = {"required": ["text"], "properties": {"text": {"type": "string", "pattern": r"\S"}}}
    return {"anyOf": [words, equals("ends", True)]}


class Utterance(Event):
    """One turn of a conversation. Only the person's own words are evidence; the others' are what they answer to.

    `ends` closes the conversation: what was said in it is thought over at once. A turn that only ends it has no text.
    """

    model_config = ConfigDict(json_schema_extra=_says_something())

    TOPIC: ClassVar[str] = "utterances"

    user_id: UserIdField
    conversation_id: Identifier
    turn: int = Field(ge=0, le=MAX_TURN, description="Its place in the conversation.")
    role: Role = Role.USER
    text: Annotated[str, Field(max_length=MAX_UTTERANCE_CHARS)] = ""
    language: Language | None = Field(default=None, description="BCP 47, such as `de`; none: told by the words.")
    domain: DomainField | None = Field(
        default=None, description="What the conversation is about; none: anything, and no policy skill learns from it."
    )
    ranking_id: Identifier | None = Field(default=None, description="The list that was on screen, if there was one.")
    ends: bool = Field(default=False, description="Whether the conversation is over.")

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not (self.text.strip() or self.ends):
            raise PydanticCustomError("says_nothing", "an utterance needs text, unless it ends the conversation")
        return self
