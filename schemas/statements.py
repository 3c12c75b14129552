"""Statements of a user in a skill, with words and scope."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from .base import AttributeId, Identifier, ItemIdField, Label, Model, UtcDatetime, is_empty
from .items import Amount, Measure
from .skills import Evidence

MAX_STATEMENTS = 48
MAX_WORDS = 200


class Stance(StrEnum):
    """The attitude of a statement; `instead`: `value` rather than `over`."""

    PREFERS = "prefers"
    AVOIDS = "avoids"
    INSTEAD = "instead"


class Scope(StrEnum):
    """How long a statement holds."""

    NOW = "now"
    SESSION = "session"
    ALWAYS = "always"


class Bound(Model):
    """A bound of a measure: `under 20`, or `cheaper` than the shown items."""

    measure: Measure
    above: Amount | None = Field(None, description="Only items with more than this.")
    below: Amount | None = Field(None, description="Only items with less than this.")


class Statement(Model):
    """A statement, valid until it is revoked, expires or its session ends.

    It is about a fact (`dimension` and `value`), an item (`item_id`; `dimension` is `item`, `value` its title) or a
    measure (`bound`; `dimension` is the measure's name, `value` the bound in words). `attribute_id` names a fact as in
    the lines of skills.
    """

    statement_id: AttributeId = Field(description="Stance and attribute; a repeated statement replaces the first one.")
    stance: Stance
    attribute_id: AttributeId
    dimension: Annotated[str, Field(min_length=1, max_length=40)]
    value: Label
    over: AttributeId | None = Field(None, exclude_if=is_empty, description="instead: the replaced attribute.")
    item_id: ItemIdField | None = Field(None, exclude_if=is_empty)
    bound: Bound | None = Field(None, exclude_if=is_empty)
    words: Annotated[str, Field(max_length=MAX_WORDS)] = Field("", description="Without personal data.")
    scope: Scope = Scope.ALWAYS
    session_id: Identifier | None = Field(None, exclude_if=is_empty)
    stated_at: UtcDatetime
    until: UtcDatetime | None = Field(None, exclude_if=is_empty, description="Its end.")
    since: int = Field(1, ge=1, description="The skill's version that added it.")
    times: int = Field(1, ge=1, le=1_000_000, description="How often the person stated it.")
    evidence: Evidence


class StatementChangeKind(StrEnum):
    """The effect of an event on a statement."""

    STATED = "stated"
    WITHDRAWN = "withdrawn"  # the person took it back, or stated the opposite
    REMOVED = "removed"  # by a command
    EXPIRED = "expired"
    FULL = "full"  # there was no room
    FORGOTTEN = "forgotten"
    RESTORED = "restored"


class StatementChange(Model):
    """One change: `statement` replaces the one with this id."""

    kind: StatementChangeKind
    statement_id: AttributeId
    statement: Statement | None = Field(None, description="The new statement; none: removed.")
    reason: Annotated[str, Field(max_length=300)] = ""
