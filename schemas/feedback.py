"""Signals about items that are no choices: liked, rated, skipped, returned, and an app's own kinds."""

from enum import StrEnum
from typing import Annotated, Any, ClassVar, Self

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from .base import Event
from .conditions import Condition, equals, given, where
from .fields import DomainField, Identifier, UserIdField
from .items import Candidate

WORST, BEST = 1.0, 5.0
"""The scale of a rating that tells none."""


class Signal(StrEnum):
    """The kinds that every deployment knows; what each counts is configurable."""

    LIKED = "liked"
    DISLIKED = "disliked"
    RATED = "rated"
    SAVED = "saved"
    HIDDEN = "hidden"
    SKIPPED = "skipped"
    DWELLED = "dwelled"
    PURCHASED = "purchased"
    RETURNED = "returned"


SignalName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
"""A kind of signal: one of `Signal`, or one of the app's own."""
Value = Annotated[float, Field(ge=-1e6, le=1e6)]


def _conditions() -> dict[str, Any]:
    """What a signal needs. That a scale is in order, and a rating on it, no JSON Schema can say."""
    seconds: Condition = {"properties": {"value": {"type": "number", "minimum": 0}}}
    stars: Condition = {"properties": {"value": {"type": "number", "minimum": WORST, "maximum": BEST}}}
    without_scale = {"allOf": [equals("signal", Signal.RATED.value), {"not": given("scale")}]}
    every: list[Condition] = [
        where(equals("signal", Signal.RATED.value, Signal.DWELLED.value), given("value")),
        where(equals("signal", Signal.DWELLED.value), seconds),
        where(without_scale, stars),
    ]
    return {"allOf": every}


class Feedback(Event):
    """One signal about one item, shown in a ranking or not. It carries its item, as all events do."""

    model_config = ConfigDict(json_schema_extra=_conditions())

    TOPIC: ClassVar[str] = "feedback"

    user_id: UserIdField
    domain: DomainField
    item: Candidate
    signal: SignalName
    value: Value | None = Field(default=None, description="rated: the rating; dwelled: seconds.")
    scale: tuple[Value, Value] | None = Field(
        default=None, description="rated: the worst and the best rating there is; by default 1 and 5."
    )
    ranking_id: Identifier | None = None
    session_id: Identifier | None = None

    @model_validator(mode="after")
    def _says_how_much(self) -> Self:
        if self.signal in (Signal.RATED, Signal.DWELLED) and self.value is None:
            raise PydanticCustomError("no_value", "{signal} needs a value", {"signal": self.signal})
        if self.signal == Signal.DWELLED and self.value is not None and self.value < 0:
            raise PydanticCustomError("negative_time", "dwelled counts seconds, 0 or more")
        if self.scale is not None and not self.scale[0] < self.scale[1]:
            raise PydanticCustomError("no_scale", "scale must be the worst and the best rating, in this order")
        if self.signal == Signal.RATED and self.value is not None:
            worst, best = self.scale or (WORST, BEST)
            if not worst <= self.value <= best:
                raise PydanticCustomError(
                    "off_the_scale", "the rating must be between {worst} and {best}", {"worst": worst, "best": best}
                )
        return self
