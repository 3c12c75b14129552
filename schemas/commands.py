"""Commands by which people change a skill: the user, their advocate, an operator."""

from enum import StrEnum
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from .base import Event, Model
from .conditions import Condition, equals, given, where
from .fields import AttributeId, DomainField, Label, UserIdField
from .skills import MAX_ATTRIBUTES, Attribute, Kind, Tier


class Action(StrEnum):
    """What a command does to a skill."""

    PIN = "pin"
    UNPIN = "unpin"
    REMOVE = "remove"
    ADD = "add"
    REWORD = "reword"
    SET_TIER = "set-tier"
    FREEZE = "freeze"
    UNFREEZE = "unfreeze"
    ROLL_BACK = "roll-back"
    IMPORT = "import"


def _is_said(tier: Tier) -> Tier:
    if tier is Tier.SILENT:
        raise ValueError("must be 'low', 'medium' or 'high': to say nothing of it, remove the line")
    return tier


SaidTier = Annotated[Tier, AfterValidator(_is_said)]
"""A tier that a person may give a line."""


class Stated(Model):
    """A line in a person's own words."""

    kind: Kind = Kind.PREFERENCE
    dimension: Annotated[str, Field(min_length=1, max_length=40)]
    value: Label
    tier: SaidTier = Tier.HIGH


_NEEDED = {
    Action.PIN: {"attribute_id"},
    Action.UNPIN: {"attribute_id"},
    Action.REMOVE: {"attribute_id"},
    Action.ADD: {"line"},
    Action.REWORD: {"attribute_id", "value"},
    Action.SET_TIER: {"attribute_id", "tier"},
    Action.FREEZE: set[str](),
    Action.UNFREEZE: set[str](),
    Action.ROLL_BACK: {"to_version", "lines"},
    Action.IMPORT: {"lines"},
}


def _conditions() -> dict[str, Any]:
    """The fields that each action requires."""
    every: list[Condition] = [
        where(equals("action", action.value), given(*sorted(needed))) for action, needed in _NEEDED.items() if needed
    ]
    return {"allOf": every}


class SkillCommand(Event):
    """One change that a person makes to a skill; it goes through the same merge as a contrast."""

    model_config = ConfigDict(json_schema_extra=_conditions())

    TOPIC: ClassVar[str] = "skill-commands"

    user_id: UserIdField
    domain: DomainField
    action: Action
    attribute_id: AttributeId | None = Field(default=None, description="The line that the action applies to, if any.")
    line: Stated | None = Field(default=None, description="add: the new line.")
    value: Label | None = Field(default=None, description="reword: the line's new text.")
    tier: SaidTier | None = Field(default=None, description="set-tier: the line's new tier.")
    to_version: int | None = Field(default=None, ge=0, description="roll-back: the version to go back to; 0: the seed.")
    lines: tuple[Attribute, ...] | None = Field(
        default=None,
        max_length=MAX_ATTRIBUTES,
        description="roll-back, import: the lines that the skill has afterwards.",
    )
    actor: Label
    reason: Annotated[str, Field(max_length=300)] = ""

    @model_validator(mode="after")
    def _says_what_it_needs(self) -> Self:
        missing = sorted(name for name in _NEEDED[self.action] if getattr(self, name) is None)
        if missing:
            raise ValueError(f"{self.action.value} needs {', '.join(missing)}")
        return self
