"""Encodes events to bytes and decodes them. Every input is hostile until `decode` has accepted it."""

import hashlib
from typing import TypeVar, cast

from pydantic import ValidationError

from .base import Model

ModelT = TypeVar("ModelT", bound=Model)

MAX_KEY_CHARS = 60
"""How many characters of a record's own key an error quotes."""


class SchemaError(Exception):
    """Base of all errors of the package `schemas`."""


class BadRecord(SchemaError, ValueError):
    """A record's bytes do not decode to the event of its topic.

    `reason` is one of `REASONS`, a closed set that serves as a metric label; `detail` is for a person.
    """

    REASONS = ("empty", "not-json", "unknown-version", "invalid", "wrong-user", "from-the-future")

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail[:1000]


def encode(event: Model) -> bytes:
    """Return canonical JSON: fields in the order of the class, the same bytes for the same event."""
    # As `model_dump_json`, which converts the bytes to a text first.
    return event.__pydantic_serializer__.to_json(event)


def decode(model: type[ModelT], value: bytes | None) -> ModelT:
    """Return the event in these bytes.

    Raises:
        BadRecord: the bytes are not such an event; its reason is one of `BadRecord.REASONS`.
    """
    if not value:
        raise BadRecord("empty", "the record has no value")
    try:
        return cast("ModelT", model.__pydantic_validator__.validate_json(value))
    except ValidationError as error:
        raise _bad_record(error) from None


def _bad_record(error: ValidationError) -> BadRecord:
    errors = error.errors(include_url=False, include_context=False, include_input=False)
    kinds = {each["type"] for each in errors}
    if "json_invalid" in kinds:
        return BadRecord("not-json", errors[0]["msg"])
    reason = "unknown-version" if "unknown_version" in kinds else "invalid"
    return BadRecord(reason, "; ".join(f"{_place(each['loc'])}: {each['msg']}" for each in errors[:5]))


def _place(path: tuple[int | str, ...]) -> str:
    # It is logged, and a record's keys are as hostile as its values.
    return ".".join(str(part)[:MAX_KEY_CHARS].encode("unicode_escape").decode() for part in path) or "record"


def derived_id(*parts: str) -> str:
    """Return a stable id of 16 hexadecimal digits for an event that follows from others.

    >>> derived_id("a", "b") == derived_id("a", "b") != derived_id("ab", "")
    True
    """
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        raw = part.encode()
        digest.update(len(raw).to_bytes(4, "big") + raw)
    return digest.hexdigest()
