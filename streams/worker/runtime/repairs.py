"""Our repairs of Faust 0.15.3; tests: unit/worker/test_worker_repairs.py and integration/test_repairs.py.

1. faust-streaming #596: when table recovery ends, source partitions are resumed and fetched before the queues
   are cleared, and records fetched in between are lost. Flow is stopped before recovery completes
   (`recovery.QuietRecovery`).
2. The embedded broker's ListOffsets reports the base offset of the last batch plus one, so that recovery stops
   short of the last records. The high watermark of a fetch response is right, and is used instead.
3. When the flow stops during a fetch (at every rebalance, and by repair 1), Faust drops the fetched records and relies
   on a seek to the committed offsets to get them again. aiokafka does nothing for a partition that has none, or 0: a
   fresh group could skip all records from before the worker joined. Such partitions are read from their beginning.
4. Faust changes a table first and sends to its changelog later. A worker that dies in between leaves a RocksDB that is
   ahead of the changelog: events count as applied there that a worker with an empty disk has never seen. We write the
   changelog first (`StateTable.write`), and the table once the broker has it.
5. Faust's producer costs more than a choice's operators, and is idempotent only together with its exactly-once mode,
   which is not fit for use (faust-streaming #136, #177, #323). It never starts: a worker sends through its outlet.
6. Faust's livelock detector only logs, and wrongly: it reports every idle partition every few seconds, a thousand lines
   a minute. During a seek it dies of an assertion in aiokafka and takes the worker with it. It is off: our own watchdog
   acts on lag without progress.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import aiokafka
import faust
from faust.transport.drivers import aiokafka as driver
from faust.types import TP
from yarl import URL

from schemas import key_start
from streams.worker.runtime.membership import Membership, watch
from streams.worker.runtime.outlet import Delivered
from streams.worker.runtime.reader import Reader, ReadingConsumer
from streams.worker.runtime.recovery import AbsorbingConsumer
from streams.worker.runtime.stores import STORES, Writes

HIGH_WATERMARK_SECONDS = 10.0
SHORTEST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS, PAUSE_GROWTH = 0.01, 0.1, 1.3
SHORTEST_WAIT_MS, LONGEST_WAIT_MS = 1, 512
SCANNED_AT_ONCE = 20_000
"""Keys that are scanned before other tasks run."""


class SeekingConsumerThread(driver.AIOKafkaConsumerThread):
    """Repairs 3 and 6: a partition without a committed offset is read again from its beginning."""

    async def on_start(self) -> None:
        """Start the consumer and watch its group membership."""
        await super().on_start()
        watch(self._consumer, self.app.membership)

    async def seek_to_committed(self) -> Mapping[Any, int]:
        """Seek every partition to its committed offset, or to its beginning if there is none."""
        consumer = self._ensure_consumer()
        committed: Mapping[Any, int] = await self.call_thread(consumer.seek_to_committed)
        fresh = [tp for tp, offset in committed.items() if not offset and not self.consumer._is_changelog_tp(tp)]
        if fresh:
            await self.call_thread(consumer.seek_to_beginning, *fresh)
        return committed

    def verify_event_path(self, now: float, tp: Any) -> None:
        """Repair 6: Faust's livelock detector is off."""

    def verify_recovery_event_path(self, now: float, tp: Any) -> None:
        """Repair 6: off during recovery too."""


class SeekingConsumer(ReadingConsumer, AbsorbingConsumer):
    """The consumer of Apache Kafka."""

    thread = SeekingConsumerThread

    def _new_consumer_thread(self) -> SeekingConsumerThread:
        return self.thread(self, loop=self.loop, beacon=self.beacon)


class IdleProducer(driver.Producer):
    """Repair 5: stands where Faust wants a producer, and connects to nothing."""

    async def on_start(self) -> None:
        """Start nothing."""


class SeekingTransport(driver.Transport):
    """The transport to Apache Kafka."""

    Consumer = SeekingConsumer
    Producer = IdleProducer


class PacedFetches:
    """Fetches of the embedded broker, with a pause after each that finds no record; replaces `_proc_fetch_request`.

    The broker looks at all partitions again and again until a fetch's wait is over, which takes a fifth of a core at
    50 ms. So a fetch waits 1 ms, and the pause is ours. On a busy machine the broker does not reach a partition with
    records within 1 ms and answers with none: the next fetch then waits twice as long, or the worker would stand still.
    """

    def __init__(self, fetcher: Any) -> None:
        self._fetcher, self._fetch = fetcher, fetcher._proc_fetch_request
        self._pause = SHORTEST_PAUSE_SECONDS
        fetcher._fetch_max_wait_ms = SHORTEST_WAIT_MS

    async def __call__(self, assignment: Any, node_id: int, request: Any) -> bool:
        """Fetch, and pause where there is no record; true where records came."""
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
            return False  # as aiokafka's own fetch answers: whoever closes the fetcher awaits it
        self._pause = min(LONGEST_PAUSE_SECONDS, self._pause * PAUSE_GROWTH)
        return False


def _are_records_left(assignment: Any, request: Any) -> bool:
    """Return true if a partition ends behind the offset that was fetched, as the answer reports its end."""
    return any(
        (assignment.state_value(aiokafka.TopicPartition(topic, partition)).highwater or 0) > offset
        for topic, partitions in request.topics
        for partition, offset, _ in partitions
    )


class TrueEndConsumerThread(SeekingConsumerThread):
    """Repair 2: the end of a partition, by a fetch."""

    async def on_start(self) -> None:
        """Start the consumer, and pace its fetches."""
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


class TrueEndConsumer(SeekingConsumer):
    """The consumer of the embedded broker."""

    thread = TrueEndConsumerThread


class TrueEndTransport(SeekingTransport):
    """The transport to the embedded broker."""

    Consumer = TrueEndConsumer


class RepairedApp(faust.App):
    """A Faust app that reads everything from Apache Kafka."""

    membership: Membership
    reader: Reader
    transport_class: type[driver.Transport] = SeekingTransport

    def _new_transport(self) -> driver.Transport:
        return self.transport_class(self.conf.broker_consumer, self)


class EmbeddedApp(RepairedApp):
    """A Faust app that reads everything, and to the true end, from the embedded broker."""

    transport_class = TrueEndTransport


class DeliveredTable(faust.Table):
    """Repair 4: a table that never holds a value that its changelog does not; its store is one of ours."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._writes: defaultdict[int, Writes] = defaultdict(Writes)
        self._lost: set[int] = set()
        self._standby: set[int] = set()

    def _new_store_by_url(self, url: Any) -> Any:
        return STORES[URL(url).scheme](
            url,
            self.app,
            self,
            table_name=self.name,
            key_type=self.key_type,
            key_serializer=self.key_serializer,
            value_type=self.value_type,
            value_serializer=self.value_serializer,
            options=self.options,
        )

    async def on_rebalance(self, assigned: Any, revoked: Any, newly_assigned: Any, generation_id: int = 0) -> None:
        """Keep the values of this worker's partitions; writes that were being sent are read again, if they arrived."""
        active, standby = (
            {tp.partition for tp in tps if tp.topic == self.changelog_topic_name}
            for tps in (self.app.assignor.assigned_actives(), self.app.assignor.assigned_standbys())
        )
        self._writes.clear()
        self._lost = set(range(self.partitions)) - active - standby
        self._standby = standby
        self.data.assign(active, standby)
        await super().on_rebalance(assigned, revoked, newly_assigned, generation_id)

    def absorb(self, tp: TP, records: Sequence[Any]) -> bool:
        """Apply records of the changelog; return false if the partition is another worker's now."""
        if tp.partition in self._lost:
            return False
        self.data.absorb(tp, records)
        return True

    def at_rest(self, key: bytes) -> bytes | None:
        """Return a value as its store has it: enough to see whether it has changed."""
        found: bytes | None = self.data.at_rest(key)
        return found

    def sends(self, partition: int, key: bytes) -> None:
        """Note that a value or a tombstone is about to be sent to the changelog."""
        self._writes[partition].begins(key)

    def is_refused(self, partition: int, key: bytes) -> None:
        """Note that it will not be on the changelog."""
        self._writes[partition].ends(key)

    def hold(self, key: bytes, value: bytes | None, sent: Delivered) -> None:
        """Set or drop a value that is in the changelog, unless its partition is another worker's, or a standby here."""
        tp, offset = sent
        if tp.partition not in self._lost and tp.partition not in self._standby:
            self.data.hold(tp, key, value, self._writes[tp.partition].complete_to(key, offset))

    async def keys_of(self, owner: str) -> list[bytes]:
        """Return the keys `[owner, ...]`, by a scan: tables have neither order nor index."""
        start, found = key_start(owner), []
        for number, key in enumerate(tuple(self.data), 1):
            if key.startswith(start):
                found.append(key)
            if number % SCANNED_AT_ONCE == 0:
                await asyncio.sleep(0)
        return found

    async def scrub(self) -> None:
        """Compact RocksDB, so that deleted values leave the disk: until then they are only marked."""
        for database in list(getattr(self.data, "_dbs", {}).values()):
            await asyncio.to_thread(_compact, database)


def _compact(database: Any) -> None:
    from rocksdict import BottommostLevelCompaction, CompactOptions  # noqa: PLC0415 - an optional extra

    options = CompactOptions()
    # By default files of the last level are moved, and deleted values stay in them.
    options.set_bottommost_level_compaction(BottommostLevelCompaction.force())
    database.flush()
    database.compact_range(None, None, options)
