"""Sends events to Kafka, and waits for the answers of workers: rankings, versions of skills and cards, receipts."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Generic, TypeVar, cast

from confluent_kafka import KafkaError, KafkaException, Message, Producer
from pydantic_core import to_json

from schemas import BadRecord, CardDiff, Event, Ranking, Receipt, SkillDiff, decode, encode, topic_of
from streams.http.problems import RETRY, Problem
from streams.kafka.clients import partition_of, producer_config
from streams.settings import Settings

TOPICS = (Ranking.TOPIC, SkillDiff.TOPIC, CardDiff.TOPIC, Receipt.TOPIC)  # the topics of answers
POLL_SECONDS = 1.0
ACKNOWLEDGED_SECONDS = 20.0

ReplyT = TypeVar("ReplyT", bound=Event)


def user_of(event: Event) -> str | None:
    """Return the user that an event is about, if any."""
    user: str | None = getattr(event, "user_id", None)
    return user


@dataclass(frozen=True, slots=True)
class OutgoingRecord:
    """A record to send; `topic` is the whole name."""

    topic: str
    key: bytes | None
    value: bytes
    partition: int


def outgoing_record(event: Event, settings: Settings) -> OutgoingRecord:
    """Return an event of the registry as a record on the partition of its user, or of its key without one."""
    topic, user = topic_of(type(event)), user_of(event)
    key = topic.key_of(event)
    owner = (key or b"").decode() if user is None else user
    return OutgoingRecord(topic.name(settings.prefix), key, encode(event), partition_of(owner, settings.partitions))


class EventSender:
    """A producer for the event loop. It connects with its first record."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._producer: Producer | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._poll, name="deliveries", daemon=True)

    async def send(self, records: Sequence[OutgoingRecord]) -> None:
        """Send the records and return once all replicas in sync have acknowledged all of them."""
        try:
            async with asyncio.timeout(ACKNOWLEDGED_SECONDS):
                await asyncio.gather(*map(self._produce, records))
        except (BufferError, TimeoutError, KafkaException) as error:
            detail = "Kafka has not acknowledged everything: send the same again, with the same event ids"
            raise Problem(503, detail, RETRY) from error

    def close(self) -> None:
        """End the thread; no client has an answer for a record that is not acknowledged yet."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(2 * POLL_SECONDS)

    def _produce(self, record: OutgoingRecord) -> "asyncio.Future[None]":
        acknowledged = Future[None]()

        def delivered(error: KafkaError | None, _: Message) -> None:
            if not acknowledged.set_running_or_notify_cancel():
                return  # the call has given up
            if error is None:
                acknowledged.set_result(None)
            else:
                acknowledged.set_exception(KafkaException(error))

        if self._producer is None:
            # After the answer 503 the client sends the batch again: the first one must not pile up here meanwhile.
            give_up = {"message.timeout.ms": int(1000 * ACKNOWLEDGED_SECONDS)}
            self._producer = Producer(producer_config(self._settings, **give_up))
            self._thread.start()
        self._producer.produce(record.topic, record.value, record.key, record.partition, on_delivery=delivered)
        return asyncio.wrap_future(acknowledged)

    def _poll(self) -> None:
        while not self._stop.is_set():
            if self._producer is not None:
                self._producer.poll(POLL_SECONDS)


@dataclass(frozen=True, eq=False)
class PendingReply(Generic[ReplyT]):
    """One answer that a call waits for; only records with the bytes `hint` are decoded."""

    kind: type[ReplyT]
    is_answer: Callable[[ReplyT], bool]
    hint: bytes
    found: Future[ReplyT] = field(default_factory=Future)

    async def within(self, seconds: float) -> ReplyT | None:
        """Return the answer; None if there is none within so many seconds."""
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.wrap_future(self.found)
        except TimeoutError:
            return None


class ReplyWaiter:
    """Matches records of a user's partition with the calls that wait for an answer there; decodes no others."""

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        self._awaited: dict[tuple[str, int], tuple[PendingReply[Event], ...]] = {}

    @contextmanager
    def expect(
        self, kind: type[ReplyT], user: str, is_answer: Callable[[ReplyT], bool], hint: str
    ) -> Iterator[PendingReply[ReplyT]]:
        """Wait from now on, so send the question within; `is_answer` runs in another thread, `hint`: an id in JSON."""
        place = (kind.TOPIC, partition_of(user, self._partitions))
        awaited = PendingReply(kind, is_answer, to_json(hint)[1:-1])
        mine = cast("PendingReply[Event]", awaited)
        # Replaced, never changed: another thread reads it.
        self._awaited[place] = (*self._awaited.get(place, ()), mine)
        try:
            yield awaited
        finally:
            self._awaited[place] = tuple(each for each in self._awaited[place] if each is not mine)
            if not self._awaited[place]:
                del self._awaited[place]

    def offer(self, base: str, partition: int, value: bytes | None) -> None:
        """Offer a record of a topic of answers, in the thread that read it."""
        for awaited in self._awaited.get((base, partition), ()):
            # The materializer reports records that are none. A call may have gone, or may have its answer.
            with suppress(BadRecord, InvalidStateError):
                if value is not None and awaited.hint in value:
                    answer = decode(awaited.kind, value)
                    if awaited.is_answer(answer):
                        awaited.found.set_result(answer)
