"""Bounded field types: every value read from a topic has a limit."""

import unicodedata
from datetime import UTC, datetime
from math import isfinite
from typing import Annotated, Any, NewType

from pydantic import AfterValidator, AwareDatetime, Field, PlainSerializer, WithJsonSchema
from pydantic_core import PydanticCustomError

UserId = NewType("UserId", str)
ItemId = NewType("ItemId", str)
Domain = NewType("Domain", str)

MAX_METADATA_NODES = 2_000
MAX_METADATA_CHARS = 32_768
MAX_METADATA_DEPTH = 5
MIN_METADATA_INT, MAX_METADATA_INT = -(2**63), 2**64 - 1
"""64 bits, with or without a sign: the range of whole numbers of DuckDB and of readers of JSON."""


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
                        raise PydanticCustomError("number_too_large", "a number in metadata may have at most 64 bits")
                elif part is not None:
                    raise PydanticCustomError("no_json", "metadata may hold nothing but JSON")
            if chars > MAX_METADATA_CHARS:
                raise _too_large()
        level = below
        depth += 1
    return metadata


def _chars(keys: dict[Any, Any]) -> int:
    try:
        return len("".join(keys))
    except TypeError:
        raise PydanticCustomError("no_json", "metadata may hold nothing but JSON") from None


def _has_64_bits(number: float) -> bool:
    return isfinite(number) if isinstance(number, float) else MIN_METADATA_INT <= number <= MAX_METADATA_INT


def _too_large() -> PydanticCustomError:
    return PydanticCustomError(
        "metadata_too_large",
        "metadata may have at most {nodes} values, {chars} characters and {depth} levels",
        {"nodes": MAX_METADATA_NODES, "chars": MAX_METADATA_CHARS, "depth": MAX_METADATA_DEPTH},
    )


Identifier = Annotated[str, Field(min_length=1, max_length=256), AfterValidator(_no_control_characters)]
"""An id that an app chose: 1 to 256 characters, none of them a control character."""
UserIdField = Annotated[UserId, Field(min_length=1, max_length=256), AfterValidator(_no_control_characters)]
ItemIdField = Annotated[ItemId, Field(min_length=1, max_length=256), AfterValidator(_no_control_characters)]
DomainField = Annotated[Domain, Field(min_length=1, max_length=64, pattern=r"^[a-z0-9][a-z0-9_.-]*$")]
"""A domain's name: lower-case letters, digits, `_`, `.`, `-`; at most 64."""
Title = Annotated[str, Field(max_length=500)]
Text = Annotated[str, Field(max_length=4_000)]
Instruction = Annotated[str, Field(max_length=2_000)]
Label = Annotated[str, Field(min_length=1, max_length=120), AfterValidator(_no_control_characters)]
"""A short human-readable value on one line, such as an attribute's."""
AttributeId = Annotated[str, Field(min_length=3, max_length=200)]
Metadata = Annotated[
    dict[Annotated[str, Field(max_length=120)], Any], Field(max_length=128), AfterValidator(_bounded_json)
]
"""Raw item facts as they came: at most 128 keys, 32,768 characters, five levels deep."""
UtcDatetime = Annotated[
    AwareDatetime,
    AfterValidator(_in_utc),
    PlainSerializer(_isoformat, return_type=str, when_used="json"),
    # A validator that does not check formats still sees that the time zone is required.
    WithJsonSchema({"type": "string", "format": "date-time", "pattern": r"^\d{4}-.*(Z|[+-]\d{2}:\d{2})$"}),
]
"""A moment in UTC, written with microseconds."""
Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
