"""Follows a topic in a thread, also after a broker restart."""

import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition

from .connection import Connection
from .errors import BrokerUnreachable, Closed, cause_of, no_topic
from .schemas import BadRecord, Ranking, RankRequest, decode

PAUSE_SECONDS = 0.25
LOOK_UP_SECONDS = 2.0
READ_SECONDS = 0.1
BATCH = 500

logger = logging.getLogger("sager_client")


def _ignore() -> None:
    pass


class TopicFollower:
    """Reads a topic and follows it, without a consumer group.

    The reading thread calls `take` with every record's key and value (None: a tombstone), `on_start` before it reads
    from the beginning, and `on_caught_up` once everything is read. `from_end` reads only new records.
    """

    # A broker whose last connection was lost may return with empty topics of the same names. A new consumer then reads
    # from the beginning; with `from_end` it resumes at its position, unless the topic has become shorter.

    def __init__(
        self,
        connection: Connection,
        base: str,
        take: Callable[[bytes, bytes | None], None],
        *,
        on_start: Callable[[], None] = _ignore,
        on_caught_up: Callable[[], None] = _ignore,
        from_end: bool = False,
    ) -> None:
        self._connection, self._name = connection, connection.topic(base)
        self._take, self._on_start, self._on_caught_up = take, on_start, on_caught_up
        self._from_end = from_end
        # The next offset to read of each partition.
        self._next: dict[int, int] = {}
        self._stop, self._ready = threading.Event(), threading.Event()
        self._cause = ""
        self._is_broker_lost = False
        self._thread = threading.Thread(target=self._run, name=f"sager-{base}", daemon=True)

    def start(self) -> None:
        """Start following."""
        if self._stop.is_set():
            raise Closed("this object is closed: create a new one")
        if not self._thread.is_alive():
            self._thread.start()

    @property
    def ready(self) -> bool:
        """True once everything has been read."""
        return self._ready.is_set()

    def wait(self, seconds: float) -> None:
        """Wait until it is ready.

        Raises:
            BrokerUnreachable: it took longer than `seconds`, or was closed.
        """
        if not self._ready.wait(seconds):
            cause = self._cause or f"broker unreachable at {self._connection.bootstrap}: no answer"
            raise BrokerUnreachable(f"{self._name} could not be read within {seconds:g} s: {cause}")

    def close(self) -> None:
        """End the reading thread."""
        self._stop.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        settings = {
            # librdkafka requires a group name; no consumer joins it, and nothing is committed.
            "group.id": "sager-client-unused",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "error_cb": self._on_broker_error,
        }
        while not self._stop.is_set():
            try:
                consumer = Consumer(self._connection.librdkafka(**settings))
                try:
                    self._read(consumer)
                finally:
                    consumer.close()
            except Exception:
                logger.exception("reading %s failed; trying again", self._name)
                self._stop.wait(PAUSE_SECONDS)

    def _read(self, consumer: Consumer) -> None:
        """Read until the last connection is lost, or until the end."""
        while not (partitions := self._partitions(consumer)):
            if self._stop.wait(PAUSE_SECONDS):
                return
        self._is_broker_lost, self._cause = False, ""
        if not self._from_end:
            self._on_start()
        consumer.assign([TopicPartition(self._name, each, self._start_of(consumer, each)) for each in partitions])
        unread, is_caught_up = dict.fromkeys(partitions), False
        while not (self._stop.is_set() or self._is_broker_lost):
            for message in consumer.consume(BATCH, READ_SECONDS):
                self._on_message(message)
                self._drop_read(consumer, message, unread)
            if not unread and not is_caught_up:
                is_caught_up = True
                self._on_caught_up()
                self._ready.set()

    def _partitions(self, consumer: Consumer) -> list[int]:
        """Return the topic's partitions; none if they cannot be read."""
        try:
            # List all topics: a request for one could create it.
            found = consumer.list_topics(timeout=LOOK_UP_SECONDS).topics.get(self._name)
        except KafkaException as error:
            consumer.poll(0)  # the callback may report a better cause
            self._cause = cause_of(error.args[0]) or self._cause
            return []
        if found is None or found.error is not None:
            self._cause = no_topic(self._name, self._connection.bootstrap)
            return []
        return sorted(found.partitions)

    def _start_of(self, consumer: Consumer, partition: int) -> int:
        if not self._from_end:
            return int(OFFSET_BEGINNING)
        _, end = consumer.get_watermark_offsets(TopicPartition(self._name, partition), timeout=LOOK_UP_SECONDS)
        offset = self._next.setdefault(partition, end)
        return offset if offset <= end else int(OFFSET_BEGINNING)

    def _drop_read(self, consumer: Consumer, message: Message, unread: dict[int, int | None]) -> None:
        """Drop a partition that was read to its end at the first fetch."""
        # The client reports an end only after an empty fetch, and a busy partition has none.
        partition, error = message.partition(), message.error()
        if partition not in unread:
            return
        if error is None:
            place, end = TopicPartition(self._name, partition), unread[partition]
            if end is None:
                _, end = consumer.get_watermark_offsets(place, cached=True)
                unread[partition] = end
            if message.offset() + 1 < end:
                return
        elif error.code() != KafkaError._PARTITION_EOF:
            return
        del unread[partition]

    def _on_message(self, message: Message) -> None:
        error = message.error()
        if error is None:
            self._next[message.partition()] = message.offset() + 1
            try:
                self._take(message.key() or b"", message.value())
            except Exception:
                logger.exception("a record of %s could not be read", self._name)
        elif error.code() != KafkaError._PARTITION_EOF:
            self._on_broker_error(error)

    def _on_broker_error(self, error: KafkaError) -> None:
        self._cause = cause_of(error) or self._cause
        if error.code() in (KafkaError._ALL_BROKERS_DOWN, KafkaError.UNKNOWN_TOPIC_OR_PART):
            self._is_broker_lost = True


class RequestedRankings:
    """The rankings that callers wait for, read from their topic."""

    def __init__(self, connection: Connection) -> None:
        self._follower = TopicFollower(connection, Ranking.TOPIC, self._take, from_end=True)
        self._lock = threading.Lock()
        # By the user and the ranking's id.
        self._awaited: dict[tuple[str, str], Future[Ranking]] = {}

    def follow(self, seconds: float) -> None:
        """Start reading with the first call, and wait until it reads."""
        with self._lock:
            self._follower.start()
        self._follower.wait(seconds)

    @contextmanager
    def expect(self, request: RankRequest) -> Iterator[Future[Ranking]]:
        """Yield the future ranking that answers this request."""
        key = (request.user_id, request.request_id)
        ranking = self._awaited[key] = Future[Ranking]()
        try:
            yield ranking
        finally:
            del self._awaited[key]

    def close(self) -> None:
        """End the reading thread."""
        with self._lock:
            self._follower.close()

    def _take(self, key: bytes, value: bytes | None) -> None:
        # Most records are other users': they need no decoding.
        if not any(user.encode() == key for user, _ in list(self._awaited)):
            return
        try:
            ranking = decode(Ranking, value)
        except BadRecord:
            return
        awaited = self._awaited.get((ranking.user_id, ranking.ranking_id))
        if awaited is not None and not awaited.done():
            awaited.set_result(ranking)
