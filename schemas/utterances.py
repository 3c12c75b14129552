"""The turns of conversations."""

from enum import StrEnum
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from .base import Event
from .corrections import Language
from .fields import DomainField, Identifier, UserIdField

MAX_UTTERANCE_CHARS = 16_000
MAX_TURN = 1_000_000


class Role(StrEnum):
    """The speaker: the person that the conversation teaches about, the assistant, or another (a tool, a prompt)."""

    USER = "user"
    ASSISTANT = "assistant"
    OTHER = "other"


class Utterance(Event):
    """One turn of a conversation. The person's own words are evidence; they answer to the other speakers' words.

    `ends` closes the conversation, which is then processed at once. A turn that only ends it has no text.
    """

    TOPIC: ClassVar[str] = "utterances"
    user_id: UserIdField
    conversation_id: Identifier
    turn: int = Field(ge=0, le=MAX_TURN, description="Its place in the conversation.")
    role: Role = Role.USER
    text: Annotated[str, Field(max_length=MAX_UTTERANCE_CHARS)] = ""
    language: Language | None = Field(None, description="BCP 47, such as `de`; none: recognised by the words.")
    domain: DomainField | None = Field(None, description="None: anything, and no policy skill learns from it.")
    ranking_id: Identifier | None = Field(None, description="The list that was on screen, if there was one.")
    ends: bool = Field(False, description="True if the conversation is over.")

    @model_validator(mode="after")
    def _has_text_or_ends(self) -> Self:
        if not (self.text.strip() or self.ends):
            raise PydanticCustomError("says_nothing", "an utterance needs text, unless it ends the conversation")
        return self
