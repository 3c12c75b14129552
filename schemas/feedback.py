"""Signals about items that are no choices: liked, rated, skipped, returned, and an app's own kinds."""

from enum import StrEnum
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from .base import Event
from .fields import DomainField, Identifier, UserIdField
from .items import Candidate

WORST, BEST = 1.0, 5.0
"""The default scale of a rating."""


class Signal(StrEnum):
    """The built-in kinds; their weights are configurable."""

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


class Feedback(Event):
    """One signal about one item, shown in a ranking or not. It carries its item, as all events do."""

    TOPIC: ClassVar[str] = "feedback"
    user_id: UserIdField
    domain: DomainField
    item: Candidate
    signal: SignalName
    value: Value | None = Field(None, description="rated: the rating; dwelled: seconds. Both need one.")
    scale: tuple[Value, Value] | None = Field(None, description="rated: worst and best rating; else 1 and 5.")
    ranking_id: Identifier | None = None
    session_id: Identifier | None = None

    @model_validator(mode="after")
    def _value_fits_the_signal(self) -> Self:
        if self.scale is not None and not self.scale[0] < self.scale[1]:
            raise PydanticCustomError("no_scale", "scale must be the worst and the best rating, in this order")
        if self.signal not in (Signal.RATED, Signal.DWELLED):
            return self
        if self.value is None:
            raise PydanticCustomError("no_value", "{signal} needs a value", {"signal": self.signal})
        if self.signal == Signal.DWELLED and self.value < 0:
            raise PydanticCustomError("negative_time", "dwelled counts seconds, 0 or more")
        worst, best = self.scale or (WORST, BEST)
        if self.signal == Signal.RATED and not worst <= self.value <= best:
            raise PydanticCustomError(
                "off_the_scale", "the rating must be between {worst} and {best}", {"worst": worst, "best": best}
            )
        return self
