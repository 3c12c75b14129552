"""Encodes and decodes events; undecodable records become dead letters."""

import hashlib
import hmac
from datetime import datetime
from typing import Annotated, Self, TypeVar, cast

from pydantic import ConfigDict, Field, ValidationError
from pydantic_core import to_json

from .base import Event, Identifier, Model, Position

ModelT = TypeVar("ModelT", bound=Model)

# How many characters of a record's own key an error quotes.
MAX_KEY_CHARS = 60
MAX_ORIGINAL_BYTES = 2 * 1024 * 1024
MAX_KEY_BYTES = MAX_ORIGINAL_BYTES // 8
MAX_DETAIL_CHARS = 1_000
# Prefix of the detail when the dead letter does not hold the whole record.
CLIPPED = "[original bytes clipped] "


class SchemaError(Exception):
    """Base of all errors of the package `schemas`."""


class BadRecord(SchemaError, ValueError):
    """A record's bytes do not decode to the event of its topic.

    `reason` is one of `REASONS`, a closed set fit for a metric label; `detail` is for people.
    """

    REASONS = ("empty", "not-json", "unknown-version", "invalid", "wrong-user", "from-the-future")

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail[:1000]


def encode(event: Model) -> bytes:
    """Return canonical JSON: fields in order, without defaults."""
    # As `model_dump_json`, which converts the bytes to a text first.
    return event.__pydantic_serializer__.to_json(event, exclude_defaults=True)


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
    return BadRecord(reason, "; ".join(f"{_path(each['loc'])}: {each['msg']}" for each in errors[:5]))


def _path(path: tuple[int | str, ...]) -> str:
    # The path is logged, and keys are as untrusted as values.
    return ".".join(str(part)[:MAX_KEY_CHARS].encode("unicode_escape").decode() for part in path) or "record"


def derived_id(*parts: str) -> str:
    """Return a stable id of 16 hexadecimal digits for a derived event.

    >>> derived_id("a", "b") == derived_id("a", "b") != derived_id("ab", "")
    True
    """
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        raw = part.encode()
        digest.update(len(raw).to_bytes(4, "big") + raw)
    return digest.hexdigest()


def subject_digest(user_id: str) -> str:
    """Return the digest of a user, for receipts."""
    # Unkeyed, so that anyone with a list of ids can match them.
    return hashlib.sha256(b"sager " + user_id.encode()).hexdigest()


def line_digest(user_id: str, domain: str, attribute_id: str) -> str:
    """Return the digest of a line to erase."""
    return hashlib.sha256(to_json([user_id, domain, attribute_id])).hexdigest()


def event_digest(user_id: str, event_id: str, secret: bytes = b"") -> str:
    """Return the digest of an erased event or completed request.

    Without the deployment's secret, guessed ids cannot be tested against it.
    """
    return hmac.digest(secret, to_json(["forgotten event", user_id, event_id]), "sha256").hex()[:16]


class DeadLetter(Event, topic="dead-letters"):
    """A refused record with its original bytes, in URL-safe base64.

    `event_id` is derived from stage and position, so that a repeated refusal gives the same dead letter.
    """

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")
    stage: Identifier
    reason: Identifier
    detail: Annotated[str, Field(max_length=MAX_DETAIL_CHARS)] = ""
    source: Position
    key: Annotated[bytes, Field(max_length=MAX_ORIGINAL_BYTES)] | None = None
    value: Annotated[bytes, Field(max_length=MAX_ORIGINAL_BYTES)] | None = None

    @classmethod
    def of(
        cls,
        stage: str,
        source: Position,
        reason: str,
        detail: str,
        key: bytes | None,
        value: bytes | None,
        occurred_at: datetime | None = None,
        limit: int = MAX_ORIGINAL_BYTES,
    ) -> Self:
        """Build a record's dead letter; longer bytes are clipped and marked.

        `occurred_at`, the time of the refusal, defaults to the record's timestamp.
        """
        key_limit = min(MAX_KEY_BYTES, limit)
        clipped = len(key or b"") > key_limit or len(value or b"") > limit
        return cls(
            event_id=derived_id(stage, source.topic, str(source.partition), str(source.offset)),
            occurred_at=occurred_at or source.moment,
            stage=stage,
            reason=reason,
            detail=(CLIPPED * clipped + detail)[:MAX_DETAIL_CHARS],
            source=source,
            key=None if key is None else key[:key_limit],
            value=None if value is None else value[:limit],
        )
