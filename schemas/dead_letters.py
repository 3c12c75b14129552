"""Dead letters: a record that cannot be processed is kept whole, with the reason and its position."""

from datetime import datetime
from typing import Annotated, ClassVar, Self

from pydantic import ConfigDict, Field

from .base import Event
from .codec import derived_id
from .fields import Identifier
from .skills import Position

MAX_ORIGINAL_BYTES = 2 * 1024 * 1024
MAX_KEY_BYTES = MAX_ORIGINAL_BYTES // 8
MAX_DETAIL_CHARS = 1_000
CLIPPED = "[original bytes clipped] "
"""Prefix of the detail when the dead letter does not hold the whole record."""


class DeadLetter(Event):
    """A record that a stage refused. `value` and `key` are the original bytes, in URL-safe base64 on the wire.

    `event_id` is derived from stage and position: the same record refused again is the same dead letter.
    """

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")
    TOPIC: ClassVar[str] = "dead-letters"
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
        """Build a record's dead letter; bytes over `limit` (keys: over 256 KiB) are clipped, and the detail says so.

        `occurred_at`, the time of the refusal, defaults to the record's own timestamp.
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
