"""What every model shares: frozen, forgiving of unknown fields, one envelope for events."""

from typing import Annotated, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from schemas.fields import Identifier, UtcDatetime

SCHEMA_VERSION = 1


def _known_version(version: int) -> int:
    if version != SCHEMA_VERSION:
        raise PydanticCustomError(
            "unknown_version", "schema_version {version} is not one of [1]", {"version": str(version)[:20]}
        )
    return version


class Model(BaseModel):
    """Base of all models. Unknown fields are ignored on read, so that newer producers do not break us."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class Event(Model):
    """The envelope that every event carries."""

    TOPIC: ClassVar[str]
    """The registry's name of the topic that carries this event."""

    event_id: Identifier = Field(description="Unique per event; a repeated one is a duplicate.")
    schema_version: Annotated[int, AfterValidator(_known_version)] = SCHEMA_VERSION
    occurred_at: UtcDatetime = Field(description="When it happened, in UTC.")
