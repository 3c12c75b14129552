"""A list of which nothing was taken, said so by the app."""

from typing import ClassVar

from pydantic import Field

from .base import Event, is_nothing
from .events import MAX_CANDIDATES
from .fields import DomainField, Identifier, Instruction, UserIdField
from .items import ItemFacts


class Abstention(Event):
    """A ranking of which the person took nothing: the list did not suit, which is no word against any item of it.

    `event_id` is derived from the ranking, as a contrast's is.
    """

    TOPIC: ClassVar[str] = "abstentions"

    user_id: UserIdField
    domain: DomainField
    ranking_id: Identifier
    instruction: Instruction = ""
    shown: tuple[ItemFacts, ...] = Field(min_length=1, max_length=MAX_CANDIDATES)
    skill_version: int = Field(default=0, ge=0, description="The skill's version when the ranking was made.")
    arm: Identifier | None = None
    session_id: Identifier | None = Field(default=None, exclude_if=is_nothing)
