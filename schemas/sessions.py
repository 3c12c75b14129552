"""What a session says beside the skill: a short-lived overlay that dies with it."""

from typing import Annotated

from pydantic import Field

from .base import Model
from .fields import AttributeId, Identifier, Label, UtcDatetime
from .skills import Count

MAX_SESSIONS = 2
MAX_SESSION_LINES = 24


class SessionLine(Model):
    """A fact of what was taken in the session, counted as a skill's lines are."""

    attribute_id: AttributeId
    dimension: Annotated[str, Field(min_length=1, max_length=40)]
    value: Label
    taken: Count = 0
    expected: Count = 0


class Session(Model):
    """What somebody took since a session began. The two newest of a skill are kept."""

    session_id: Identifier
    last_at: UtcDatetime
    until: UtcDatetime
    events: int = Field(default=0, ge=0)
    lines: tuple[SessionLine, ...] = Field(default=(), max_length=MAX_SESSION_LINES)
