"""Following a compacted topic from its beginning, in a thread: a local copy of the newest value per key."""

import threading
import time
from collections.abc import Callable
from typing import Self

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, TopicPartition

from streams.exceptions import BrokerUnreachable
from streams.kafka.clients import client_config, no_group
from streams.kafka.scanner import int_of
from streams.settings import Settings

READY_SECONDS = 30.0


class Follower:
    """Reads a topic and then follows it, without a consumer group, so that any number of processes can.

    Args:
        settings: the deployment.
        base: the registry's name of the topic.
        take: called in the reading thread with every record's key and value; None is a tombstone.
    """

    def __init__(self, settings: Settings, base: str, take: Callable[[bytes, bytes | None], None]) -> None:
        self._settings = settings
        self._base = base
        self._take = take
        self._stop = threading.Event()
        self._ready = threading.Event()
        self._unread: set[int] = set()
        self._thread = threading.Thread(target=self._follow, name=f"follow-{base}", daemon=True)

    def start(self, seconds: float = READY_SECONDS) -> Self:
        """Begin to follow, and wait until the topic has been read to its end.

        Raises:
            BrokerUnreachable: that took longer than `seconds`.
        """
        self._thread.start()
        if not self._ready.wait(seconds):
            self.stop()
            raise BrokerUnreachable(
                f"the topic {self._settings.topic(self._base)} could not be read within {seconds:.0f} s from "
                f"{self._settings.bootstrap}: is Kafka up, and do the topics exist? See `sager topics`"
            )
        return self

    def stop(self) -> None:
        """End the reading thread."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(10)

    def _follow(self) -> None:
        name = self._settings.topic(self._base)
        consumer = Consumer(
            client_config(
                self._settings,
                **no_group(self._base),
                **{"enable.partition.eof": True, "auto.offset.reset": "earliest"},
            )
        )
        try:
            partitions = partitions_of(consumer, name, self._stop)
            self._unread = set(partitions)
            consumer.assign([TopicPartition(name, partition, OFFSET_BEGINNING) for partition in partitions])
            while not self._stop.is_set():
                for message in consumer.consume(500, 0.2):
                    self._on_message(message)
                if not self._unread:
                    self._ready.set()
        finally:
            consumer.close()

    def _on_message(self, message: Message) -> None:
        error = message.error()
        if error is None:
            self._take(message.key() or b"", message.value())
        elif error.code() == KafkaError._PARTITION_EOF:
            self._unread.discard(int_of(message.partition()))


def partitions_of(consumer: Consumer, topic: str, is_over: threading.Event) -> list[int]:
    """Return the partitions of a topic, once the broker knows it; none once it is over."""
    while not is_over.is_set():
        try:
            found = consumer.list_topics(topic, timeout=5).topics[topic]
        except Exception:  # the broker may still be starting, and the caller has a deadline
            time.sleep(0.2)
            continue
        if found.error is None and found.partitions:
            return sorted(found.partitions)
        time.sleep(0.2)
    return []
