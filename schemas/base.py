"""What all models share: they are frozen and ignore unknown fields, and events have one envelope."""

from collections.abc import Callable, Mapping
from functools import partial
from operator import is_, not_
from typing import Annotated, Any, ClassVar, Self, cast

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

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


_set = object.__setattr__


is_none = partial(is_, None)
"""Whether a value is absent, where 0 says something."""
is_nothing = not_
"""Whether a value says nothing: fields that are added to records of which there are many leave it out. It is asked of
each such field of each line, so it is one of C."""


MIN_INT, MAX_INT = -(2**63), 2**63 - 1
"""The range of a number without bounds of its own: 64 bits, with a sign."""


def _settle(schema: Any, handler: GetCoreSchemaHandler) -> None:
    """Make a schema strict and cheap, with all that is in it."""
    if isinstance(schema, list | tuple):
        for part in schema:
            _settle(part, handler)
    elif isinstance(schema, dict):
        kind = schema.get("type")
        if kind in ("dict", "tuple"):
            # Validation of a collection stops at its first bad entry: a million errors would take 10 seconds.
            schema["fail_fast"] = True
        elif kind in ("int", "float", "bool"):
            # A number is no text and no truth value, and a whole number has no point: all readers read the same.
            schema["strict"] = True
            if kind == "int":
                # JSON has no limit. DuckDB, Parquet and most readers of JSON have 64 bits.
                least = {} if "gt" in schema else {"ge": MIN_INT}
                most = {} if "lt" in schema else {"le": MAX_INT}
                schema.update({**least, **most, **schema})
        elif kind == "definition-ref":
            referred = cast("dict[str, Any]", handler.resolve_ref_schema(cast("CoreSchema", schema)))
            if referred["type"] == "dataclass":
                _settle(referred["schema"], handler)
            elif referred["type"] == "enum" and referred.get("sub_type") == "str":
                # A member is a text: written as one it takes a tenth of the time that asking for its value does.
                referred["serialization"] = core_schema.simple_ser_schema("str")
        for name, part in schema.items():
            if name != "metadata":
                _settle(part, handler)


class Model(BaseModel):
    """Base of all models. Unknown fields are ignored on read, so that newer producers do not break us."""

    # What is refused is somebody's words: errors are logged, and are the detail of dead letters.
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, hide_input_in_errors=True)

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
        _settle(schema, handler)
        return schema

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """As pydantic's, in half of its time: no model has private attributes or extra fields to copy."""
        if deep:
            return super().model_copy(update=update, deep=True)
        copied = self.__class__.__new__(self.__class__)
        _set(copied, "__dict__", {**self.__dict__, **update} if update else self.__dict__.copy())
        # Nobody changes the set of a frozen model: copies may share it.
        known = self.__pydantic_fields_set__
        _set(copied, "__pydantic_fields_set__", known.union(update) if update and not update.keys() <= known else known)
        _set(copied, "__pydantic_extra__", None)
        _set(copied, "__pydantic_private__", None)
        return copied


class Event(Model):
    """The envelope that every event carries."""

    TOPIC: ClassVar[str]
    """The registry's name of the topic that carries this event."""

    event_id: Identifier = Field(description="Unique per event; a repeated one is a duplicate.")
    schema_version: Annotated[int, at_version(SCHEMA_VERSION)] = SCHEMA_VERSION
    occurred_at: UtcDatetime = Field(description="When it happened, in UTC.")
