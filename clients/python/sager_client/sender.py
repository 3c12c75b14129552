"""Records on their way to the broker, kept until it has acknowledged them.

One thread owns librdkafka's producer. When the producer cannot go on (the broker was restarted and has forgotten it, or
the topics are gone), the thread replaces it and sends everything again that is not acknowledged, in order. So an event
may arrive twice, and the pipeline counts each id once. The producer is not idempotent in Kafka's sense for the same
reason: a broker without its memory refuses such a producer for ever.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from .connection import Connection
from .errors import Closed, Misconfigured, NotDelivered, cause_of, unreachable
from .schemas import TOPICS, Event

PAUSE_SECONDS = 0.25
"""Between two attempts to find a broker or its topics."""
LOOK_UP_SECONDS = 1.0
POLL_SECONDS = 0.01
"""How long a new event may wait for its turn while others are on their way."""
IDLE_SECONDS = 1.0
BATCH = 1_000
FINAL = {
    KafkaError.MSG_SIZE_TOO_LARGE,
    KafkaError.INVALID_RECORD,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError._INVALID_ARG,
}
"""Errors that another attempt would not change."""

logger = logging.getLogger("sager_client")


@dataclass(frozen=True, slots=True)
class Undelivered:
    """An event that the client has given up, and why: the argument of `on_error`."""

    event: Event
    cause: str


OnError = Callable[[Undelivered], None]


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
    """Sends records in the background.

    Args:
        connection: the deployment.
        on_error: called in the sending thread with each event that is given up.
        max_events: how many events wait at most.
        max_bytes: how many bytes they have at most.
        give_up_seconds: after this time without an acknowledgement an event is given up.
    """

    def __init__(
        self,
        connection: Connection,
        on_error: OnError | None,
        max_events: int,
        max_bytes: int,
        give_up_seconds: float,
    ) -> None:
        self._connection, self._on_error = connection, on_error
        self._max_events, self._max_bytes, self._give_up_seconds = max_events, max_bytes, give_up_seconds
        self._lock = threading.Condition()
        self._records: dict[int, _Record] = {}
        """Not acknowledged, by number in the order of sending; librdkafka has those before `_next`."""
        self._bytes = self._last = self._refused = 0
        self._first_refusal = self._cause = self._misconfigured = ""
        self._closing = False
        self._thread: threading.Thread | None = None
        # The rest belongs to the thread alone.
        self._producer: Producer | None = None
        self._next = 1
        self._generation = 0
        self._broken = False
        self._topics: dict[str, int] = {}
        self._look_up_at = 0.0

    @property
    def pending(self) -> int:
        """The number of events that are not acknowledged."""
        return len(self._records)

    @property
    def has_room(self) -> bool:
        """True if `send` would not wait, also if it would raise at once."""
        is_free = len(self._records) < self._max_events and self._bytes < self._max_bytes
        return is_free or bool(self._misconfigured) or self._closing

    def send(self, base: str, key: bytes, value: bytes, event: Event, wait_seconds: float) -> None:
        """Take a record; wait for room if too many are waiting.

        Raises:
            NotDelivered: there was no room in time.
            Misconfigured: the broker's topics have a wrong number of partitions.
            Closed: `close` was called.
        """
        with self._lock:
            if not self._lock.wait_for(lambda: self.has_room, wait_seconds):
                raise self.no_room(wait_seconds)
            if self._closing:
                raise Closed("this producer is closed: make a new one")
            if self._misconfigured:
                raise Misconfigured(self._misconfigured)
            self._last += 1
            record = _Record(self._last, base, key, value, event, time.monotonic())
            self._records[record.number] = record
            self._bytes += record.size
            if self._thread is None:
                # Not earlier: an app server may fork between the making of a producer and its first event.
                self._thread = threading.Thread(target=self._run, name="sager-events", daemon=True)
                self._thread.start()
            self._lock.notify_all()

    def no_room(self, seconds: float) -> NotDelivered:
        """Return the error of a caller that has waited too long for room."""
        held, cause = self.pending, self._why()
        return NotDelivered(
            f"{_events(held)} wait for the broker, and no room for another within {seconds:g} s: {cause}", cause, held
        )

    def flush(self, seconds: float) -> None:
        """Wait until the broker has acknowledged everything.

        Raises:
            NotDelivered: it has not in time, or some was given up since the last call.
            Misconfigured: see `send`.
        """
        with self._lock:
            self._lock.wait_for(lambda: not self._records, seconds)
        self.report(seconds)

    def report(self, seconds: float) -> None:
        """Raise the errors of `flush`, without waiting."""
        with self._lock:
            left, refused = len(self._records), self._refused
            cause = self._why() if left else self._first_refusal
            self._refused, self._first_refusal = 0, ""
        if self._misconfigured:
            raise Misconfigured(self._misconfigured)
        parts = [f"{_events(left)} not delivered within {seconds:g} s"] if left else []
        parts += [f"{_events(refused)} given up"] if refused else []
        if parts:
            raise NotDelivered(f"{', '.join(parts)}: {cause}", cause, left, refused)

    def close(self) -> None:
        """End the thread, and give up everything that is not acknowledged."""
        with self._lock:
            self._closing = True
            self._lock.notify_all()
            thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _why(self) -> str:
        return self._cause or unreachable(self._connection.bootstrap)

    def _run(self) -> None:
        while not self._closing:
            with self._lock:
                if not self._records and not self._closing:
                    self._lock.wait(IDLE_SECONDS)  # an idle producer has errors to report, too
            try:
                self._step()
            except Exception:
                logger.exception("sending failed; trying again")
                self._broken = True
                time.sleep(PAUSE_SECONDS)
        self._drop_producer()
        self._give_up_all(f"the producer was closed before it was delivered: {self._why()}")
        self._refused = 0  # the error of `flush` had these, too

    def _step(self) -> None:
        if self._broken:
            self._broken = False
            self._drop_producer()
            self._topics.clear()
            with self._lock:
                self._next = next(iter(self._records), self._last + 1)
        self._give_up_the_old()
        if self._producer is None:
            if not self._records:
                return
            self._producer = self._new_producer()
        handed_over = self._hand_over(self._producer)
        self._producer.poll(0 if handed_over == BATCH or not self._records else POLL_SECONDS)

    def _new_producer(self) -> Producer:
        return Producer(
            self._connection.librdkafka(
                **{
                    "partitioner": "murmur2_random",  # as Java's clients and the workers; librdkafka's own is CRC32
                    "acks": "all",
                    "max.in.flight.requests.per.connection": 1,  # else a retry overtakes, and a user's order is lost
                    "compression.type": self._connection.compression,
                    "linger.ms": 5,
                    "message.max.bytes": 4 * 1024 * 1024,
                    "message.timeout.ms": max(1, round(self._give_up_seconds * 1000)),
                    "error_cb": self._on_broker_error,
                }
            )
        )

    def _drop_producer(self) -> None:
        producer, self._producer = self._producer, None
        self._generation += 1
        if producer is not None:
            producer.purge()
            producer.poll(0)

    def _hand_over(self, producer: Producer) -> int:
        """Give librdkafka the next records whose topics are known; return how many."""
        handed_over = 0
        while handed_over < BATCH and self._next <= self._last and not (self._broken or self._closing):
            record = self._records.get(self._next)
            if record is not None:  # else it was given up
                if record.base not in self._topics and not self._look_up(producer, record.base):
                    break
                delivered = partial(self._on_delivery, self._generation, record)
                try:
                    producer.produce(
                        self._connection.topic(record.base), record.value, record.key, on_delivery=delivered
                    )
                except BufferError:
                    break
                except KafkaException as error:
                    delivered(error.args[0], None)
                handed_over += 1
            self._next += 1
        return handed_over

    def _look_up(self, producer: Producer, base: str) -> bool:
        """Look up the broker's topics, and return True if this one is right.

        All are requested: a request for one would let a broker create it, with a number of partitions of its own.
        """
        producer.poll(0)
        if time.monotonic() < self._look_up_at:
            time.sleep(PAUSE_SECONDS / 5)
            return False
        self._look_up_at = time.monotonic() + PAUSE_SECONDS
        try:
            found = producer.list_topics(timeout=LOOK_UP_SECONDS).topics
        except KafkaException as error:
            producer.poll(0)  # its callback knows more than that no broker answered
            self._cause = cause_of(error.args[0]) or self._cause
            return False
        counts = {name: len(topic.partitions) for name, topic in found.items() if topic.error is None}
        name = self._connection.topic(base)
        if not counts.get(name):
            self._cause = (
                f"there is no topic {name} at {self._connection.bootstrap}: is SAGER_PREFIX right, and may this client "
                "write to it? `sager up` and `sager worker` create the topics"
            )
            return False
        if not TOPICS[base].single_partition:
            # Joins need the same number everywhere.
            known = next((count for each, count in self._topics.items() if not TOPICS[each].single_partition), None)
            own = self._connection.partitions
            wanted = own or known or counts[name]
            if counts[name] != wanted:
                whose = "SAGER_PARTITIONS is" if own else "the deployment's other topics have"
                self._misconfigured = (
                    f"{name} at {self._connection.bootstrap} has {counts[name]} partitions, but {whose} {wanted}: "
                    "a wrong number breaks the joins, so nothing is sent"
                )
                self._give_up_all(self._misconfigured)
                return False
        self._topics[base], self._cause = counts[name], ""
        return True

    def _on_delivery(
        self, generation: int, record: _Record, error: KafkaError | None, _message: Message | None
    ) -> None:
        if generation != self._generation:
            return  # of a producer that was replaced: the record is on its way again
        if error is None:
            self._drop(record)
            self._cause = ""
        elif error.code() in FINAL:
            self._give_up(record, f"{record.base}: {cause_of(error)}")
        elif error.code() == KafkaError._MSG_TIMED_OUT:
            self._give_up_late(record)
        else:
            self._cause = cause_of(error) or self._cause
            self._broken = True

    def _on_broker_error(self, error: KafkaError) -> None:
        self._cause = cause_of(error) or self._cause
        # When the last connection is lost, the broker may come back as another one, without its topics. The producer
        # still knows those, and would let the broker create them with a number of partitions of its own.
        if error.fatal() or (error.code() == KafkaError._ALL_BROKERS_DOWN and self._topics):
            self._broken = True

    def _give_up_the_old(self) -> None:
        """Give up records that librdkafka does not have yet, and whose clock is therefore ours."""
        oldest = time.monotonic() - self._give_up_seconds
        for number in range(self._next, self._last + 1):
            record = self._records.get(number)
            if record is not None:
                if record.sent_at > oldest:
                    return
                self._give_up_late(record)

    def _give_up_late(self, record: _Record) -> None:
        self._give_up(record, f"not delivered within {self._give_up_seconds:g} s: {self._why()}")

    def _give_up_all(self, cause: str) -> None:
        with self._lock:
            left = list(self._records.values())
        for record in left:
            self._give_up(record, cause)

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
