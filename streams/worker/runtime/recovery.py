"""Our repairs of Faust 0.15.3; tests: unit/worker/test_worker_recovery.py and integration/test_repairs.py.

1. faust-streaming #596: when table recovery ends, source partitions are resumed and fetched before the queues
   are cleared, and records fetched in between are lost. Flow is stopped before recovery completes
   (`BatchRecovery`).
2. The embedded broker's ListOffsets reports the base offset of the last batch plus one, so that recovery stops
   short of the last records. The high watermark of a fetch response is right, so `EmbeddedConsumerThread` uses that.
3. When the flow stops during a fetch (at every rebalance, and by repair 1), Faust drops the fetched records and relies
   on a seek to the committed offsets to get them again. aiokafka does nothing for a partition that has none, or 0: a
   fresh group could skip all records from before the worker joined. Such partitions are read from their beginning.
4. Faust changes a table first and sends to its changelog later. A worker that dies in between leaves a RocksDB that is
   ahead of the changelog: events count as applied there that a worker with an empty disk has never seen. We write the
   changelog first (`StateTable.write`), and the table once the broker has it.
5. Faust's producer costs more than a choice's operators, and is idempotent only together with its exactly-once mode,
   which is not fit for use (faust-streaming #136, #177, #323). Our agents send by `producer.Producer` instead.
6. Faust's livelock detector only logs, and wrongly: it reports every idle partition every few seconds, a thousand lines
   a minute. During a seek it dies of an assertion in aiokafka and takes the worker with it. It is off: our own watchdog
   acts on lag without progress.

Changelog records of our tables go from a fetch straight into the stores, in batches: 4 us per record instead of 180 in
Faust, which passes each through two queues. Faust still decides on assignment, start offsets and the end of recovery.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import aiokafka
import faust
from faust.tables.manager import TableManager
from faust.tables.recovery import Recovery
from faust.transport.drivers import aiokafka as driver
from faust.types import TP

from streams.settings import Settings
from streams.worker import metrics
from streams.worker.runtime.batches import BatchConsumer, BatchReader
from streams.worker.runtime.membership import Membership, watch
from streams.worker.runtime.state import LogFirstTable
from streams.worker.runtime.watchdog import WorkerHealth

logger = logging.getLogger("sager.worker")

LOG_EVERY_SECONDS = 2.0

Records = Mapping[TP, Sequence[Any]]
HIGH_WATERMARK_SECONDS = 10.0
SHORTEST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS, PAUSE_GROWTH = 0.004, 0.1, 1.3
SHORTEST_WAIT_MS, LONGEST_WAIT_MS = 1, 512


class BatchRecovery(Recovery):
    """Recovery in batches, with repair 1."""

    _assigned_at = 0.0
    _first_at = 0.0
    _logged_at = 0.0
    _applied = 0

    async def on_rebalance(self, *args: Any, **kwargs: Any) -> None:
        """Record the time of the assignment, then let Faust recover the tables."""
        self._assigned_at = time.monotonic()
        self._applied = 0
        metrics.REBALANCES.inc()
        await super().on_rebalance(*args, **kwargs)

    def _set_recovery_started(self) -> None:
        # Faust resets this signal only with a record that it reads itself.
        self.signal_recovery_end.clear()
        super()._set_recovery_started()

    async def apply_changelog(self, changes: Records) -> None:
        """Apply changelog records of our partitions, each offset once."""
        if not self._applied:
            self._first_at = time.monotonic()
        for tp, records in changes.items():
            if tp in self.active_tps:
                offsets, received_at = self.active_offsets, self._active_events_received_at
            elif tp in self.standby_tps:
                offsets, received_at = self.standby_offsets, self._standby_events_received_at
            else:
                continue
            received_at[tp] = time.monotonic()
            seen = offsets.get(tp)
            new = records if seen is None or records[0].offset > seen else [r for r in records if r.offset > seen]
            if new and self.tp_to_table[tp].apply_changelog(tp, new):
                offsets[tp] = new[-1].offset
                self._applied += len(new)
            await asyncio.sleep(0)
        self._last_flush_at = time.monotonic()
        if self.in_recovery:
            if self.need_recovery():
                self._log_progress()
            else:
                self.flush_buffers()  # of a user's own tables
                self._set_recovery_ended()
                self.signal_recovery_end.set()
        if not self.tables.standbys_ready and not self.standby_remaining_total():
            self.tables.on_standbys_ready()

    async def on_recovery_completed(self, generation_id: int = 0) -> None:
        """Stop the flow (repair 1), then let Faust resume it."""
        if self._applied:
            seconds = time.monotonic() - self._first_at
            logger.info("tables recovered: %s records in %.1f s", f"{self._applied:,}", seconds)
        self.app.consumer.stop_flow()
        self.app.flow_control.suspend()
        await super().on_recovery_completed(generation_id)
        metrics.RECOVERY_SECONDS.observe(time.monotonic() - self._assigned_at)

    def _log_progress(self) -> None:
        if time.monotonic() - self._logged_at >= LOG_EVERY_SECONDS:
            self._logged_at = time.monotonic()
            logger.info("recovering tables: %s records left", f"{self.active_remaining_total():,}")


class BatchTableManager(TableManager):
    """A table manager with `BatchRecovery`."""

    _recovery: Recovery | None

    @property
    def recovery(self) -> Recovery:
        """The recovery service, created on first use."""
        if self._recovery is None:
            self._recovery = BatchRecovery(self.app, self, beacon=self.beacon, loop=self.loop)
        return self._recovery


class ChangelogConsumer(driver.Consumer):
    """A consumer that passes changelog records to the recovery."""

    async def _getmany(self, active_partitions: set[TP] | None, timeout: float) -> Records:  # noqa: ASYNC109 - Faust's
        records: Records = await super()._getmany(active_partitions, timeout)
        # Tables that users add are recovered by Faust, which can decode their keys and values.
        tables = self.app.tables._changelogs
        changes = {
            tp: batch for tp, batch in records.items() if batch and isinstance(tables.get(tp.topic), LogFirstTable)
        }
        if changes:
            await self.app.tables.recovery.apply_changelog(changes)
        return {tp: batch for tp, batch in records.items() if tp not in changes}


class SeekingConsumerThread(driver.AIOKafkaConsumerThread):
    """Repairs 3 and 6: reads partitions without a commit from their beginning."""

    async def on_start(self) -> None:
        """Start the consumer and watch its group membership."""
        await super().on_start()
        watch(self._consumer, self.app.membership)

    async def seek_to_committed(self) -> Mapping[Any, int]:
        """Seek every partition to its committed offset or its beginning."""
        consumer = self._ensure_consumer()
        committed: Mapping[Any, int] = await self.call_thread(consumer.seek_to_committed)
        fresh = [tp for tp, offset in committed.items() if not offset and not self.consumer._is_changelog_tp(tp)]
        if fresh:
            await self.call_thread(consumer.seek_to_beginning, *fresh)
        return committed

    def verify_event_path(self, now: float, tp: Any) -> None:
        """Do nothing (repair 6)."""

    def verify_recovery_event_path(self, now: float, tp: Any) -> None:
        """Do nothing (repair 6)."""


class PacedFetches:
    """Replaces aiokafka's `_proc_fetch_request`, and pauses after empty fetches.

    The broker polls its partitions until a fetch's wait is over, which takes a fifth of a core. So a fetch waits only
    1 ms. A busy broker may not reach a partition with records within 1 ms: then the next fetch waits twice as long.
    """

    def __init__(self, fetcher: Any) -> None:
        self._fetcher, self._fetch = fetcher, fetcher._proc_fetch_request
        self._pause = SHORTEST_PAUSE_SECONDS
        fetcher._fetch_max_wait_ms = SHORTEST_WAIT_MS

    async def __call__(self, assignment: Any, node_id: int, request: Any) -> bool:
        """Return true if a fetch had a record; otherwise pause first."""
        if await self._fetch(assignment, node_id, request):
            self._pause = SHORTEST_PAUSE_SECONDS
            return True
        wait_ms = self._fetcher._fetch_max_wait_ms
        if wait_ms < LONGEST_WAIT_MS and _are_records_left(assignment, request):
            self._fetcher._fetch_max_wait_ms = 2 * wait_ms
            return False
        self._fetcher._fetch_max_wait_ms = SHORTEST_WAIT_MS
        try:
            await asyncio.sleep(self._pause)
        except asyncio.CancelledError:
            return False  # as aiokafka's own fetch: closing the fetcher awaits it
        self._pause = min(LONGEST_PAUSE_SECONDS, self._pause * PAUSE_GROWTH)
        return False


def _are_records_left(assignment: Any, request: Any) -> bool:
    return any(
        (assignment.state_value(aiokafka.TopicPartition(topic, partition)).highwater or 0) > offset
        for topic, partitions in request.topics
        for partition, offset, _ in partitions
    )


class EmbeddedConsumerThread(SeekingConsumerThread):
    """Repair 2: reads the end of a partition from a fetch."""

    async def on_start(self) -> None:
        """Start the consumer with paced fetches."""
        await super().on_start()
        fetcher = self._ensure_consumer()._fetcher
        fetcher._proc_fetch_request = PacedFetches(fetcher)

    async def _highwaters(self, partitions: list[Any]) -> Mapping[Any, int]:
        claimed: Mapping[Any, int] = await super()._highwaters(partitions)
        live = {aiokafka.TopicPartition(tp.topic, tp.partition): end for tp, end in claimed.items() if end}
        if not live:
            return claimed
        transport = self.consumer.transport
        reader = self._create_client_consumer(transport)  # without a group, and with the worker's credentials
        await reader.start()
        try:
            reader.assign(list(live))
            for tp, end in live.items():
                reader.seek(tp, end - 1)
            give_up = time.monotonic() + HIGH_WATERMARK_SECONDS
            while any(reader.highwater(tp) is None for tp in live) and time.monotonic() < give_up:
                await reader.getmany(timeout_ms=200)
            seen = {(tp.topic, tp.partition): reader.highwater(tp) or 0 for tp in live}
        finally:
            await reader.stop()
        return {tp: max(end, seen.get((tp.topic, tp.partition), 0)) for tp, end in claimed.items()}


class WorkerConsumer(BatchConsumer, ChangelogConsumer):
    """The consumer of Apache Kafka or of the embedded broker."""

    def _new_consumer_thread(self) -> SeekingConsumerThread:
        thread = EmbeddedConsumerThread if self.app.settings.embedded else SeekingConsumerThread
        return thread(self, loop=self.loop, beacon=self.beacon)


class WorkerTransport(driver.Transport):
    """The transport of this app's consumer."""

    Consumer = WorkerConsumer


class WorkerApp(faust.App):
    """The Faust app; `prepare` runs before it joins its group."""

    prepare: Callable[[], None]

    def __init__(self, settings: Settings, membership: Membership, **options: Any) -> None:
        super().__init__(settings.app_id, **options)
        # `faust worker` would start it: it shows tables with user data, without a token.
        self.boot_strategy.enable_web = False
        self.settings, self.membership = settings, membership
        self.health = WorkerHealth()
        self.reader = BatchReader(self)

    async def on_first_start(self) -> None:
        """Prepare, unless a command only describes the app or sends."""
        await super().on_first_start()
        if not (self.client_only or self.producer_only):
            await asyncio.to_thread(self.prepare)

    def _new_transport(self) -> driver.Transport:
        return WorkerTransport(self.conf.broker_consumer, self)
