"""Follows a compacted topic from its beginning, in a thread: a local copy of what is newest per key."""

import threading
import time
from collections.abc import Callable
from typing import Any, Self

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, TopicPartition

from streams.exceptions import BrokerUnreachable
from streams.kafka.clients import client_config, no_group
from streams.settings import Settings

READY_SECONDS = 30.0


class Follower:
    """Reads a topic without a consumer group, so that any number of processes can, and then follows it.

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
        """Begin to follow, and wait until all that is on the topic has been read.

        Raises:
            BrokerUnreachable: that took longer than `seconds`.
        """
        self._thread.start()
        if not self._ready.wait(seconds):
            self.stop()
            raise BrokerUnreachable(
                f"the topic {self._settings.topic(self._base)} could not be read within {seconds:.0f} s from "
                f"{self._settings.bootstrap}: is Kafka up, and do the topics exist? `sager topics` tells"
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
            partitions = self._partitions(consumer, name)
            self._unread = set(partitions)
            consumer.assign([TopicPartition(name, partition, OFFSET_BEGINNING) for partition in partitions])
            while not self._stop.is_set():
                for message in consumer.consume(500, 0.2):
                    self._on_message(message)
                if not self._unread:
                    self._ready.set()
        finally:
            consumer.close()

    def _partitions(self, consumer: Consumer, name: str) -> list[int]:
        while not self._stop.is_set():
            try:
                found = consumer.list_topics(name, timeout=5).topics[name]
            except Exception:  # the broker may still be starting; start() has the deadline
                time.sleep(0.2)
                continue
            if found.error is None and found.partitions:
                return sorted(found.partitions)
            time.sleep(0.2)
        return []

    def _on_message(self, message: Message) -> None:
        error = message.error()
        if error is None:
            self._take(message.key() or b"", message.value())
        elif error.code() == KafkaError._PARTITION_EOF:
            self._unread.discard(_int(message.partition()))


def _int(value: Any) -> int:
    return int(value)
