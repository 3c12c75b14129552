"""What all models share: they are frozen and ignore unknown fields, and events have one envelope."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError

from .fields import Identifier, UtcDatetime

SCHEMA_VERSION = 1
"""The version assumed when the field is absent."""

Upgrade = Callable[[dict[str, Any]], dict[str, Any]]
"""Turns a record of one version, as decoded and unvalidated JSON, into a record of the next version."""


def at_version(now: int) -> AfterValidator:
    """The validator of `schema_version` for a class at this version; older records are upgraded before it runs."""

    def is_known(version: int) -> int:
        if version != now:
            raise PydanticCustomError(
                "unknown_version",
                "schema_version {version} is not one of {known}",
                {"version": str(version)[:20], "known": str(list(range(SCHEMA_VERSION, now + 1)))},
            )
        return version

    return AfterValidator(is_known)


def _be_strict(schema: Any) -> None:
    if isinstance(schema, list | tuple):
        for part in schema:
            _be_strict(part)
    elif isinstance(schema, dict):
        kind = schema.get("type")
        if kind in ("dict", "tuple"):
            # Validation of a collection stops at its first bad entry: a million errors would take 10 seconds.
            schema["fail_fast"] = True
        elif kind in ("int", "float", "bool"):
            # A number is no text and no truth value, and a whole number has no point: all readers read the same.
            schema["strict"] = True
        for name, part in schema.items():
            if name != "metadata":
                _be_strict(part)


class Model(BaseModel):
    """Base of all models. Unknown fields are ignored on read, so that newer producers do not break us."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)

    UPGRADES: ClassVar[tuple[Upgrade, ...]] = ()
    """How older records are upgraded: the first entry leads from version 1 to 2, and so on. The class itself is one
    version past the last entry and declares it: `schema_version: Annotated[int, at_version(2)] = 2`."""

    @classmethod
    def version_now(cls) -> int:
        """The schema version that this class reads natively and writes."""
        return SCHEMA_VERSION + len(cls.UPGRADES)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """The schema, with numbers and truth values read strictly, wherever a class uses them."""
        schema = handler(source)
        _be_strict(schema)
        return schema


class Event(Model):
    """The envelope that every event carries."""

    TOPIC: ClassVar[str]
    """The registry's name of the topic that carries this event."""

    event_id: Identifier = Field(description="Unique per event; a repeated one is a duplicate.")
    schema_version: Annotated[int, at_version(SCHEMA_VERSION)] = SCHEMA_VERSION
    occurred_at: UtcDatetime = Field(description="When it happened, in UTC.")
