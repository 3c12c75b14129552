"""Against the silent zombie: a worker with work before it that finishes nothing ends itself.

Faust can stop fetching without a word (aiokafka #625, #720, #1187; faust-streaming #175, #594). Lag is asked of
the broker by a client of our own, so that the watchdog does not depend on what it watches.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from streams.kafka import consumer_group as group
from streams.kafka.clients import client_config
from streams.settings import Settings
from streams.shutdown import EXIT_CODE
from streams.worker import metrics
from streams.worker.runtime.oldest import Oldest

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

    Returns:
        Records by partition; the keys' offset is the committed one.

    Raises:
        KafkaException, TimeoutError: the broker does not answer.
    """
    partitions = [
        TopicPartition(settings.topic(base), partition) for base in sources for partition in range(settings.partitions)
    ]
    ends = client.list_offsets({tp: OffsetSpec.latest() for tp in partitions}, request_timeout=REQUEST_SECONDS)
    done = group.committed(settings, partitions)
    waiting = {}
    for tp, future in ends.items():
        committed = done.get((tp.topic, tp.partition), 0)
        here = TopicPartition(tp.topic, tp.partition, committed)
        waiting[here] = max(0, future.result(REQUEST_SECONDS).offset - committed)
    return waiting


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
        self._oldest = Oldest(settings)
        self._oldest_by_topic: dict[str, float] = {}
        for base in SOURCES:
            metrics.LAG.labels(base)
            metrics.OLDEST.labels(base).set_function(partial(self._oldest_of, base))

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
        assigned, now = self._assigned(), time.monotonic()
        ours = {tp: count for tp, count in waiting.items() if (tp.topic, tp.partition) in assigned}
        self._tell(ours)
        if not any(ours.values()):
            self._waiting_since = None
        elif self._waiting_since is None or self._progressed() > self._waiting_since:
            self._waiting_since = now
        return self._waiting_since is not None and now - self._waiting_since >= self._settings.watchdog_seconds

    def _tell(self, ours: dict[TopicPartition, int]) -> None:
        """How many records wait on our partitions, and since when."""
        for base in SOURCES:
            metrics.LAG.labels(base).set(sum(n for tp, n in ours.items() if tp.topic == self._settings.topic(base)))
        stamps = self._oldest.timestamps([tp for tp, count in ours.items() if count])
        by_topic: dict[str, float] = {}
        for (topic, _), stamp in stamps.items():
            base = topic.removeprefix(self._settings.prefix)
            by_topic[base] = min(stamp, by_topic.get(base, stamp))
        self._oldest_by_topic = by_topic

    def _oldest_of(self, base: str) -> float:
        now = time.time()
        return min(now, self._oldest_by_topic.get(base, now))
