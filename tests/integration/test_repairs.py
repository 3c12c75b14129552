"""Each repair of Faust in `streams/worker/runtime/repairs.py`, against a real broker."""

from typing import Any

import pytest
from aiokafka import TopicPartition

from streams.settings import Settings
from streams.worker.create import create
from streams.worker.runtime.recovery import EmbeddedConsumerThread
from tests.conftest import APACHE
from tests.harness import Harness

pytestmark = pytest.mark.broker


@pytest.mark.skipif(APACHE, reason="Apache Kafka reports true ends: this repair is for the embedded broker")
async def test_a_partition_is_read_to_its_true_end(harness: Harness) -> None:
    """Repair 2. If the first assertion fails, the broker has learned to tell, and the repair can go."""
    topic = harness.settings.topic("contrasts")
    for batch in (1, 10, 5, 100):
        for _ in range(batch):
            harness.raw.produce(topic, b"x", partition=0)
        harness.raw.flush(10)
    thread = _Unstarted(harness.settings)
    tp = TopicPartition(topic, 0)

    claimed = await thread.claimed([tp])
    true = await EmbeddedConsumerThread._highwaters(thread, [tp])

    await thread.stop()
    assert claimed[tp] < 116
    assert true[tp] == 116


class _Unstarted(EmbeddedConsumerThread):
    """The consumer thread's view of a broker, without Faust around it."""

    def __init__(self, settings: Settings, group: str | None = None) -> None:
        import aiokafka  # noqa: PLC0415

        self._consumer = aiokafka.AIOKafkaConsumer(
            bootstrap_servers=settings.bootstrap, enable_auto_commit=False, group_id=group, auto_offset_reset="earliest"
        )
        self.app = create(settings).app
        self.consumer = _Consumer(settings)

    async def claimed(self, partitions: list[Any]) -> dict[Any, int]:
        await self._consumer.start()
        ends: dict[Any, int] = await self._consumer.end_offsets(partitions)
        return ends

    async def call_thread(self, call: Any, *args: Any) -> Any:
        return await call(*args)

    def _ensure_consumer(self) -> Any:
        return self._consumer

    async def stop(self) -> None:
        await self._consumer.stop()


class _Consumer:
    app: Any
    in_transaction = False

    def _is_changelog_tp(self, tp: Any) -> bool:
        return False

    def __init__(self, settings: Settings) -> None:
        from yarl import URL  # noqa: PLC0415

        self.transport = type("Transport", (), {"url": [URL(f"kafka://{settings.bootstrap}")], "default_port": 9092})()


async def test_a_partition_without_a_committed_offset_is_sought_to_its_beginning(harness: Harness) -> None:
    """Repair 3, by itself: what was fetched and dropped before the seek is fetched again after it."""
    topic = harness.settings.topic("contrasts")
    for _ in range(5):
        harness.raw.produce(topic, b"x", partition=0)
    harness.raw.flush(10)
    thread = _Unstarted(harness.settings, group=harness.settings.app_id)
    tp = TopicPartition(topic, 0)
    consumer = thread._ensure_consumer()
    await consumer.start()
    consumer.assign([tp])
    dropped = await consumer.getmany(tp, timeout_ms=5_000)
    assert len(dropped[tp]) == 5

    await thread.seek_to_committed()

    again = await consumer.getmany(tp, timeout_ms=5_000)
    await thread.stop()
    assert len(again[tp]) == 5
