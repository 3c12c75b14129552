"""Sends records in a thread, and keeps them until they are acknowledged.

If librdkafka's producer cannot continue (the broker restarted empty, or topics are gone), the thread creates a new one
and resends all unacknowledged records in order. An event may arrive twice; the pipeline counts each id once. The
producer is not idempotent: a broker that restarted empty would refuse it for ever.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from .connection import Connection
from .errors import Closed, NotDelivered, cause_of, no_topic
from .schemas import Event

# Between two attempts to find a broker or its topics.
PAUSE_SECONDS = 0.25
LOOK_UP_SECONDS = 1.0
# The longest delay of a new event while others are in flight.
POLL_SECONDS = 0.01
IDLE_SECONDS = 1.0
BATCH = 1_000
# Errors that a retry cannot fix.
FINAL = {
    KafkaError.MSG_SIZE_TOO_LARGE,
    KafkaError.INVALID_RECORD,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError._INVALID_ARG,
}
PURGED = (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT)

logger = logging.getLogger("sager_client")


@dataclass(frozen=True, slots=True)
class Undelivered:
    """An event that the client has given up: the argument of `on_error`."""

    event: Event
    cause: str


OnError = Callable[[Undelivered], None]


@dataclass(frozen=True, slots=True)
class Limits:
    """How many events wait for the broker, and how long.

    A call waits `wait_seconds` for room in a full queue, then raises `NotDelivered`. An event that the broker has not
    acknowledged after `give_up_seconds` is given up.
    """

    max_events: int = 100_000
    max_bytes: int = 128 * 1024 * 1024
    wait_seconds: float = 10.0
    give_up_seconds: float = 300.0


@dataclass(frozen=True, slots=True)
class _Record:
    number: int
    base: str
    key: bytes
    value: bytes
    event: Event
    sent_at: float

    @property
    def size(self) -> int:
        return len(self.key) + len(self.value)


class Sender:
    """Sends records in a thread; calls `on_error` with each one given up."""

    def __init__(self, connection: Connection, limits: Limits, on_error: OnError | None) -> None:
        self._connection, self._limits, self._on_error = connection, limits, on_error
        self.wait_seconds = limits.wait_seconds
        self._lock = threading.Condition()
        # Not acknowledged, by number in the order of sending; librdkafka has those before `_next`.
        self._records: dict[int, _Record] = {}
        self._next = 1
        self._bytes = self._last = self._refused = 0
        self._first_refusal = self._cause = ""
        self._closing = self._broken = False
        self._thread: threading.Thread | None = None
        # Those that the broker has, as far as they were looked up.
        self._topics: set[str] = set()

    @property
    def pending(self) -> int:
        """The number of events that are not acknowledged."""
        return len(self._records)

    def send(self, base: str, key: bytes, value: bytes, event: Event) -> None:
        """Queue a record; wait for room if the queue is full."""
        with self._lock:
            if not self._lock.wait_for(self._has_room, self.wait_seconds):
                pending, why = self.pending, self._why()
                text = f"{_events(pending)} wait for the broker, and no room for another within {self.wait_seconds:g} s"
                raise NotDelivered(f"{text}: {why}", why, pending)
            if self._closing:
                raise Closed("this producer is closed: create a new one")
            self._last += 1
            record = _Record(self._last, base, key, value, event, time.monotonic())
            self._records[record.number] = record
            self._bytes += record.size
            if self._thread is None:
                # Not in the constructor: an app server may fork before the first event.
                self._thread = threading.Thread(target=self._run, name="sager-events", daemon=True)
                self._thread.start()
            self._lock.notify_all()

    def flush(self, seconds: float) -> None:
        """Wait until the broker has acknowledged everything."""
        with self._lock:
            self._lock.wait_for(lambda: not self._records, seconds)
            left, refused = len(self._records), self._refused
            cause = self._why() if left else self._first_refusal
            self._refused, self._first_refusal = 0, ""
        parts = [f"{_events(left)} not delivered within {seconds:g} s"] if left else []
        parts += [f"{_events(refused)} given up"] if refused else []
        if parts:
            raise NotDelivered(f"{', '.join(parts)}: {cause}", cause, left, refused)

    def close(self) -> None:
        """End the thread, and give up all unacknowledged events."""
        with self._lock:
            self._closing = True
            self._lock.notify_all()
            thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _has_room(self) -> bool:
        is_free = len(self._records) < self._limits.max_events and self._bytes < self._limits.max_bytes
        return is_free or self._closing

    def _why(self) -> str:
        return self._cause or f"broker unreachable at {self._connection.bootstrap}: no answer"

    def _run(self) -> None:
        while not self._closing:
            try:
                self._send_with_a_new_producer()
            except Exception:
                logger.exception("sending failed; trying again")
                time.sleep(PAUSE_SECONDS)
        with self._lock:
            left = list(self._records.values())
        for record in left:
            self._give_up(record, f"the producer was closed before it was delivered: {self._why()}")
        self._refused = 0  # the error of `flush` had these, too

    def _send_with_a_new_producer(self) -> None:
        settings = {
            "partitioner": "murmur2_random",  # as Java's clients and the workers; librdkafka's own is CRC32
            "acks": "all",
            "max.in.flight.requests.per.connection": 1,  # a retry must not overtake: a user's order counts
            "compression.type": self._connection.compression,
            "linger.ms": 5,
            "message.max.bytes": 4 * 1024 * 1024,
            "message.timeout.ms": max(1, round(self._limits.give_up_seconds * 1000)),
            "error_cb": self._on_broker_error,
        }
        producer = Producer(self._connection.librdkafka(**settings))
        self._broken = False
        self._topics.clear()
        with self._lock:
            self._next = next(iter(self._records), self._last + 1)
        try:
            while not (self._broken or self._closing):
                with self._lock:
                    if not self._records and not self._closing:
                        self._lock.wait(IDLE_SECONDS)  # wake up to report errors
                self._give_up_the_old()
                producer.poll(self._hand_over(producer))
        finally:
            producer.purge()
            producer.poll(0)

    def _hand_over(self, producer: Producer) -> float:
        """Pass the next records to librdkafka; return the time to poll it."""
        for number in range(self._next, min(self._last + 1, self._next + BATCH)):
            record = self._records.get(number)
            if record is not None:  # else it was given up
                if record.base not in self._topics and not self._look_up(producer, record.base):
                    return PAUSE_SECONDS
                topic, delivered = self._connection.topic(record.base), partial(self._on_delivery, record)
                try:
                    producer.produce(topic, record.value, record.key, on_delivery=delivered)
                except BufferError:
                    return POLL_SECONDS
                except KafkaException as error:
                    delivered(error.args[0], None)
                if self._broken:
                    return 0
            self._next = number + 1
        return POLL_SECONDS if self._records and self._next > self._last else 0

    def _look_up(self, producer: Producer, base: str) -> bool:
        """Look up the broker's topics, and return True if this one exists."""
        # List all topics: a request for one would let a broker create it with a wrong number of partitions.
        try:
            found = producer.list_topics(timeout=LOOK_UP_SECONDS).topics
        except KafkaException as error:
            producer.poll(0)  # the callback may report a better cause
            self._cause = cause_of(error.args[0]) or self._cause
            return False
        name = self._connection.topic(base)
        if name not in found or found[name].error is not None:
            self._cause = no_topic(name, self._connection.bootstrap)
            return False
        self._topics.add(base)
        self._cause = ""
        return True

    def _on_delivery(self, record: _Record, error: KafkaError | None, _message: Message | None) -> None:
        if error is None:
            self._drop(record)
            self._cause = ""
        elif error.code() in FINAL:
            self._give_up(record, f"{record.base}: {cause_of(error)}")
        elif error.code() == KafkaError._MSG_TIMED_OUT:
            self._give_up_late(record)
        elif error.code() not in PURGED:  # the next producer resends purged records
            self._cause = cause_of(error) or self._cause
            self._broken = True

    def _on_broker_error(self, error: KafkaError) -> None:
        self._cause = cause_of(error) or self._cause
        # After the last connection is lost, the broker may return without its topics. This producer still knows them,
        # and would let the broker create them with a wrong number of partitions.
        if error.fatal() or (error.code() == KafkaError._ALL_BROKERS_DOWN and self._topics):
            self._broken = True

    def _give_up_the_old(self) -> None:
        """Give up expired records that librdkafka does not have yet."""
        oldest = time.monotonic() - self._limits.give_up_seconds
        for number in range(self._next, self._last + 1):
            record = self._records.get(number)
            if record is not None:
                if record.sent_at > oldest:
                    return
                self._give_up_late(record)

    def _give_up_late(self, record: _Record) -> None:
        self._give_up(record, f"not delivered within {self._limits.give_up_seconds:g} s: {self._why()}")

    def _give_up(self, record: _Record, cause: str) -> None:
        with self._lock:
            self._refused += 1
            self._first_refusal = self._first_refusal or cause
        self._drop(record)
        if self._on_error is not None:
            try:
                self._on_error(Undelivered(record.event, cause))
            except Exception:
                logger.exception("on_error raised")

    def _drop(self, record: _Record) -> None:
        with self._lock:
            if self._records.pop(record.number, None) is not None:
                self._bytes -= record.size
            self._lock.notify_all()


def _events(number: int) -> str:
    return f"{number:,} event" if number == 1 else f"{number:,} events"
