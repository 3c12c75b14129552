"""Follows a topic in a thread, from its beginning or its end, and notices when the broker has made it anew."""

import logging
import threading
from collections.abc import Callable

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

from .causes import cause_of, unreachable
from .connection import Connection
from .exceptions import BrokerUnreachable, Closed

PAUSE_SECONDS = 0.25
LOOK_UP_SECONDS = 2.0
READ_SECONDS = 0.1
BATCH = 500

logger = logging.getLogger("sager_client")


class Follower:
    """Reads a topic without a consumer group, so that any number of processes can, and then follows it.

    Args:
        connection: the deployment.
        base: the registry's name of the topic.
        take: called in the reading thread with every record's key and value; None is a tombstone.
        anew: called when the topic is another one than before and will be read from its beginning.
        caught_up: called when all that was there has been read, at first and after each `anew`.
        from_end: read only what comes from now on.
    """

    def __init__(
        self,
        connection: Connection,
        base: str,
        take: Callable[[bytes, bytes | None], None],
        *,
        anew: Callable[[], None] = lambda: None,
        caught_up: Callable[[], None] = lambda: None,
        from_end: bool = False,
    ) -> None:
        self._connection = connection
        self._name = connection.topic(base)
        self._take, self._anew, self._caught_up = take, anew, caught_up
        self._from_end = from_end
        self._stop = threading.Event()
        self._ready = threading.Event()
        self._topic_id = ""
        self._cause = ""
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
        """Whether all that was there has been read."""
        return self._ready.is_set()

    def wait(self, seconds: float) -> None:
        """Wait until it is ready.

        Raises:
            BrokerUnreachable: that took longer than `seconds`, or it was closed.
        """
        if not self._ready.wait(seconds):
            raise self.too_late(seconds)

    def too_late(self, seconds: float) -> BrokerUnreachable:
        """The error of who has waited too long."""
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
        """Read one topic until it is another one, or until the end."""
        consumer = Consumer(
            self._connection.librdkafka(
                **{
                    # librdkafka insists on a group's name; nobody ever joins it, and nothing is committed.
                    "group.id": "sager-client-unused",
                    "enable.auto.commit": False,
                    "enable.partition.eof": True,
                    "auto.offset.reset": "earliest",
                    "error_cb": self._on_broker_error,
                }
            )
        )
        admin = AdminClient(self._connection.librdkafka(error_cb=self._on_broker_error))
        try:
            topic_id, partitions = self._wait_for_topic(admin)
            if self._stop.is_set():
                return
            known, self._topic_id = self._topic_id, topic_id
            if known:
                self._anew()
            unread = set(partitions)
            consumer.assign([self._start_of(consumer, partition, known) for partition in partitions])
            while not self._stop.is_set():
                if self._doubtful and not self._is_still_there(admin):
                    return
                for message in consumer.consume(BATCH, READ_SECONDS):
                    self._on_message(message, unread)
                if not unread:
                    unread = {-1}  # not a partition: told once
                    self._caught_up()
                    self._ready.set()
        finally:
            consumer.close()

    def _start_of(self, consumer: Consumer, partition: int, known: str) -> TopicPartition:
        """Where to begin. A topic that is another one than before may hold already what is waited for."""
        start = TopicPartition(self._name, partition, OFFSET_BEGINNING)
        if self._from_end and not known:
            start.offset = consumer.get_watermark_offsets(start, timeout=LOOK_UP_SECONDS)[1]
        return start

    def _on_message(self, message: Message, unread: set[int]) -> None:
        error = message.error()
        if error is None:
            try:
                self._take(message.key() or b"", message.value())
            except Exception:
                logger.exception("a record of %s could not be taken", self._name)
        elif error.code() == KafkaError._PARTITION_EOF:
            unread.discard(message.partition() or 0)
        else:
            self._doubtful = True
            self._cause = cause_of(error) or self._cause

    def _on_broker_error(self, error: KafkaError) -> None:
        self._cause = cause_of(error) or self._cause
        # The last connection is lost: what comes back may be a broker without its memory.
        self._doubtful = True

    def _wait_for_topic(self, admin: AdminClient) -> tuple[str, list[int]]:
        """The topic's id and partitions, once it is there."""
        while not self._stop.is_set():
            found = self._look_up(admin)
            if found is not None and found[1]:
                self._doubtful, self._cause = False, ""
                return found
            self._stop.wait(PAUSE_SECONDS)
        return "", []

    def _is_still_there(self, admin: AdminClient) -> bool:
        """Whether the topic is the same as before; true also while nobody can tell."""
        found = self._look_up(admin)
        if found is None:
            self._stop.wait(PAUSE_SECONDS)
            return True
        self._doubtful, self._cause = False, ""
        return found[0] == self._topic_id

    def _look_up(self, admin: AdminClient) -> tuple[str, list[int]] | None:
        """The topic's id and partitions, without any if it is not there; None if nobody answers."""
        admin.poll(0)
        asked = admin.describe_topics(TopicCollection([self._name]), request_timeout=LOOK_UP_SECONDS)
        try:
            found = asked[self._name].result(LOOK_UP_SECONDS + 1)
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
