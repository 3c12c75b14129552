"""Bytes to events and back. Every input is hostile until it has come through `decode`."""

import hashlib
from typing import TypeVar

from pydantic import ValidationError

from schemas.base import Model
from schemas.exceptions import BadRecord

ModelT = TypeVar("ModelT", bound=Model)


def encode(event: Model) -> bytes:
    """The event as canonical JSON: fields in the order of the class, the same bytes for the same event."""
    return event.model_dump_json().encode()


def decode(model: type[ModelT], value: bytes | None) -> ModelT:
    """The event in these bytes.

    Raises:
        BadRecord: they are none, with a reason out of `BadRecord.REASONS`.
    """
    if not value:
        raise BadRecord("empty", "the record has no value")
    try:
        return model.model_validate_json(value)
    except ValidationError as error:
        raise _bad_record(error) from None


def _bad_record(error: ValidationError) -> BadRecord:
    errors = error.errors(include_url=False, include_context=False, include_input=False)
    kinds = {e["type"] for e in errors}
    if "json_invalid" in kinds:
        return BadRecord("not-json", errors[0]["msg"])
    reason = "unknown-version" if "unknown_version" in kinds else "invalid"
    told = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'record'}: {e['msg']}" for e in errors[:5])
    return BadRecord(reason, told)


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
