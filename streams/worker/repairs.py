"""Our repairs of Faust 0.15.3, all of them, each with its thread and its test (tests/integration/test_repairs.py).

1. faust-streaming #596: when table recovery ends, source partitions are resumed and fetched before the queues
   are cleared, and what was fetched in between is never seen. Flow is stopped before recovery completes.
2. The embedded broker's ListOffsets reports the base offset of the last batch plus one, so that recovery stops
   short of the last records. The high watermark of a fetch response is right, and is asked instead.
3. When the flow stops while a fetch is under way (at every rebalance, and by repair 1), Faust drops what the fetch
   brings and relies on a seek to the committed offsets to get it again. aiokafka does nothing for a partition
   that has none, or 0: on a fresh group everything produced before the worker joined could be passed over. Such
   partitions are read again from their beginning.
   Faust's livelock detector, which only logs, asks such a partition for its position; while the seek is under way
   there is none, aiokafka asserts that there is, and the worker dies of it. It asks once there is one.
4. A table write's delivery cannot be awaited (`ProducerBuffer.flush` gives up after 0.1 s, so that a commit can
   overtake it). The table keeps the future of its last write for whoever has to be sure.
5. Faust makes its producer idempotent only together with its exactly-once mode, which is not fit for use
   (faust-streaming #136, #177, #323). Without, a request whose answer was lost with its connection is sent again and
   is in the log twice. The producer is idempotent, and nothing else of that mode is on. Not towards the embedded
   broker, which gives aiokafka no producer id, and whose connections do not break.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any

import aiokafka
import faust
from faust.tables.manager import TableManager
from faust.tables.recovery import Recovery
from faust.transport.drivers import aiokafka as driver

from streams.worker.membership import Membership, fence, watch

HIGH_WATERMARK_SECONDS = 10.0
FETCH_WAIT_MS = 50


class QuietRecovery(Recovery):
    """Repair 1: nothing is fetched between the end of recovery and the clearing of the queues."""

    async def on_recovery_completed(self, generation_id: int = 0) -> None:
        """Stop the flow, then let Faust resume it at the committed offsets."""
        self.app.consumer.stop_flow()
        self.app.flow_control.suspend()
        await super().on_recovery_completed(generation_id)


class QuietTableManager(TableManager):
    """The table manager that recovers by `QuietRecovery`."""

    _recovery: Recovery | None

    @property
    def recovery(self) -> Recovery:
        """The recovery service, made on first use."""
        if self._recovery is None:
            self._recovery = QuietRecovery(self.app, self, beacon=self.beacon, loop=self.loop)
        return self._recovery


class SeekingConsumerThread(driver.AIOKafkaConsumerThread):
    """Repair 3: a partition without a committed offset is read again from its beginning."""

    async def on_start(self) -> None:
        """Start the consumer, and have it tell of its membership."""
        await super().on_start()
        watch(self._consumer, self.app.membership)

    async def seek_to_committed(self) -> Mapping[Any, int]:
        """Seek every partition to where its group stands, which for a fresh one is the beginning."""
        consumer = self._ensure_consumer()
        committed: Mapping[Any, int] = await self.call_thread(consumer.seek_to_committed)
        fresh = [tp for tp, offset in committed.items() if not offset and not self.consumer._is_changelog_tp(tp)]
        if fresh:
            await self.call_thread(consumer.seek_to_beginning, *fresh)
        return committed

    def verify_event_path(self, now: float, tp: Any) -> None:
        """Look for a stream that stands still, unless `tp` is between two positions."""
        assignment = self._ensure_consumer()._fetcher._subscriptions.subscription.assignment
        state = assignment and assignment.state_value(aiokafka.TopicPartition(tp.topic, tp.partition))
        if state and state.has_valid_position:
            super().verify_event_path(now, tp)


class SeekingConsumer(driver.Consumer):
    """The consumer that reads by `SeekingConsumerThread`."""

    def _new_consumer_thread(self) -> SeekingConsumerThread:
        return SeekingConsumerThread(self, loop=self.loop, beacon=self.beacon)


class FencedProducer(driver.Producer):
    """The producer that sends only while the worker is a member of its group."""

    def _new_producer(self, transactional_id: str | None = None) -> aiokafka.AIOKafkaProducer:
        producer = super()._new_producer(transactional_id)
        fence(producer, self.app.membership)
        return producer


class IdempotentProducer(FencedProducer):
    """Repair 5: the broker drops what the client sends a second time."""

    def _settings_extra(self) -> Mapping[str, Any]:
        return {**super()._settings_extra(), "acks": "all", "enable_idempotence": True}


class SeekingTransport(driver.Transport):
    """The transport to Apache Kafka."""

    Consumer = SeekingConsumer
    Producer = IdempotentProducer


class TrueEndConsumerThread(SeekingConsumerThread):
    """Repair 2: the end of a partition, by a fetch."""

    def _create_worker_consumer(self, transport: Any) -> Any:
        consumer = super()._create_worker_consumer(transport)
        # The embedded broker answers a fetch over many partitions late; Faust would wait 1.5 s for it.
        consumer._fetch_max_wait_ms = FETCH_WAIT_MS
        return consumer

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


class TrueEndConsumer(driver.Consumer):
    """The consumer that reads by `TrueEndConsumerThread`."""

    def _new_consumer_thread(self) -> TrueEndConsumerThread:
        return TrueEndConsumerThread(self, loop=self.loop, beacon=self.beacon)


class TrueEndTransport(driver.Transport):
    """The transport to the embedded broker."""

    Consumer = TrueEndConsumer
    Producer = FencedProducer


class RepairedApp(faust.App):
    """A Faust app that reads everything from Apache Kafka."""

    membership: Membership

    def _new_transport(self) -> driver.Transport:
        return SeekingTransport(self.conf.broker_consumer, self)


class EmbeddedApp(RepairedApp):
    """A Faust app that reads everything, and to the true end, from the embedded broker."""

    def _new_transport(self) -> driver.Transport:
        return TrueEndTransport(self.conf.broker_consumer, self)


class DeliveredTable(faust.Table):
    """Repair 4: a table whose last write can be awaited."""

    last_write: asyncio.Future[Any] | None = None

    def send_changelog(self, *args: Any, **kwargs: Any) -> Any:
        """Send to the changelog and keep the future of the delivery."""
        self.last_write = super().send_changelog(*args, **kwargs)
        return self.last_write

    async def delivered(self) -> None:
        """Wait until the broker has the last write."""
        if self.last_write is not None:
            await self.last_write


def server_urls(bootstrap: str) -> Sequence[str]:
    """Faust's broker URLs of a list of bootstrap servers."""
    return [f"kafka://{server.strip()}" for server in bootstrap.split(",")]
