"""Records on their way to the broker: kept until it has acknowledged them, whatever becomes of it in between.

One thread owns librdkafka's producer. When a producer cannot go on (the broker was restarted and has forgotten it, or
the topics are gone), the thread makes a new one and sends again what was not acknowledged, in the order in which it was
sent. So an event may arrive twice. That is harmless: events have ids, and the pipeline counts each once. It is also why
the producer is not idempotent in Kafka's sense: a broker without its memory refuses such a producer for ever.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from .causes import cause_of, unreachable
from .connection import Connection
from .exceptions import Closed, Misconfigured, NotDelivered
from .schemas import TOPICS, Event

PAUSE_SECONDS = 0.25
"""Between two tries to find a broker or its topics."""
LOOK_UP_SECONDS = (0.5, 4.0)
"""How long a try to find the topics takes at first, and at most: each that fails doubles it."""
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
"""What sending again would not change."""

logger = logging.getLogger("sager_client")


@dataclass(frozen=True, slots=True)
class Undelivered:
    """An event that the client has given up, and why: what `on_error` is called with."""

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
        self._connection = connection
        self._on_error = on_error
        self._max_events, self._max_bytes = max_events, max_bytes
        self._give_up_seconds = give_up_seconds
        self._lock = threading.Condition()
        self._waiting: deque[_Record] = deque()
        self._flying: dict[int, _Record] = {}
        """Handed to librdkafka and not acknowledged, in the order of sending."""
        self._bytes = 0
        self._number = 0
        self._refused = 0
        self._first_refusal = ""
        self._cause = ""
        self._misconfigured = ""
        self._closing = False
        self._thread: threading.Thread | None = None
        # What follows belongs to the thread alone.
        self._producer: Producer | None = None
        self._generation = 0
        self._broken = False
        self._topics: dict[str, int] = {}
        self._try_again_at = 0.0
        self._look_up_seconds = LOOK_UP_SECONDS[0]

    # --- what apps' threads call

    @property
    def pending(self) -> int:
        """How many events are not acknowledged."""
        with self._lock:
            return len(self._waiting) + len(self._flying)

    @property
    def has_room(self) -> bool:
        """Whether `send` would not wait; also when it would raise at once."""
        with self._lock:
            return self._has_room() or bool(self._misconfigured) or self._closing

    def send(self, base: str, key: bytes, value: bytes, event: Event, wait_seconds: float) -> None:
        """Take a record; wait so long at most where too many are waiting already.

        Raises:
            NotDelivered: there was no room in time.
            Misconfigured: the broker's topics are not what they have to be.
            Closed: `close` was called.
        """
        with self._lock:
            self._check_open()
            if not self._lock.wait_for(
                lambda: self._has_room() or self._closing or bool(self._misconfigured), wait_seconds
            ):
                raise self.no_room(wait_seconds)
            self._check_open()
            self._number += 1
            record = _Record(self._number, base, key, value, event, time.monotonic())
            self._waiting.append(record)
            self._bytes += record.size
            if self._thread is None:
                # Not earlier: an app server may fork between the making of a producer and its first event.
                self._thread = threading.Thread(target=self._run, name="sager-events", daemon=True)
                self._thread.start()
            self._lock.notify_all()

    def no_room(self, seconds: float) -> NotDelivered:
        """The error of who has waited too long for room."""
        with self._lock:
            held, cause = len(self._waiting) + len(self._flying), self._why()
        return NotDelivered(
            f"{_events(held)} wait for the broker, and no room for another within {seconds:g} s: {cause}", cause, held
        )

    def flush(self, seconds: float) -> None:
        """Wait until the broker has all that was sent.

        Raises:
            NotDelivered: it took not all of it in time, or some was given up since the last call.
        """
        with self._lock:
            self._lock.wait_for(lambda: not self._waiting and not self._flying, seconds)
        self.report(seconds)

    def report(self, seconds: float) -> None:
        """Raise what `flush` raises, without waiting."""
        with self._lock:
            left, refused = len(self._waiting) + len(self._flying), self._refused
            cause = self._why() if left else self._first_refusal
            self._refused, self._first_refusal = 0, ""
            misconfigured = self._misconfigured
        if misconfigured:
            raise Misconfigured(misconfigured)
        parts = []
        if left:
            parts.append(f"{_events(left)} not delivered within {seconds:g} s")
        if refused:
            parts.append(f"{_events(refused)} given up")
        if parts:
            raise NotDelivered(f"{', '.join(parts)}: {cause}", cause, left, refused)

    def close(self) -> None:
        """End the thread; what is not acknowledged by now is given up."""
        with self._lock:
            self._closing = True
            self._lock.notify_all()
            thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def _check_open(self) -> None:
        if self._closing:
            raise Closed("this producer is closed: make a new one")
        if self._misconfigured:
            raise Misconfigured(self._misconfigured)

    def _has_room(self) -> bool:
        return len(self._waiting) + len(self._flying) < self._max_events and self._bytes < self._max_bytes

    def _why(self) -> str:
        return self._cause or unreachable(self._connection.bootstrap)

    # --- the thread

    def _run(self) -> None:
        while self._wait_for_work():
            try:
                self._step()
            except Exception:
                logger.exception("sending failed; trying again")
                self._broken = True
                time.sleep(PAUSE_SECONDS)
        self._drop_producer()
        with self._lock:
            left = [*self._flying.values(), *self._waiting]
            cause = self._why()
        for record in left:
            self._give_up(record, f"the producer was closed before it was delivered: {cause}")
        with self._lock:
            self._refused = 0  # whoever closed it was told how many were left

    def _wait_for_work(self) -> bool:
        """Whether to go on. An idle thread wakes now and then, to hear what its producer has to say."""
        with self._lock:
            if not self._waiting and not self._flying and not self._closing:
                self._lock.wait(IDLE_SECONDS)
            return not self._closing

    def _step(self) -> None:
        if self._broken:
            self._start_anew()
        self._give_up_the_old()
        if self._producer is None:
            if not self._waiting:
                return
            self._producer = self._new_producer()
        handed_over = self._hand_over(self._producer)
        self._producer.poll(0 if handed_over == BATCH or not self._flying else POLL_SECONDS)

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

    def _hand_over(self, producer: Producer) -> int:
        """Give librdkafka what waits, if its topics are known; how many records that were."""
        handed_over = 0
        while handed_over < BATCH and not self._broken:
            with self._lock:
                if not self._waiting or self._closing:
                    return handed_over
                record = self._waiting[0]
            if record.base not in self._topics and not self._look_up(producer, record.base):
                return handed_over
            with self._lock:
                self._waiting.popleft()
                self._flying[record.number] = record
            try:
                producer.produce(
                    self._connection.topic(record.base),
                    record.value,
                    record.key,
                    on_delivery=partial(self._on_delivery, self._generation, record),
                )
            except BufferError:
                with self._lock:
                    del self._flying[record.number]
                    self._waiting.appendleft(record)
                producer.poll(POLL_SECONDS)
                return handed_over
            except KafkaException as error:
                self._on_delivery(self._generation, record, error.args[0], None)
            handed_over += 1
        return handed_over

    def _look_up(self, producer: Producer, base: str) -> bool:
        """Ask the broker for its topics; whether this one is there.

        All are asked for: asking for one would let a broker make it, with a number of partitions of its own.
        """
        producer.poll(0)
        if time.monotonic() < self._try_again_at:
            time.sleep(PAUSE_SECONDS / 5)
            return False
        self._try_again_at = time.monotonic() + PAUSE_SECONDS
        try:
            found = producer.list_topics(timeout=self._look_up_seconds).topics
        except KafkaException as error:
            producer.poll(0)  # lets it say what it has met, which is more than that nobody answered
            self._heard(cause_of(error.args[0]))
            self._look_up_seconds = min(2 * self._look_up_seconds, LOOK_UP_SECONDS[1])
            return False
        self._look_up_seconds = LOOK_UP_SECONDS[0]
        name = self._connection.topic(base)
        counts = {each: len(topic.partitions) for each, topic in found.items() if topic.error is None}
        if not counts.get(name):
            self._told(
                f"there is no topic {name} at {self._connection.bootstrap}: is SAGER_PREFIX right, and may this client "
                "write to it? `sager up` and `sager worker` create the topics"
            )
            return False
        if not TOPICS[base].single_partition and not self._agrees(name, counts[name]):
            return False
        self._topics[base] = counts[name]
        self._told("")
        return True

    def _agrees(self, name: str, partitions: int) -> bool:
        """Whether a topic has as many partitions as all others have; joins rest on that."""
        known = next((count for base, count in self._topics.items() if not TOPICS[base].single_partition), partitions)
        wanted, whose = (
            (self._connection.partitions, "SAGER_PARTITIONS is")
            if self._connection.partitions is not None
            else (known, "the deployment's other topics have")
        )
        if partitions == wanted:
            return True
        told = (
            f"{name} at {self._connection.bootstrap} has {partitions} partitions, but {whose} {wanted}: "
            "a wrong number breaks the joins, so nothing is sent"
        )
        with self._lock:
            self._misconfigured = told
            left = [*self._flying.values(), *self._waiting]
            self._lock.notify_all()
        for record in left:
            self._give_up(record, told)
        return False

    def _on_delivery(
        self, generation: int, record: _Record, error: KafkaError | None, _message: Message | None
    ) -> None:
        if generation != self._generation:
            return  # of a producer that was given up: the record is on its way again
        if error is None:
            self._done(record)
            self._told("")
        elif error.code() == KafkaError._MSG_TIMED_OUT:
            self._give_up_late(record)
        elif error.code() in FINAL:
            self._give_up(record, f"{record.base}: {cause_of(error)}")
        else:
            self._heard(cause_of(error))
            self._broken = True

    def _on_broker_error(self, error: KafkaError) -> None:
        self._heard(cause_of(error))
        # When the last connection is lost, the broker may come back as another one, without its topics. The producer
        # still knows those, and would let it make them anew, with a number of partitions of its own.
        if error.fatal() or (error.code() == KafkaError._ALL_BROKERS_DOWN and self._topics):
            self._broken = True

    def _start_anew(self) -> None:
        """Give up the producer, and let all that it did not get acknowledged wait again, in front."""
        self._broken = False
        self._drop_producer()
        with self._lock:
            self._waiting.extendleft(reversed(self._flying.values()))
            self._flying.clear()
        self._topics.clear()

    def _drop_producer(self) -> None:
        producer, self._producer = self._producer, None
        self._generation += 1
        if producer is not None:
            producer.purge()
            producer.poll(0)

    def _give_up_the_old(self) -> None:
        """What waits for a broker has no clock of librdkafka's yet."""
        oldest = time.monotonic() - self._give_up_seconds
        while True:
            with self._lock:
                if not self._waiting or self._waiting[0].sent_at > oldest:
                    return
                record = self._waiting[0]
            self._give_up_late(record)

    def _give_up_late(self, record: _Record) -> None:
        self._give_up(record, f"not delivered within {self._give_up_seconds:g} s: {self._why()}")

    def _give_up(self, record: _Record, cause: str) -> None:
        self._done(record)
        with self._lock:
            self._refused += 1
            self._first_refusal = self._first_refusal or cause
        if self._on_error is None:
            return
        try:
            self._on_error(Undelivered(record.event, cause))
        except Exception:
            logger.exception("on_error raised")

    def _done(self, record: _Record) -> None:
        with self._lock:
            if self._flying.pop(record.number, None) is None:
                self._waiting.remove(record)
            self._bytes -= record.size
            self._lock.notify_all()

    def _heard(self, cause: str) -> None:
        if cause:
            self._told(cause)

    def _told(self, cause: str) -> None:
        with self._lock:
            self._cause = cause


def _events(number: int) -> str:
    return f"{number:,} event" if number == 1 else f"{number:,} events"
