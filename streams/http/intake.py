"""Batches of events as apps send them over HTTP: read, checked one by one, made into Kafka's records. Pure.

An event passes here as it passes a worker: the same classes, and the same bound on its time. Accepted events are
written as the pipeline's own processes write them, so the same event is the same record, however often it is sent.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from pydantic import ValidationError

from operators.admit import refused
from operators.clocks import TOLERANCE
from schemas import Event, Model, Topic, encode
from schemas.topics import FROM_APPS, TOPICS
from streams.http.problems import FieldError, fields_of, plain_errors
from streams.kafka.clients import partition_of

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
    value: bytes = b""  # the record's; empty if the entry is refused, or repeats one before it
    errors: tuple[FieldError, ...] = ()

    @property
    def status(self) -> str:
        """The word for it in the answer."""
        return "refused" if self.event is None else "accepted"


class _Refused(Exception):
    """An entry is refused; its arguments are the errors."""

    @classmethod
    def field(cls, field: str, what: str) -> "_Refused":
        return cls({"field": field, "what": what})


class Batch:
    """The entries of a batch, checked one after another.

    Args:
        may_send: returns True if the token may send events of this user; None: events that belong to no user.
        now: the time; later events, by more than clocks may differ, are refused.
    """

    def __init__(self, may_send: Callable[[str | None], bool], now: datetime) -> None:
        self._may_send, self._now = may_send, now
        self._seen: dict[tuple[str, bytes, str, str], bytes] = {}
        self.entries: list[Checked] = []

    def check(self, entries: Sequence[Any]) -> None:
        """Check further entries, as JSON; never raises, whatever they are."""
        self.entries += [self._once(self._checked(entry)) for entry in entries]

    @property
    def refused(self) -> int:
        """The number of refused entries."""
        return sum(each.event is None for each in self.entries)

    def records(self, prefix: str, partitions: int) -> Iterator[tuple[str, bytes, bytes, int]]:
        """Yield the topic, key, value and partition of each record to send, in the order of the batch.

        The partition is the one that every murmur2 client finds by the key.
        """
        for each in self.entries:
            if each.topic is not None and each.event is not None and each.value:
                key = each.topic.key_of(each.event)
                yield each.topic.name(prefix), key, each.value, partition_of(key.decode(), partitions)

    def _checked(self, entry: Any) -> Checked:
        name, topic = None, None
        try:
            if (
                not isinstance(entry, dict)
                or entry.keys() != {"topic", "event"}
                or not isinstance(entry["event"], dict)
            ):
                raise _Refused.field("", "an entry is an object with the two members topic and event")
            given = entry["event"].get("event_id")
            name = given if isinstance(given, str) and 0 < len(given) <= MAX_ID else None
            topic = TOPICS.get(entry["topic"]) if entry["topic"] in FROM_APPS else None
            if topic is None:
                raise _Refused.field("topic", f"apps send {', '.join(FROM_APPS)}")
            event = _event_of(topic.model, entry["event"])
            self._check(event)
            value = encode(event)
            if len(value) > (most := topic.max_message_bytes - OVERHEAD_BYTES):
                raise _Refused.field(WHOLE, f"it is over {most:,} bytes")
        except _Refused as refusal:
            return Checked(name, topic, errors=refusal.args)
        return Checked(name, topic, event, value)

    def _check(self, event: Event) -> None:
        user = getattr(event, "user_id", None)
        if not self._may_send(user):
            if user is None:
                raise _Refused.field("topic", "items belong to all users: sending them takes a token for all users")
            raise _Refused.field("user_id", "this token may not send events of that user")
        if refused(event, None, self._now) is not None:
            minutes = TOLERANCE.seconds // 60
            raise _Refused.field("occurred_at", f"it is more than {minutes} minutes ahead of the server's time")

    def _once(self, entry: Checked) -> Checked:
        """Accept an entry that repeats one before it, and send it once; refuse one that takes its id."""
        if entry.topic is None or entry.event is None:
            return entry
        event = entry.event
        name = (entry.topic.base, entry.topic.key_of(event), getattr(event, "domain", ""), event.event_id)
        before = self._seen.setdefault(name, entry.value)
        if before is entry.value:
            return entry
        if before == entry.value:
            return Checked(entry.event_id, entry.topic, event)
        taken = {"field": "event_id", "what": "another event of this batch has the same id"}
        return Checked(entry.event_id, entry.topic, errors=(taken,))


def _event_of(model: type[Model], record: dict[str, Any]) -> Event:
    """Return the event in this JSON object."""
    try:
        event: Event = model.__pydantic_validator__.validate_python(record)
    except ValidationError as error:
        raise _Refused(*fields_of(plain_errors(error), whole=WHOLE)) from None
    return event
