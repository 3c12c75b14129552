"""Encodes events to bytes and decodes them. Every input is hostile until `decode` has accepted it."""

import hashlib
from typing import Any, TypeVar, cast

from pydantic import ValidationError
from pydantic_core import from_json, to_json

from .base import SCHEMA_VERSION, Model
from .exceptions import BadRecord

ModelT = TypeVar("ModelT", bound=Model)

MAX_KEY_CHARS = 60
"""How many characters of a record's own key an error quotes."""


def encode(event: Model) -> bytes:
    """The event as canonical JSON: fields in the order of the class, the same bytes for the same event."""
    # As `model_dump_json` does, which makes a text of the bytes first.
    return event.__pydantic_serializer__.to_json(event)


def decode(model: type[ModelT], value: bytes | None) -> ModelT:
    """The event in these bytes; one of an older version is upgraded by its class's `UPGRADES`.

    Raises:
        BadRecord: the bytes are not such an event; its reason is one of `BadRecord.REASONS`.
    """
    if not value:
        raise BadRecord("empty", "the record has no value")
    if not model.UPGRADES:
        return _validated(model, value)
    return _validated(model, _upgraded(model, value))


def upgrade(model: type[Model], record: dict[str, Any]) -> dict[str, Any]:
    """Upgrades a record of an older version to the current one, both as decoded JSON; any other is returned unchanged.

    For records nested in another one, such as the `last_diff` of a skill: the outer class's upgrade calls it for them.
    """
    version = record.get("schema_version", SCHEMA_VERSION)
    if type(version) is not int or not SCHEMA_VERSION <= version < model.version_now():
        return record
    for step in model.UPGRADES[version - SCHEMA_VERSION :]:
        record = step(record)
    return {**record, "schema_version": model.version_now()}


def _upgraded(model: type[Model], value: bytes) -> bytes:
    """The bytes at the current version; the same bytes unless they are of an older one.

    Raises:
        BadRecord: they cannot be upgraded.
    """
    try:
        record = from_json(value)
    except ValueError:
        return value
    if not isinstance(record, dict):
        return value
    try:
        newer = upgrade(model, record)
        return value if newer is record else to_json(newer)
    except Exception as error:  # an upgrade works on unvalidated data, and must not stop a consumer
        told = f"cannot be upgraded to version {model.version_now()}: {type(error).__name__}: {error}"
        raise BadRecord("invalid", told) from error


def _validated(model: type[ModelT], value: bytes) -> ModelT:
    try:
        return cast("ModelT", model.__pydantic_validator__.validate_json(value))
    except ValidationError as error:
        raise _bad_record(error) from None


def _bad_record(error: ValidationError) -> BadRecord:
    errors = error.errors(include_url=False, include_context=False, include_input=False)
    kinds = {e["type"] for e in errors}
    if "json_invalid" in kinds:
        return BadRecord("not-json", errors[0]["msg"])
    reason = "unknown-version" if "unknown_version" in kinds else "invalid"
    told = "; ".join(f"{_place(e['loc'])}: {e['msg']}" for e in errors[:5])
    return BadRecord(reason, told)


def _place(path: tuple[int | str, ...]) -> str:
    """The path of the invalid field. It is logged, and a record's keys are as hostile as its values."""
    return ".".join(str(part)[:MAX_KEY_CHARS].encode("unicode_escape").decode() for part in path) or "record"


def derived_id(*parts: str) -> str:
    """A stable id of 16 hexadecimal digits for an event that follows from others.

    >>> derived_id("a", "b") == derived_id("a", "b") != derived_id("ab", "")
    True
    """
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        raw = part.encode()
        digest.update(len(raw).to_bytes(4, "big") + raw)
    return digest.hexdigest()
