"""Commands that change a skill, from the user, their advocate or an operator."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from .base import AttributeId, Label, Model, UserDomainEvent
from .skills import MAX_ATTRIBUTES, Attribute, AttributeKind, Tier


class Action(StrEnum):
    """The action of a skill command."""

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


def _not_silent(tier: Tier) -> Tier:
    if tier is Tier.SILENT:
        raise ValueError("must be 'low', 'medium' or 'high': remove the line instead of silencing it")
    return tier


AssignableTier = Annotated[Tier, AfterValidator(_not_silent)]


class SkillLineInput(Model):
    """A new line in a command."""

    kind: AttributeKind = AttributeKind.PREFERENCE
    dimension: Annotated[str, Field(min_length=1, max_length=40)]
    value: Label
    tier: AssignableTier = Tier.HIGH


_NEEDED = {
    Action.PIN: ("attribute_id",),
    Action.UNPIN: ("attribute_id",),
    Action.REMOVE: ("attribute_id",),
    Action.ADD: ("line",),
    Action.REWORD: ("attribute_id", "value"),
    Action.SET_TIER: ("attribute_id", "tier"),
    Action.ROLL_BACK: ("lines", "to_version"),
    Action.IMPORT: ("lines",),
}


class SkillCommand(UserDomainEvent, topic="skill-commands"):
    """A person's change of a skill; it passes through the same merge as a contrast."""

    action: Action
    attribute_id: AttributeId | None = Field(None, description="pin, unpin, remove, reword, set-tier: the line.")
    line: SkillLineInput | None = Field(None, description="add: the new line.")
    value: Label | None = Field(None, description="reword: the line's new text.")
    tier: AssignableTier | None = Field(None, description="set-tier: the line's new tier.")
    to_version: int | None = Field(None, ge=0, description="roll-back: the version to restore; 0: the seed.")
    lines: tuple[Attribute, ...] | None = Field(None, max_length=MAX_ATTRIBUTES, description="roll-back, import.")
    actor: Label
    reason: Annotated[str, Field(max_length=300)] = ""

    @model_validator(mode="after")
    def _check_required_fields(self) -> Self:
        missing = [name for name in _NEEDED.get(self.action, ()) if getattr(self, name) is None]
        if missing:
            raise ValueError(f"{self.action.value} needs {', '.join(missing)}")
        return self
