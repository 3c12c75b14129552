"""Age of the oldest unprocessed record, read from the broker for the metrics."""

import time
from collections.abc import Sequence

from confluent_kafka import Consumer, TopicPartition

from streams.kafka.clients import client_config, no_group
from streams.kafka.scanner import int_of, sent_at_ms
from streams.settings import Settings

WAIT_SECONDS = 2.0


class Oldest:
    """Reads the first unprocessed record of each late partition, without joining the group.

    Args:
        settings: the deployment.
    """

    def __init__(self, settings: Settings) -> None:
        self._consumer = Consumer(
            client_config(
                settings,
                **no_group("oldest"),
                **{
                    "auto.offset.reset": "earliest",
                    "allow.auto.create.topics": False,
                    # One record of a partition is all that is looked at.
                    "queued.min.messages": 1,
                    "queued.max.messages.kbytes": 1_024,
                    "fetch.message.max.bytes": 16_384,
                    "fetch.wait.max.ms": 50,
                },
            )
        )

    def timestamps(self, late: Sequence[TopicPartition]) -> dict[tuple[str, int], float]:
        """Kafka timestamps of the records at these offsets, in seconds since 1970; of those read within the deadline.

        Args:
            late: topic, partition, and the offset that the workers have committed.
        """
        if not late:
            return {}
        found: dict[tuple[str, int], float] = {}
        give_up = time.monotonic() + WAIT_SECONDS
        self._consumer.assign(list(late))
        try:
            while len(found) < len(late) and time.monotonic() < give_up:
                message = self._consumer.poll(0.1)
                if message is not None and message.error() is None:
                    found.setdefault((str(message.topic()), int_of(message.partition())), sent_at_ms(message) / 1_000)
        finally:
            self._consumer.unassign()
        return found
