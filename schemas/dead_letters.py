"""What happens to a record that cannot be processed: kept whole, with the reason and its position."""

from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field

from schemas.base import Event
from schemas.fields import Identifier
from schemas.skills import Position

MAX_ORIGINAL_BYTES = 2 * 1024 * 1024


class DeadLetter(Event):
    """A record that a stage refused. `value` and `key` are the original bytes, in URL-safe base64 on the wire.

    `event_id` is derived from stage and position: the same record refused again is the same dead letter.
    """

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    TOPIC: ClassVar[str] = "dead-letters"

    stage: Identifier
    reason: Identifier
    detail: Annotated[str, Field(max_length=1_000)] = ""
    source: Position
    key: Annotated[bytes, Field(max_length=MAX_ORIGINAL_BYTES)] | None = None
    value: Annotated[bytes, Field(max_length=MAX_ORIGINAL_BYTES)] | None = None
