"""The materializer's loop: reads a batch, writes it and its offsets to DuckDB, publishes when due."""

import logging
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import duckdb
from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Message

from operators.clocks import TOLERANCE
from schemas import BadRecord, Receipt, decode
from streams import private
from streams.materializer import metrics, recovery
from streams.materializer.batch import Batch
from streams.materializer.dead_letters import OWNED, DeadLetters
from streams.materializer.exceptions import Damaged
from streams.materializer.forgetting import Barrier
from streams.materializer.health import MaterializerHealth
from streams.materializer.records import Record, from_ms
from streams.materializer.rows import read
from streams.materializer.snapshot import Publisher
from streams.materializer.source import Source
from streams.materializer.store import Progress, Store, cannot_write
from streams.metrics import report_clock
from streams.privacy import privacy_of
from streams.pseudonyms import ranking_key_if_any
from streams.settings import Settings

log = logging.getLogger(__name__)

CHECK_SECONDS = 10.0
"""How often to check the topics for recreation, new partitions and lag."""


@dataclass(frozen=True, slots=True)
class Written:
    """The result of one batch."""

    records: int
    bad: int
    seconds: float
    rows: dict[str, int] = field(default_factory=dict)


def materialize(
    settings: Settings,
    stop: threading.Event,
    on_batch: Callable[[Written], None] | None = None,
    health: MaterializerHealth | None = None,
) -> None:
    """Keeps the DuckDB file up to date until `stop` is set.

    Args:
        settings: the broker, the files and the batch size.
        stop: when set, the loop publishes once more and ends within about a second.
        on_batch: called after each commit, in this thread.
        health: updated as the loop runs.

    Raises:
        MaterializerError: with what to do next.
    """
    health = health or MaterializerHealth()
    private.begin(settings.group)
    for folder in dict.fromkeys((settings.data_dir, settings.duckdb_file.parent)):
        private.tighten(private.make(folder, settings.group), settings.group, [f"{settings.duckdb_file.name}*"])
    try:
        _materialize(settings, stop, on_batch, health)
    except Damaged as error:
        recovery.replace(settings, error)
        _materialize(settings, stop, on_batch, health)


def _materialize(
    settings: Settings,
    stop: threading.Event,
    on_batch: Callable[[Written], None] | None,
    health: MaterializerHealth,
) -> None:
    with recovery.open_store(settings) as store, Source(settings) as source:
        publisher = Publisher(store, settings.duckdb_file, settings.publish_seconds, group=settings.group)
        try:
            store.use_prices(settings.llm_price_prompt, settings.llm_price_completion)
            _Loop(settings, store, source, publisher, health).run(stop, on_batch)
            publisher.publish_if_changed()
        except duckdb.Error as error:
            raise cannot_write(store.path, error) from error
        finally:
            publisher.close()


class _Loop:
    def __init__(
        self, settings: Settings, store: Store, source: Source, publisher: Publisher, health: MaterializerHealth
    ) -> None:
        self._settings, self._store, self._source, self._publisher = settings, store, source, publisher
        self._health = health
        self._privacy = privacy_of(settings)
        self._barrier = Barrier(store.receipts(), settings.event_key_bytes)
        self._dead_letters = DeadLetters(settings)
        self._ranking_key: bytes | None = None
        self._done = store.offsets()
        self._next_check = 0.0

    def run(self, stop: threading.Event, on_batch: Callable[[Written], None] | None) -> None:
        self._health.starts("looking for Kafka and its topics")
        self._forget(self._source.start(self._done))
        self._store.use_cluster(self._source.cluster_id)
        log.info("materializing %s topics into %s", len(self._source.topics), self._store.path)
        self._report_offsets()
        self._health.reads()
        while not stop.is_set():
            messages = self._source.read(self._settings.batch_rows, self._settings.batch_seconds, stop)
            self._health.turn()
            if messages:
                written = self._write(messages)
                if on_batch is not None:
                    on_batch(written)
            self._publisher.publish_if_due(is_behind=len(messages) >= self._settings.batch_rows)
            self._check()
            self._health.can_publish = not self._publisher.is_failing
            self._health.broker_answers = self._source.broker_answers

    def _write(self, messages: Sequence[Message]) -> Written:
        began = time.perf_counter()
        batch = Batch()
        offsets: dict[tuple[str, int], Progress] = {}
        counts: Counter[str] = Counter()
        refused: list[tuple[Record, BadRecord]] = []
        stamps_ms: list[int] = []
        receipts: list[Receipt] = []
        if self._ranking_key is None:
            # On a single machine the worker creates the key at its first start, before it seals a ranking.
            self._ranking_key = ranking_key_if_any(self._settings)
        for message in messages:
            record = self._record(message)
            name = record.topic.name(self._settings.prefix)
            offsets[name, record.partition] = Progress(record.offset + 1, self._source.topic_id(name))
            counts[record.topic.base] += 1
            if record.timestamp_ms:
                stamps_ms.append(record.timestamp_ms)
                report_clock(record.timestamp_ms / 1_000 - time.time(), TOLERANCE.total_seconds())
            try:
                change = read(record, self._privacy, self._barrier, self._ranking_key)
                if change is not None:
                    batch.add(change)
                if record.topic.base == Receipt.TOPIC and record.value is not None:
                    receipts.append(decode(Receipt, record.value))
                    self._barrier.add(receipts[-1])
            except BadRecord as why:
                refused.append((record, why))
        self._dead_letters.send([(record, why) for record, why in refused if record.topic.base in OWNED])
        rows = self._store.write(batch, offsets, receipts)
        self._done.update(offsets)
        self._report_offsets()
        # A clock that ran ahead must not make the file look newer than it is.
        newest_ms = min(max(stamps_ms, default=0), int(time.time() * 1_000))
        self._publisher.note(from_ms(newest_ms) if stamps_ms else None)
        seconds = time.perf_counter() - began
        _report(counts, refused, rows, seconds)
        _report_age(stamps_ms)
        return Written(len(messages), len(refused), seconds, rows)

    def _report_offsets(self) -> None:
        offsets: Counter[str] = Counter()
        for (name, _), progress in self._done.items():
            offsets[name] += progress.next_offset
        for name, topic in self._source.topics.items():
            metrics.NEXT_OFFSET.labels(topic=topic.base).set(offsets[name])

    def _record(self, message: Message) -> Record:
        kind, timestamp_ms = message.timestamp()
        return Record(
            topic=self._source.topics[message.topic()],
            partition=message.partition(),
            offset=message.offset(),
            timestamp_ms=0 if kind == TIMESTAMP_NOT_AVAILABLE else max(0, timestamp_ms),
            key=message.key(),
            value=message.value(),
        )

    def _forget(self, recreated: set[str]) -> None:
        if recreated:
            self._store.forget_offsets({name: self._source.topic_id(name) for name in recreated})
            self._done = self._store.offsets()

    def _check(self) -> None:
        if time.monotonic() >= self._next_check:
            self._forget(self._source.check(self._done))
            self._source.measure_lag(self._done)
            metrics.DISK_FREE.set(shutil.disk_usage(self._store.path.parent).free)
            self._next_check = time.monotonic() + CHECK_SECONDS


def _report(
    counts: Counter[str], refused: Sequence[tuple[Record, BadRecord]], rows: dict[str, int], seconds: float
) -> None:
    metrics.BATCH_SECONDS.observe(seconds)
    metrics.BATCH_RECORDS.observe(counts.total())
    for base, count in counts.items():
        metrics.RECORDS.labels(topic=base).inc(count)
    for table, count in rows.items():
        metrics.ROWS.labels(table=table).inc(count)
    for base, count in Counter(record.topic.base for record, _ in refused).items():
        metrics.BAD_RECORDS.labels(topic=base).inc(count)
    if refused:
        record, why = refused[-1]
        log.warning(
            "%s records could not be decoded, the last of them %s[%s] at %s: %s",
            len(refused), record.topic.base, record.partition, record.offset, why,
        )  # fmt: skip


def _report_age(stamps_ms: Sequence[int]) -> None:
    """Reports the age of the batch's oldest record, never negative, and the time of the newest record."""
    if stamps_ms:
        metrics.DELAY_SECONDS.observe(max(0.0, time.time() - min(stamps_ms) / 1_000))
        metrics.NEWEST_TIMESTAMP.set(min(time.time(), max(stamps_ms) / 1_000))
