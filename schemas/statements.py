"""What a person said about their taste, as a skill keeps it: prefers, avoids, instead; with their words and scope."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from .base import Model, is_nothing
from .fields import AttributeId, Identifier, ItemIdField, Label, UtcDatetime
from .items import Amount, Measure
from .skills import Evidence

MAX_STATEMENTS = 48
MAX_WORDS = 200


class Stance(StrEnum):
    """How a person stands to what a statement names."""

    PREFERS = "prefers"
    AVOIDS = "avoids"
    INSTEAD = "instead"
    """This one rather than that one: `value` rather than `over`."""


class Scope(StrEnum):
    """For how long a person means what they say."""

    NOW = "now"
    SESSION = "session"
    ALWAYS = "always"


class Bound(Model):
    """More or less of what can be measured: `cheaper` than the items that were shown, or `under 20`."""

    measure: Measure
    above: Amount | None = Field(default=None, description="Only items with more than this.")
    below: Amount | None = Field(default=None, description="Only items with less than this.")


class Statement(Model):
    """One thing that a person said, which stands until they say otherwise, it expires or its session ends.

    It is about a fact (`dimension` and `value`), about an item (`item_id`; `dimension` is `item`, `value` its title) or
    about a measure (`bound`; `dimension` is the measure's name, `value` the bound in words). `attribute_id` names a
    fact as the lines of skills do, so that a statement and a line about the same thing can be told to be.

    A taste that changed overtakes what was said before it: that stays, but nobody is sure of it any more.
    """

    statement_id: AttributeId = Field(description="Stance and attribute; the same thing said again replaces it.")
    stance: Stance
    attribute_id: AttributeId
    dimension: Annotated[str, Field(min_length=1, max_length=40)]
    value: Label
    over: AttributeId | None = Field(default=None, exclude_if=is_nothing, description="instead: rather than what.")
    item_id: ItemIdField | None = Field(default=None, exclude_if=is_nothing)
    bound: Bound | None = Field(default=None, exclude_if=is_nothing)
    words: Annotated[str, Field(max_length=MAX_WORDS)] = Field(
        default="", description="The person's own, without what is personal; empty where they filled in a form."
    )
    scope: Scope = Scope.ALWAYS
    session_id: Identifier | None = Field(default=None, exclude_if=is_nothing)
    said_at: UtcDatetime
    until: UtcDatetime | None = Field(
        default=None,
        exclude_if=is_nothing,
        description="It says nothing from then on.",
    )
    since: int = Field(default=1, ge=1, description="The skill's version that brought it.")
    times: int = Field(default=1, ge=1, le=1_000_000, description="How often it was said.")
    evidence: Evidence


class Said(StrEnum):
    """What an event does to one statement."""

    STATED = "stated"
    WITHDRAWN = "withdrawn"
    """The person took it back, or said the opposite."""
    REMOVED = "removed"
    """By a command."""
    EXPIRED = "expired"
    FULL = "full"
    """It had to go, since there was no room."""
    FORGOTTEN = "forgotten"
    RESTORED = "restored"


class StatementChange(Model):
    """One effective change of a statement; the fold puts `statement` in the place of the one with this id."""

    kind: Said
    statement_id: AttributeId
    statement: Statement | None = Field(default=None, description="As it is now; none: it is gone.")
    reason: Annotated[str, Field(max_length=300)] = ""
