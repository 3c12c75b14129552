"""Producing the registry's events from the pipeline's own processes; apps have `sager_client`."""

import uuid
from datetime import datetime
from typing import Any, Self, TypeVar

from schemas import Event, topic_of
from schemas.codec import encode
from streams.kafka.clients import partition_of
from streams.kafka.producer import BY_KEY, Outbox
from streams.settings import Settings

FLUSH_SECONDS = 30.0

EventT = TypeVar("EventT", bound=Event)


def envelope(at: datetime) -> dict[str, Any]:
    """Return the fields that every event has, with a new id."""
    return {"event_id": uuid.uuid4().hex, "occurred_at": at}


class EventOutbox:
    """Produces events on their topics. As a context manager, it waits at its end until the broker has them all."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._outbox = Outbox(settings)

    def send(self, event: EventT) -> EventT:
        """Produce an event, and return it."""
        topic = topic_of(type(event))
        user_id = getattr(event, "user_id", None)
        # Explicit, so that a record keyed by user and domain lands beside its user's others.
        partition = BY_KEY if user_id is None else partition_of(user_id, self._settings.partitions)
        self._outbox.send(topic.name(self._settings.prefix), topic.key_of(event), encode(event), partition)
        return event

    def flush(self, seconds: float = FLUSH_SECONDS) -> None:
        """Wait until the broker has all events.

        Raises:
            NotProduced: the broker did not accept all in time, or refused some.
        """
        self._outbox.flush(seconds, "events")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.flush()
