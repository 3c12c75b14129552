"""The watchdog: a worker that has work and finishes nothing ends itself.

Faust can stop fetching without a word (aiokafka #625, #720, #1187; faust-streaming #175, #594). Lag is asked of
the broker by a client of our own, so that the watchdog does not depend on what it watches.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from itertools import count

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from schemas.topics import WORKED_OFF
from streams.kafka import consumer_group as group
from streams.kafka.clients import client_config
from streams.settings import Settings
from streams.shutdown import EXIT_CODE
from streams.worker import metrics
from streams.worker.runtime.oldest import Oldest
from streams.worker.runtime.patience import Patience

logger = logging.getLogger("sager.watchdog")

REQUEST_SECONDS = 10.0


def lag(settings: Settings, client: AdminClient, sources: Sequence[str] = WORKED_OFF) -> dict[TopicPartition, int]:
    """Consumer lag: the uncommitted records of each source partition.

    Returns:
        Records by partition; the keys' offset is the committed one.

    Raises:
        KafkaException, TimeoutError: the broker does not answer.
    """
    partitions = [
        TopicPartition(settings.topic(base), partition) for base in sources for partition in range(settings.partitions)
    ]
    # The ends last: what a record led to is on the broker before it is committed, and is not missed in between.
    done = group.committed(settings, partitions)
    ends = client.list_offsets({tp: OffsetSpec.latest() for tp in partitions}, request_timeout=REQUEST_SECONDS)
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
        standing: where the worker stands in its group and its recovery; whenever that changes, the time starts anew.
        beats: how often the event loop has beaten so far, once a second where the machine is not busy.
    """

    def __init__(
        self,
        settings: Settings,
        progressed: Callable[[], float],
        assigned: Callable[[], set[tuple[str, int]]],
        end: Callable[[int], None] = os._exit,
        standing: Callable[[], Hashable] = lambda: None,
        beats: Callable[[], int] | None = None,
    ) -> None:
        super().__init__(name="watchdog", daemon=True)
        self._settings = settings
        self._progressed = progressed
        self._assigned = assigned
        self._end = end
        self._standing = standing
        self._beats = beats or count().__next__
        self._client = AdminClient(client_config(settings))
        self._pause = min(10.0, settings.watchdog_seconds / 4)
        self._patience = Patience(settings.watchdog_seconds, self._pause)
        self._oldest = Oldest(settings)
        self._oldest_by_topic: dict[str, float] = {}
        for base in WORKED_OFF:
            metrics.LAG.labels(base)
            metrics.OLDEST.labels(base).set_function(partial(self._oldest_of, base))

    def run(self) -> None:
        """Check every few seconds until the process ends."""
        while not self.is_stuck():
            time.sleep(self._pause)
        logger.critical(
            "nothing finished for %.0f s although records wait: giving up, so that a new process takes over",
            self._settings.watchdog_seconds,
        )
        self._end(EXIT_CODE)

    def is_stuck(self) -> bool:
        """Whether records have waited on our partitions for too long without anything being finished.

        Not the time since the last progress alone: an idle worker whose first record in hours arrives is not stuck.
        """
        before = self._standing(), self._progressed()
        try:
            waiting = lag(self._settings, self._client)
        except (KafkaException, TimeoutError) as error:
            # No broker, no verdict: a worker that waits for Kafka to come back is not stuck.
            logger.warning("cannot ask for lag: %s", str(error) or "no answer in time")
            self._patience.renew()
            # librdkafka's admin client asks a partition's former leader again and again: FENCED_LEADER_EPOCH, for ever.
            self._client = AdminClient(client_config(self._settings))
            return False
        assigned = self._assigned()
        ours = {tp: records for tp, records in waiting.items() if (tp.topic, tp.partition) in assigned}
        self._tell(ours)
        if not any(ours.values()):
            self._patience.renew()
            return False
        committed = frozenset((tp.topic, tp.partition, tp.offset) for tp in ours)
        now = self._standing(), self._progressed()
        if now != before:  # while the broker was being asked
            self._patience.renew()
        return self._patience.is_over((now, committed), time.monotonic(), self._beats())

    def _tell(self, ours: dict[TopicPartition, int]) -> None:
        """Set the metrics: lag of our partitions, and the age of the oldest record."""
        for base in WORKED_OFF:
            metrics.LAG.labels(base).set(sum(n for tp, n in ours.items() if tp.topic == self._settings.topic(base)))
        stamps = self._oldest.timestamps([tp for tp, records in ours.items() if records])
        by_topic: dict[str, float] = {}
        for (topic, _), stamp in stamps.items():
            base = topic.removeprefix(self._settings.prefix)
            by_topic[base] = min(stamp, by_topic.get(base, stamp))
        self._oldest_by_topic = by_topic

    def _oldest_of(self, base: str) -> float:
        now = time.time()
        return min(now, self._oldest_by_topic.get(base, now))
