"""The base model, the envelope of events, and bounded field types."""

import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from math import isfinite
from operator import is_, not_
from typing import Annotated, Any, ClassVar, NewType, Self, TypeVar, cast, get_type_hints

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    PlainSerializer,
    WithJsonSchema,
)
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

UserId = NewType("UserId", str)
ItemId = NewType("ItemId", str)
Domain = NewType("Domain", str)
NamedTupleT = TypeVar("NamedTupleT", bound=tuple[Any, ...])

MAX_METADATA_NODES = 2_000
MAX_METADATA_CHARS = 32_768
MAX_METADATA_DEPTH = 5
# 64 bits, with or without a sign: the range of whole numbers of DuckDB and of readers of JSON.
MIN_METADATA_INT, MAX_METADATA_INT = -(2**63), 2**64 - 1


def _no_control_characters(text: str) -> str:
    # isprintable() accepts nearly all texts at C speed; the slow check is for the rest, such as joiners.
    if not text.isprintable() and any(unicodedata.category(c) in ("Cc", "Cs") for c in text):
        raise PydanticCustomError("control_characters", "must not contain control characters")
    return text


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        # Pydantic lets an OverflowError through: a record with such a date would stop its consumer.
        raise PydanticCustomError("date_out_of_range", "must lie between the years 1 and 9999 in UTC") from None


def _isoformat(moment: datetime) -> str:
    in_utc = moment if moment.tzinfo is UTC else moment.astimezone(UTC)
    return f"{in_utc.isoformat(timespec='microseconds')[:-6]}Z"


def _bounded_json(metadata: dict[str, Any]) -> dict[str, Any]:
    # Types are checked here and not by pydantic's JsonValue, which takes 10 us per value before any bound applies.
    nodes, chars, depth = 1, 0, 0
    level: list[Any] = [metadata]
    while level:
        below: list[Any] = []
        for whole in level:
            nodes += len(whole)
            if nodes > MAX_METADATA_NODES or (depth == MAX_METADATA_DEPTH and whole):
                raise _too_large()
            parts = whole
            if isinstance(whole, dict):
                chars += _chars(whole)
                parts = whole.values()
            for part in parts:
                if isinstance(part, str):
                    chars += len(part)
                elif isinstance(part, dict | list):
                    below.append(part)
                elif isinstance(part, int | float):
                    if not _has_64_bits(part):
                        raise PydanticCustomError("number_too_large", "numbers in metadata must be finite, in 64 bits")
                elif part is not None:
                    raise PydanticCustomError("no_json", "metadata may contain only JSON")
            if chars > MAX_METADATA_CHARS:
                raise _too_large()
        level = below
        depth += 1
    return metadata


def _chars(keys: dict[Any, Any]) -> int:
    try:
        return len("".join(keys))
    except TypeError:
        raise PydanticCustomError("no_json", "metadata may contain only JSON") from None


def _has_64_bits(number: float) -> bool:
    return isfinite(number) if isinstance(number, float) else MIN_METADATA_INT <= number <= MAX_METADATA_INT


def _too_large() -> PydanticCustomError:
    return PydanticCustomError(
        "metadata_too_large",
        "metadata may have at most {nodes} values, {chars} characters and {depth} levels",
        {"nodes": MAX_METADATA_NODES, "chars": MAX_METADATA_CHARS, "depth": MAX_METADATA_DEPTH},
    )


# An id that an app chose: 1 to 256 characters, none of them a control character.
Identifier = Annotated[str, Field(min_length=1, max_length=256), AfterValidator(_no_control_characters)]
UserIdField = Annotated[UserId, Field(min_length=1, max_length=256), AfterValidator(_no_control_characters)]
ItemIdField = Annotated[ItemId, Field(min_length=1, max_length=256), AfterValidator(_no_control_characters)]
# A domain's name: lower-case letters, digits, `_`, `.`, `-`; at most 64.
DomainField = Annotated[Domain, Field(min_length=1, max_length=64, pattern=r"^[a-z0-9][a-z0-9_.-]*$")]
Title = Annotated[str, Field(max_length=500)]
Text = Annotated[str, Field(max_length=4_000)]
Instruction = Annotated[str, Field(max_length=2_000)]
# A short human-readable value on one line, such as an attribute's.
Label = Annotated[str, Field(min_length=1, max_length=120), AfterValidator(_no_control_characters)]
AttributeId = Annotated[str, Field(min_length=3, max_length=200)]
# Raw item facts as they came: at most 128 keys, 32,768 characters, five levels deep.
Metadata = Annotated[
    dict[Annotated[str, Field(max_length=120)], Any], Field(max_length=128), AfterValidator(_bounded_json)
]
# A moment in UTC, written with microseconds.
UtcDatetime = Annotated[
    AwareDatetime,
    AfterValidator(_in_utc),
    PlainSerializer(_isoformat, return_type=str, when_used="json"),
    # A validator that does not check formats still sees that the time zone is required.
    WithJsonSchema({"type": "string", "format": "date-time", "pattern": r"^\d{4}-.*(Z|[+-]\d{2}:\d{2})$"}),
]
# A SHA-256 in hexadecimal digits.
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]


# The version assumed when the field is absent.
SCHEMA_VERSION = 1
# The range of a whole number without bounds of its own.
MIN_INT, MAX_INT = -(2**63), 2**63 - 1

# For fields whose 0 has a meaning: leaves out only absent values.
is_none = partial(is_, None)
# Leaves out empty values. A C function: serialization calls it for many fields of each line.
is_empty = not_

_slots = vars(BaseModel)
_set_values, _set_known = _slots["__dict__"].__set__, _slots["__pydantic_fields_set__"].__set__
_set_extra, _set_private = _slots["__pydantic_extra__"].__set__, _slots["__pydantic_private__"].__set__


def as_array(cls: type[NamedTupleT]) -> type[NamedTupleT]:
    """Have a named tuple read and written as a JSON array."""
    # An object takes twice the bytes. pydantic's own schema also accepts objects and reports every surplus entry.

    def schema(_: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        fields = get_type_hints(cls, include_extras=True).values()
        entries = core_schema.tuple_schema([handler.generate_schema(each) for each in fields])
        known = core_schema.is_instance_schema(cls)
        made = core_schema.no_info_after_validator_function(cls._make, entries)  # type: ignore[attr-defined]
        return core_schema.json_or_python_schema(made, core_schema.union_schema([known, made], mode="left_to_right"))

    cls.__get_pydantic_core_schema__ = staticmethod(schema)  # type: ignore[attr-defined]
    return cls


def _is_known(version: int) -> int:
    if version != SCHEMA_VERSION:
        raise PydanticCustomError(
            "unknown_version",
            "schema_version {version} is not {known}",
            {"version": str(version)[:20], "known": SCHEMA_VERSION},
        )
    return version


def _make_strict(schema: Any, handler: GetCoreSchemaHandler) -> None:
    """Make a schema and all its parts strict and cheap."""
    if isinstance(schema, list | tuple):
        for part in schema:
            _make_strict(part, handler)
    elif isinstance(schema, dict):
        kind = schema.get("type")
        if kind in ("dict", "tuple"):
            # Validation of a collection stops at its first bad entry: a million errors would take 10 seconds.
            schema["fail_fast"] = True
        elif kind in ("int", "float", "bool"):
            # "1", true and 1.0 are no integers: readers in other languages would disagree about them.
            schema["strict"] = True
            if kind == "int":
                # JSON has no limit. DuckDB, Parquet and most readers of JSON have 64 bits.
                least = {} if "gt" in schema else {"ge": MIN_INT}
                most = {} if "lt" in schema else {"le": MAX_INT}
                schema.update({**least, **most, **schema})
        elif kind == "definition-ref":
            referred = cast("dict[str, Any]", handler.resolve_ref_schema(cast("CoreSchema", schema)))
            if referred["type"] == "dataclass":
                _make_strict(referred["schema"], handler)
            elif referred["type"] == "enum" and referred.get("sub_type") == "str":
                # Members are strings; serializing them as such is ten times faster than through `value`.
                referred["serialization"] = core_schema.simple_ser_schema("str")
        for name, part in schema.items():
            if name != "metadata":
                _make_strict(part, handler)


class Model(BaseModel):
    """Base of all models: frozen, and ignores unknown fields."""

    # Errors are logged and stored in dead letters: they must not quote users' words.
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, hide_input_in_errors=True)

    # The registry's name of the topic that carries these records, if any.
    TOPIC: ClassVar[str]

    def __init_subclass__(cls, topic: str = "", **config: Any) -> None:
        super().__init_subclass__(**config)
        if topic:
            cls.TOPIC = topic

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema with numbers and truth values read strictly."""
        schema = handler(source)
        _make_strict(schema, handler)
        return schema

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Copy the model with these changes; frozen parts are shared."""
        # Three times as fast as pydantic's: no model has private attributes or extra fields to copy.
        values = self.__dict__.copy()
        if update:
            values.update(update)
        return self.of_fields(values, self.__pydantic_fields_set__)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Self:
        """Return the model itself, as it is frozen."""
        # pydantic would copy an unhashable default for each record.
        return self

    @classmethod
    def trusted(cls, **values: Any) -> Self:
        """Build a model without validation; the caller ensures types and bounds."""
        return cls.of_fields({**_defaults(cls), **values})

    @classmethod
    def of_fields(cls, values: dict[str, Any], known: set[str] | None = None) -> Self:
        """Build a model from trusted values of all fields, in their order."""
        made = cls.__new__(cls)
        _set_values(made, values)
        _set_known(made, set(values) if known is None else known)
        _set_extra(made, None)
        _set_private(made, None)
        return made


@lru_cache(maxsize=256)
def _defaults(model: type[Model]) -> dict[str, Any]:
    # In field order, as in the JSON. Frozen models may share an empty dictionary.
    return {name: field.get_default(call_default_factory=True) for name, field in model.model_fields.items()}


class Event(Model):
    """The envelope that every event carries."""

    event_id: Identifier = Field(description="Unique per event; a repeated one is a duplicate.")
    schema_version: Annotated[int, AfterValidator(_is_known)] = SCHEMA_VERSION
    occurred_at: UtcDatetime = Field(description="When it happened, in UTC.")


class UserEvent(Event):
    """An event of one user."""

    user_id: UserIdField


class UserDomainEvent(UserEvent):
    """An event of one user in one domain."""

    domain: DomainField


class Provenance(Model):
    """The reasoner behind a result, and the cost of its calls."""

    reasoner: Identifier = "rules"
    model: Identifier | None = None
    prompt: Identifier | None = Field(None, description="The prompt's file and version, such as `evolve.v3`.")
    prompt_hash: Identifier | None = None
    prompt_tokens: int = Field(0, ge=0)
    completion_tokens: int = Field(0, ge=0)
    calls: int = Field(0, ge=0)
    latency_ms: int = Field(0, ge=0)
    fallback: Annotated[str, Field(max_length=200)] | None = Field(
        None, description="The reason why another reasoner answered."
    )


_EPOCH, _LAST_MS = datetime(1970, 1, 1, tzinfo=UTC), 253_402_300_799_999


class Position(Model):
    """A record's position in Kafka; identifies a repeated delivery."""

    topic: Annotated[str, Field(max_length=249)]
    partition: int = Field(ge=0)
    offset: int = Field(ge=0)
    timestamp_ms: int = Field(ge=0)

    @property
    def moment(self) -> datetime:
        """The record's timestamp in UTC."""
        return moment_of(self.timestamp_ms)


def moment_of(timestamp_ms: int) -> datetime:
    """Return a Kafka timestamp in UTC, within the years 1970 to 9999.

    >>> moment_of(1_000).isoformat(), moment_of(-1).year, moment_of(2**62).year
    ('1970-01-01T00:00:01+00:00', 1970, 9999)
    """
    return _EPOCH + timedelta(milliseconds=min(max(0, timestamp_ms), _LAST_MS))
