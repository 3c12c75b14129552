"""Against the silent zombie: a worker with work before it that finishes nothing ends itself.

Faust can stop fetching without a word (aiokafka #625, #720, #1187; faust-streaming #175, #594). Lag is asked of
the broker by a client of our own, so that the watchdog does not depend on what it watches.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from streams import group, metrics
from streams.kafka import client_config
from streams.settings import Settings
from streams.shutdown import EXIT_CODE

logger = logging.getLogger("sager.watchdog")

SOURCES = (
    "interactions",
    "rank-requests",
    "rankings",
    "selections",
    "contrasts",
    "skill-commands",
    "item-touches",
    "item-signals",
)
REQUEST_SECONDS = 10.0


def lag(settings: Settings, client: AdminClient, sources: Sequence[str] = SOURCES) -> dict[TopicPartition, int]:
    """How many records of each source partition the workers have not committed yet.

    Raises:
        KafkaException, TimeoutError: the broker does not answer.
    """
    partitions = [
        TopicPartition(settings.topic(base), partition) for base in sources for partition in range(settings.partitions)
    ]
    ends = client.list_offsets({tp: OffsetSpec.latest() for tp in partitions}, request_timeout=REQUEST_SECONDS)
    done = group.committed(settings, partitions)
    return {
        tp: max(0, future.result(REQUEST_SECONDS).offset - done.get((tp.topic, tp.partition), 0))
        for tp, future in ends.items()
    }


class Watchdog(threading.Thread):
    """Ends the process when there has been lag and no progress for `settings.watchdog_seconds`.

    Args:
        settings: the effective configuration.
        progressed: when the worker last finished anything, by the monotonic clock.
        assigned: which (topic, partition) pairs are this worker's.
        end: what to do; by default the process exits at once with code 70, for its supervisor to start it again.
    """

    def __init__(
        self,
        settings: Settings,
        progressed: Callable[[], float],
        assigned: Callable[[], set[tuple[str, int]]],
        end: Callable[[int], None] = os._exit,
    ) -> None:
        super().__init__(name="watchdog", daemon=True)
        self._settings = settings
        self._progressed = progressed
        self._assigned = assigned
        self._end = end
        self._client = AdminClient(client_config(settings))
        self._waiting_since: float | None = None

    def run(self) -> None:
        """Look every few seconds, until the process ends."""
        while not self.is_stuck():
            time.sleep(min(10.0, self._settings.watchdog_seconds / 4))
        logger.critical(
            "nothing finished for %.0f s although records wait: giving up, so that a new process takes over",
            self._settings.watchdog_seconds,
        )
        self._end(EXIT_CODE)

    def is_stuck(self) -> bool:
        """Whether records have waited on our partitions for too long without anything being finished.

        Not the time since the last progress alone: an idle worker whose first record in hours arrives is not stuck.
        """
        try:
            waiting = lag(self._settings, self._client)
        except (KafkaException, TimeoutError) as error:
            # No broker, no verdict: a worker that waits for Kafka to come back is not stuck.
            logger.warning("cannot ask for lag: %s", str(error) or "no answer in time")
            self._waiting_since = None
            # librdkafka's admin client asks a partition's former leader again and again: FENCED_LEADER_EPOCH, for ever.
            self._client = AdminClient(client_config(self._settings))
            return False
        ours, now = self._assigned(), time.monotonic()
        of_topic = dict.fromkeys(SOURCES, 0)
        for tp, count in waiting.items():
            if (tp.topic, tp.partition) in ours:
                of_topic[tp.topic.removeprefix(self._settings.prefix)] += count
        for base, count in of_topic.items():
            metrics.LAG.labels(base).set(count)
        if not any(of_topic.values()):
            self._waiting_since = None
        elif self._waiting_since is None or self._progressed() > self._waiting_since:
            self._waiting_since = now
        return self._waiting_since is not None and now - self._waiting_since >= self._settings.watchdog_seconds
