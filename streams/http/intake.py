"""Batches of events as apps send them over HTTP: checked one by one, and made into Kafka's records. Pure.

An event passes here as it passes a worker: the same classes, and the same bound on its time. Accepted events are
written as the pipeline's own processes write them, so the same event is the same record, however often it is sent.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from pydantic import ValidationError

from operators.admit import refused
from operators.clocks import TOLERANCE
from schemas import Event, Model, Topic, encode
from schemas.topics import FROM_APPS, TOPICS
from streams.http.problems import FieldError, fields_of, plain_errors

MAX_ID: Final = 256
OVERHEAD_BYTES: Final = 1_024
"""The size of a record besides its value: key, times, Kafka's own fields."""
WHOLE: Final = "event"
"""The field of an error about the whole event."""


@dataclass(frozen=True, slots=True)
class Checked:
    """One entry of a batch; `event` is None if it is refused, for these errors."""

    event_id: str | None  # None if it cannot be an event's
    topic: Topic | None = None  # None if it names none that apps write
    event: Event | None = None
    errors: tuple[FieldError, ...] = ()

    @property
    def status(self) -> str:
        """The word for it in the answer."""
        return "refused" if self.event is None else "accepted"


class _Refused(Exception):
    """An entry is refused; its arguments are the errors."""


def check(entry: Any, may_send: Callable[[str | None], bool], now: datetime) -> Checked:
    """Check an entry of a batch, as JSON; never raises, whatever it is.

    `may_send`: returns True if the token may send events of this user; None: events that belong to no user. `now`:
    events that are later, by more than clocks may differ, are refused.
    """
    name, topic = None, None
    try:
        if not isinstance(entry, dict) or entry.keys() != {"topic", "event"} or not isinstance(entry["event"], dict):
            raise _because("", "an entry is an object with the two members topic and event")
        given = entry["event"].get("event_id")
        name = given if isinstance(given, str) and 0 < len(given) <= MAX_ID else None
        topic = TOPICS.get(entry["topic"]) if entry["topic"] in FROM_APPS else None
        if topic is None:
            raise _because("topic", f"apps send {', '.join(FROM_APPS)}")
        event = _event_of(topic.model, entry["event"])
        user = getattr(event, "user_id", None)
        if not may_send(user):
            if user is None:
                raise _because("topic", "items belong to all users: sending them takes a token for all users")
            raise _because("user_id", "this token may not send events of that user")
        if refused(event, None, now) is not None:
            minutes = TOLERANCE.seconds // 60
            raise _because("occurred_at", f"it is more than {minutes} minutes ahead of the server's time")
        if len(encode(event)) > (most := topic.max_message_bytes - OVERHEAD_BYTES):
            raise _because(WHOLE, f"it is over {most:,} bytes")
    except _Refused as refusal:
        return Checked(name, topic, errors=refusal.args)
    return Checked(name, topic, event)


def _because(field: str, what: str) -> _Refused:
    return _Refused({"field": field, "what": what})


def _event_of(model: type[Model], record: dict[str, Any]) -> Event:
    """Return the event in this JSON object."""
    try:
        event: Event = model.__pydantic_validator__.validate_python(record)
    except ValidationError as error:
        raise _Refused(*fields_of(plain_errors(error), whole=WHOLE)) from None
    return event
