"""Follows a topic in a thread, from its beginning or its end, and notices when the broker has replaced it."""

import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Generic, TypeVar

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from .connection import Connection
from .errors import BrokerUnreachable, Closed, cause_of, unreachable
from .schemas import BadRecord, Event, decode

PAUSE_SECONDS = 0.25
LOOK_UP_SECONDS = 2.0
READ_SECONDS = 0.1
BATCH = 500

AnswerT = TypeVar("AnswerT", bound=Event)
logger = logging.getLogger("sager_client")


class Follower:
    """Reads a topic without a consumer group, so that any number of processes can, and then follows it.

    Args:
        connection: the deployment.
        base: the registry's name of the topic.
        take: called in the reading thread with every record's key and value; None is a tombstone.
        on_replaced: called when the topic is another one than before and will be read from its beginning.
        on_caught_up: called when everything has been read, at first and after each `on_replaced`.
        from_end: read only records that come from now on.
    """

    def __init__(
        self,
        connection: Connection,
        base: str,
        take: Callable[[bytes, bytes | None], None],
        *,
        on_replaced: Callable[[], None] = lambda: None,
        on_caught_up: Callable[[], None] = lambda: None,
        from_end: bool = False,
    ) -> None:
        self._connection, self._name = connection, connection.topic(base)
        self._take, self._on_replaced, self._on_caught_up = take, on_replaced, on_caught_up
        self._from_end = from_end
        self._stop, self._ready = threading.Event(), threading.Event()
        self._topic_id = self._cause = ""
        self._doubtful = False
        self._thread = threading.Thread(target=self._run, name=f"sager-{base}", daemon=True)

    def start(self) -> None:
        """Begin to follow.

        Raises:
            Closed: `close` was called.
        """
        if self._stop.is_set():
            raise Closed("it is closed: make a new one")
        if not self._thread.is_alive():
            self._thread.start()

    @property
    def ready(self) -> bool:
        """True once everything has been read."""
        return self._ready.is_set()

    def wait(self, seconds: float) -> None:
        """Wait until it is ready.

        Raises:
            BrokerUnreachable: that took longer than `seconds`, or it was closed.
        """
        if not self._ready.wait(seconds):
            raise self.too_late(seconds)

    def too_late(self, seconds: float) -> BrokerUnreachable:
        """Return the error of a caller that has waited too long."""
        cause = self._cause or unreachable(self._connection.bootstrap)
        return BrokerUnreachable(f"{self._name} could not be read within {seconds:g} s: {cause}")

    def close(self) -> None:
        """End the reading thread."""
        self._stop.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._read()
            except Exception:
                logger.exception("reading %s failed; trying again", self._name)
                self._stop.wait(PAUSE_SECONDS)

    def _read(self) -> None:
        """Read one topic until it is replaced, or until the end."""
        settings = {
            # librdkafka insists on a group's name; no consumer joins it, and nothing is committed.
            "group.id": "sager-client-unused",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "error_cb": self._on_broker_error,
        }
        consumer = Consumer(self._connection.librdkafka(**settings))
        admin = AdminClient(self._connection.librdkafka(error_cb=self._on_broker_error))
        try:
            topic_id, partitions = self._wait_for_topic(admin)
            if self._stop.is_set():
                return
            is_first, self._topic_id = not self._topic_id, topic_id
            if not is_first:
                self._on_replaced()
            starts = [TopicPartition(self._name, partition, OFFSET_BEGINNING) for partition in partitions]
            if self._from_end and is_first:  # a topic that replaces another may already have the awaited answer
                for start in starts:
                    start.offset = consumer.get_watermark_offsets(start, timeout=LOOK_UP_SECONDS)[1]
            consumer.assign(starts)
            unread = set(partitions)
            is_caught_up = False
            while not self._stop.is_set():
                if self._doubtful and not self._is_unchanged(admin):
                    return
                for message in consumer.consume(BATCH, READ_SECONDS):
                    self._on_message(message, unread)
                if not unread and not is_caught_up:
                    is_caught_up = True
                    self._on_caught_up()
                    self._ready.set()
        finally:
            consumer.close()

    def _on_message(self, message: Message, unread: set[int]) -> None:
        error = message.error()
        if error is None:
            try:
                self._take(message.key() or b"", message.value())
            except Exception:
                logger.exception("a record of %s could not be read", self._name)
        elif error.code() == KafkaError._PARTITION_EOF:
            unread.discard(message.partition() or 0)
        else:
            self._on_broker_error(error)

    def _on_broker_error(self, error: KafkaError) -> None:
        self._cause = cause_of(error) or self._cause
        # The last connection is lost: a broker without its memory may come back.
        self._doubtful = True

    def _wait_for_topic(self, admin: AdminClient) -> tuple[str, list[int]]:
        """Return the topic's id and partitions, once it exists."""
        while not self._stop.is_set():
            found = self._look_up(admin)
            if found is not None and found[1]:
                self._doubtful, self._cause = False, ""
                return found
            self._stop.wait(PAUSE_SECONDS)
        return "", []

    def _is_unchanged(self, admin: AdminClient) -> bool:
        """Return True if the topic is the same as before, also while no broker answers."""
        found = self._look_up(admin)
        if found is None:
            self._stop.wait(PAUSE_SECONDS)
            return True
        self._doubtful, self._cause = False, ""
        return found[0] == self._topic_id

    def _look_up(self, admin: AdminClient) -> tuple[str, list[int]] | None:
        """Return the topic's id and partitions, none if it does not exist; None if no broker answers."""
        admin.poll(0)
        answers = admin.describe_topics(TopicCollection([self._name]), request_timeout=LOOK_UP_SECONDS)
        try:
            found = answers[self._name].result(LOOK_UP_SECONDS + 1)
        except KafkaException as error:
            admin.poll(0)
            if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                self._cause = (
                    f"there is no topic {self._name} at {self._connection.bootstrap}: is SAGER_PREFIX right? "
                    "`sager up` and `sager worker` create the topics"
                )
                return "", []
            self._cause = cause_of(error.args[0]) or self._cause
            return None
        except TimeoutError:
            return None
        return str(found.topic_id), sorted(partition.id for partition in found.partitions)


class Answers(Generic[AnswerT]):
    """The awaited records of one topic. It reads nothing before the first `follow`.

    Args:
        connection: the deployment.
        model: the class of the records.
        user_of: the user in a record's key; records of users without a caller are not decoded.
        request_of: the id of the request that a record answers.
    """

    def __init__(
        self,
        connection: Connection,
        model: type[AnswerT],
        user_of: Callable[[bytes], str],
        request_of: Callable[[AnswerT], str],
    ) -> None:
        self._connection, self._model, self._user_of, self._request_of = connection, model, user_of, request_of
        self._lock = threading.Lock()
        self._follower: Follower | None = None
        self._closed = False
        self._awaited: dict[tuple[str, str], Future[AnswerT]] = {}
        """By the user and the request."""

    @property
    def topic(self) -> str:
        """The topic's name in the registry."""
        return self._model.TOPIC

    def follow(self) -> Follower:
        """Return the reader of the topic, which starts with the first call; once it is ready no answer is missed.

        Raises:
            Closed: `close` was called.
        """
        with self._lock:
            if self._closed:
                raise Closed("this producer is closed: make a new one")
            if self._follower is None:
                self._follower = Follower(self._connection, self.topic, self._take, from_end=True)
                self._follower.start()
            return self._follower

    @contextmanager
    def to(self, user_id: str, request_id: str) -> Iterator[Future[AnswerT]]:
        """Yield the future record that answers this request."""
        answer = self._awaited[user_id, request_id] = Future[AnswerT]()
        try:
            yield answer
        finally:
            del self._awaited[user_id, request_id]

    def close(self) -> None:
        """End the reading thread."""
        with self._lock:
            self._closed = True
            follower = self._follower
        if follower is not None:
            follower.close()

    def _take(self, key: bytes, value: bytes | None) -> None:
        user_id = self._user_of(key) if self._awaited else ""
        if not any(user == user_id for user, _ in list(self._awaited)):
            return
        try:
            record = decode(self._model, value)
        except BadRecord:
            return
        answer = self._awaited.get((user_id, self._request_of(record)))
        if answer is not None and not answer.done():
            answer.set_result(record)
