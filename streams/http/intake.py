"""Batches of events as apps send them over HTTP: read, checked one by one, made into Kafka's records. Pure.

An event passes here as it passes a worker: the same classes, the same upgrades of older versions, the same bound on
its time. What is accepted is written as the pipeline's own processes write it, so that the same event is the same
record, however often it is sent.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeAlias

from pydantic import ValidationError

from operators.admit import refused
from operators.clocks import TOLERANCE
from schemas import Event, Model, Topic, encode
from schemas.codec import upgrade
from schemas.topics import FROM_APPS, TOPICS
from streams.http.forms import MAX_EVENTS
from streams.http.problems import FieldError, Problem, fields_of, plain_errors
from streams.kafka.clients import partition_of

MAX_ID: Final = 256
OVERHEAD_BYTES: Final = 1_024
"""What a record takes besides its value: key, times, Kafka's own fields."""
WHOLE: Final = "event"
"""The field of what is wrong with an event as a whole."""

MaySend: TypeAlias = Callable[[str | None], bool]
"""Whether a token may send events of this user; None: events that are everybody's."""


@dataclass(frozen=True, slots=True)
class Checked:
    """One entry of a batch.

    Attributes:
        event_id: as it was sent; None if there is none that can be told.
        topic: of the registry; None if it names none that apps write.
        event: None if it is refused.
        value: the record's value; empty if it is refused, or repeats an entry before it.
        errors: why it is refused.
    """

    event_id: str | None
    topic: Topic | None = None
    event: Event | None = None
    value: bytes = b""
    errors: tuple[FieldError, ...] = ()

    @property
    def status(self) -> str:
        """What became of it."""
        return "refused" if self.event is None else "accepted"

    @property
    def result(self) -> dict[str, Any]:
        """As the answer has it."""
        told: dict[str, Any] = {"event_id": self.event_id, "status": self.status}
        return {**told, "errors": self.errors} if self.errors else told


class _Wrong(Exception):
    """An entry is refused.

    Args:
        field: the field's path.
        what: what is wrong with it.
        errors: both, where there are several.
    """

    def __init__(self, field: str = "", what: str = "", errors: tuple[FieldError, ...] = ()) -> None:
        super().__init__(what)
        self.errors = errors or ({"field": field, "what": what},)


class Batch:
    """The entries of a batch, checked one after another.

    Args:
        may_send: what the token is good for.
        now: the time; an event from after it, by more than clocks may differ, is refused.

    Attributes:
        entries: what was checked so far.
    """

    def __init__(self, may_send: MaySend, now: datetime) -> None:
        self._may_send, self._now = may_send, now
        self._seen: dict[tuple[str, bytes, str, str], bytes] = {}
        self.entries: list[Checked] = []

    def check(self, entries: Sequence[Any]) -> None:
        """Check further entries, as JSON; never raises, whatever they are."""
        self.entries += [_once(_checked(entry, self._may_send, self._now), self._seen) for entry in entries]

    @property
    def refused(self) -> int:
        """How many are refused."""
        return sum(each.event is None for each in self.entries)

    def records(self, prefix: str, partitions: int) -> Iterator[tuple[str, bytes, bytes, int]]:
        """Topic, key, value and partition of what is to be sent, in the order of the batch.

        The partition is the one that every murmur2 client finds by the key.
        """
        for each in self.entries:
            if each.topic is not None and each.event is not None and each.value:
                key = each.topic.key_of(each.event)
                yield each.topic.name(prefix), key, each.value, partition_of(key.decode(), partitions)


def entries_of(events: Any) -> Sequence[Any]:
    """The entries of a batch.

    Raises:
        Problem: they are no list, or too many.
    """
    if not isinstance(events, list) or not 1 <= len(events) <= MAX_EVENTS:
        raise Problem(422, f'events must be a list of 1 to {MAX_EVENTS}: {{"topic": "selections", "event": {{...}}}}')
    return events


def _checked(entry: Any, may_send: MaySend, now: datetime) -> Checked:
    name, topic = None, None
    try:
        if not isinstance(entry, dict) or entry.keys() != {"topic", "event"} or not isinstance(entry["event"], dict):
            raise _Wrong("", "an entry is an object with the two members topic and event")
        name = _id_of(entry["event"])
        topic = TOPICS.get(entry["topic"]) if entry["topic"] in FROM_APPS else None
        if topic is None:
            raise _Wrong("topic", f"apps send {', '.join(FROM_APPS)}")
        event = _event_of(topic.model, entry["event"])
        _check(event, may_send, now)
        value = encode(event)
        if len(value) > (most := topic.max_message_bytes - OVERHEAD_BYTES):
            raise _Wrong(WHOLE, f"it is over {most:,} bytes")
    except _Wrong as wrong:
        return Checked(name, topic, errors=wrong.errors)
    return Checked(name, topic, event, value)


def _event_of(model: type[Model], record: dict[str, Any]) -> Event:
    """The event in this JSON object; one of an older version is upgraded."""
    if model.UPGRADES:
        try:
            record = upgrade(model, record)
        except Exception:  # an upgrade works on unvalidated data
            raise _Wrong(WHOLE, "it cannot be upgraded to the version of this release") from None
    try:
        event: Event = model.__pydantic_validator__.validate_python(record)
    except ValidationError as error:
        raise _Wrong(errors=fields_of(plain_errors(error), whole=WHOLE)) from None
    return event


def _check(event: Event, may_send: MaySend, now: datetime) -> None:
    user = getattr(event, "user_id", None)
    if not may_send(user):
        if user is None:
            raise _Wrong("topic", "items are everybody's: sending them takes a token for all users")
        raise _Wrong("user_id", "this token may not send events of that user")
    if refused(event, None, now) is not None:
        minutes = TOLERANCE.seconds // 60
        raise _Wrong("occurred_at", f"it is more than {minutes} minutes ahead of the server's time: mind the clocks")


def _once(entry: Checked, seen: dict[tuple[str, bytes, str, str], bytes]) -> Checked:
    """An entry that repeats one before it is accepted and not sent again; one that takes its id is refused."""
    if entry.topic is None or entry.event is None:
        return entry
    event = entry.event
    name = (entry.topic.base, entry.topic.key_of(event), getattr(event, "domain", ""), event.event_id)
    before = seen.setdefault(name, entry.value)
    if before is entry.value:
        return entry
    if before == entry.value:
        return Checked(entry.event_id, entry.topic, event)
    taken = ({"field": "event_id", "what": "another event of this batch has the same id"},)
    return Checked(entry.event_id, entry.topic, errors=taken)


def _id_of(record: Mapping[str, Any]) -> str | None:
    """The event's id, to tell the results apart; none that no event could have."""
    name = record.get("event_id")
    return name if isinstance(name, str) and 0 < len(name) <= MAX_ID else None
