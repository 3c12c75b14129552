"""Commands by which people change a skill: the user, their advocate, an operator."""

from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from schemas.base import Event
from schemas.fields import AttributeId, DomainField, Label, UserIdField


class Action(StrEnum):
    """What a command does to one attribute."""

    PIN = "pin"
    UNPIN = "unpin"
    REMOVE = "remove"


class SkillCommand(Event):
    """One act of a person on one attribute; goes through the same merge as a contrast."""

    TOPIC: ClassVar[str] = "skill-commands"

    user_id: UserIdField
    domain: DomainField
    action: Action
    attribute_id: AttributeId
    actor: Label
    reason: Annotated[str, Field(max_length=300)] = ""
