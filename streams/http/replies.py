"""Sends events to Kafka and waits for the workers' replies."""

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from pydantic_core import to_json

from schemas import BadRecord, CardDiff, Event, Ranking, Receipt, SkillDiff, decode, encode, topic_of
from streams.http.problems import RETRY, Problem
from streams.kafka.clients import partition_of, producer_config
from streams.settings import Settings

TOPICS = (Ranking.TOPIC, SkillDiff.TOPIC, CardDiff.TOPIC, Receipt.TOPIC)
POLL_SECONDS = 1.0
ACKNOWLEDGED_SECONDS = 20.0

ReplyT = TypeVar("ReplyT", bound=Event)


def user_of(event: Event) -> str | None:
    """Return the event's user, if it has one."""
    user: str | None = getattr(event, "user_id", None)
    return user


class EventSender:
    """A producer for the event loop; it connects with its first record."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._producer: Producer | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._poll, name="deliveries", daemon=True)

    async def send(self, events: Iterable[Event]) -> None:
        """Send events and wait until all in-sync replicas have acknowledged them."""
        try:
            async with asyncio.timeout(ACKNOWLEDGED_SECONDS):
                await asyncio.gather(*map(self._produce, events))
        except (BufferError, TimeoutError, KafkaException) as error:
            detail = "Kafka has not acknowledged everything: send the same again, with the same event ids"
            raise Problem(503, detail, RETRY) from error

    def close(self) -> None:
        """End the polling thread."""
        # Unacknowledged records may be lost: their clients have no success response yet.
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(2 * POLL_SECONDS)

    def _produce(self, event: Event) -> "asyncio.Future[None]":
        topic, user = topic_of(type(event)), user_of(event)
        key = topic.key_of(event)
        partition = partition_of((key or b"").decode() if user is None else user, self._settings.partitions)
        acknowledged = Future[None]()

        def delivered(error: KafkaError | None, _: Message) -> None:
            if not acknowledged.set_running_or_notify_cancel():
                return  # the call timed out
            if error is None:
                acknowledged.set_result(None)
            else:
                acknowledged.set_exception(KafkaException(error))

        if self._producer is None:
            # After a 503 the client retries: without this limit, batches would pile up in the queue of an outage.
            limits = {"message.timeout.ms": int(1000 * ACKNOWLEDGED_SECONDS)}
            self._producer = Producer(producer_config(self._settings, **limits))
            self._thread.start()
        name = topic.name(self._settings.prefix)
        self._producer.produce(name, encode(event), key, partition, on_delivery=delivered)
        return asyncio.wrap_future(acknowledged)

    def _poll(self) -> None:
        while not self._stop.is_set():
            if self._producer is not None:
                self._producer.poll(POLL_SECONDS)


@dataclass(frozen=True, eq=False)
class _PendingReply:
    kind: type[Event]
    is_answer: Callable[[Any], bool]
    hint: bytes
    found: Future[Any] = field(default_factory=Future)


class ReplyWaiter:
    """Matches records of the reply topics with waiting calls."""

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        self._awaited: dict[tuple[str, int], tuple[_PendingReply, ...]] = {}

    @contextmanager
    def expect(
        self, kind: type[ReplyT], user: str, is_answer: Callable[[ReplyT], bool], hint: str
    ) -> Iterator[Future[ReplyT]]:
        """Yield a reply's future; the `with` body sends the request.

        `is_answer` runs in the reading thread. Only records that contain the id `hint` are decoded.
        """
        address = (kind.TOPIC, partition_of(user, self._partitions))
        awaited = _PendingReply(kind, is_answer, to_json(hint)[1:-1])
        # Copy on write, because another thread reads it without a lock.
        self._awaited[address] = (*self._awaited.get(address, ()), awaited)
        try:
            yield awaited.found
        finally:
            self._awaited[address] = tuple(each for each in self._awaited[address] if each is not awaited)
            if not self._awaited[address]:
                del self._awaited[address]

    def offer(self, base: str, partition: int, value: bytes | None) -> None:
        """Match a record of a reply topic; called by the reading thread."""
        for awaited in self._awaited.get((base, partition), ()):
            # The materializer reports bad records. The call may have timed out, or have its reply already.
            with suppress(BadRecord, InvalidStateError):
                if value is not None and awaited.hint in value:
                    answer = decode(awaited.kind, value)
                    if awaited.is_answer(answer):
                        awaited.found.set_result(answer)
