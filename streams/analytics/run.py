"""The loop of the materializer: read, write, publish."""

import logging
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import duckdb
from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Message

from operators.admission import TOLERANCE
from schemas import MAX_ORIGINAL_BYTES, TOPICS, BadRecord, DeadLetter, Position, Receipt, decode, encode, moment_of
from streams import permissions
from streams.analytics import Damaged, MaterializerError, metrics
from streams.analytics.erasure import ErasureFilter
from streams.analytics.files import cannot_write
from streams.analytics.records import ChangeSet, KafkaRecord, utc
from streams.analytics.rows import read
from streams.analytics.snapshot import Publisher
from streams.analytics.source import TopicSource
from streams.analytics.store import DuckDBStore, Progress, open_store, replace_damaged
from streams.exceptions import NotProduced
from streams.kafka.producer import RecordWriter
from streams.metrics import CLOCK_SKEW, DEAD_LETTERS, FROM_THE_FUTURE
from streams.policies import privacy_of
from streams.pseudonyms import find_ranking_key
from streams.settings import Settings

log = logging.getLogger(__name__)

# Interval of checks for recreated topics, new partitions and lag.
CHECK_SECONDS = 10.0
# Not ready after this long without a turn of the loop, such as during a rewrite or with a slow disk.
IDLE_SECONDS = 60.0
# Not live after this long: no checkpoint or rewrite takes longer.
STUCK_SECONDS = 3_600.0


class MaterializerHealth:
    """Liveness and readiness of the materializer, for the HTTP server's threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._turned_at = clock()
        self.is_ending = False
        # The current step of the start; empty once records are read.
        self.step = "opening the DuckDB file"
        self.broker_answers = True
        self.can_publish = True

    def turn(self) -> None:
        """Record a turn of the loop."""
        self._turned_at, self.step = self._clock(), ""

    def why_not_live(self) -> list[str]:
        """Return reasons to restart this materializer."""
        still = self._clock() - self._turned_at
        return [f"no batch or publication for {still:.0f} s"] if still > STUCK_SECONDS else []

    def why_not_ready(self) -> list[str]:
        """Return reasons why rows do not reach DuckDB or the snapshot."""
        still = self._clock() - self._turned_at
        reasons = {
            "shutting down": self.is_ending,
            self.step: self.step,
            f"no poll for {still:.0f} s": still > IDLE_SECONDS,
            "no broker answers": not self.broker_answers,
            "the snapshot cannot be published; see the log": not self.can_publish,
        }
        return [reason for reason, holds in reasons.items() if holds]


def materialize(settings: Settings, stop: threading.Event, health: MaterializerHealth | None = None) -> None:
    """Update the DuckDB file until `stop` is set; then publish again."""
    health = health or MaterializerHealth()
    permissions.set_umask(settings.group)
    for folder in dict.fromkeys((settings.data_dir, settings.duckdb_file.parent)):
        permissions.restrict(
            permissions.make_private(folder, settings.group), settings.group, [f"{settings.duckdb_file.name}*"]
        )
    try:
        _materialize(settings, stop, health)
    except Damaged as error:
        replace_damaged(settings, error)
        _materialize(settings, stop, health)


def _materialize(settings: Settings, stop: threading.Event, health: MaterializerHealth) -> None:
    with open_store(settings) as store, TopicSource(settings) as source:
        try:
            store.use_prices(settings.llm_price_prompt, settings.llm_price_completion)
            _MaterializeLoop(settings, store, source, health).run(stop)
        except duckdb.Error as error:
            raise cannot_write(store.path, error) from error


class _MaterializeLoop:
    def __init__(self, settings: Settings, store: DuckDBStore, source: TopicSource, health: MaterializerHealth) -> None:
        self._settings, self._store, self._source, self._health = settings, store, source, health
        self._publisher = Publisher(store, settings.duckdb_file, settings.publish_seconds, group=settings.group)
        self._privacy = privacy_of(settings)
        self._barrier = ErasureFilter(store.receipts(), settings.event_key_bytes)
        self._dead_letters = DeadLetterSender(settings)
        self._ranking_key: bytes | None = None
        self._done = store.offsets()
        self._next_check = 0.0

    def run(self, stop: threading.Event) -> None:
        self._health.step = "connecting to Kafka"
        self._forget(self._source.start(self._done))
        log.info("materializing %s topics into %s", len(self._source.topics), self._store.path)
        self._report_offsets()
        self._health.turn()
        while not stop.is_set():
            messages = self._source.read(self._settings.batch_rows, self._settings.batch_seconds, stop)
            self._health.turn()
            if messages:
                self._write(messages)
            self._publisher.publish_if_due()
            if time.monotonic() >= self._next_check:
                self._check()
            self._health.can_publish = not self._publisher.is_failing
            self._health.broker_answers = self._source.broker_answers
        self._publisher.publish_if_changed()

    def _write(self, messages: Sequence[Message]) -> None:
        began = time.perf_counter()
        batch = ChangeSet()
        offsets: dict[tuple[str, int], Progress] = {}
        refused: list[tuple[KafkaRecord, BadRecord]] = []
        receipts: list[Receipt] = []
        if self._ranking_key is None:
            # On a single machine the worker creates the key at its first start, before it seals a ranking.
            self._ranking_key = find_ranking_key(self._settings)
        records = list(map(self._record, messages))
        for record in records:
            name = record.topic.name(self._settings.prefix)
            offsets[name, record.partition] = Progress(record.offset + 1, self._source.topic_id(name))
            try:
                change = read(record, self._privacy, self._barrier, self._ranking_key)
                if change is not None:
                    batch.add(change)
                if record.topic.base == Receipt.TOPIC and record.value is not None:
                    receipts.append(decode(Receipt, record.value))
                    self._barrier.add(receipts[-1])
            except BadRecord as why:
                refused.append((record, why))
        self._dead_letters.send([(record, why) for record, why in refused if record.topic.base in OWN_TOPICS])
        rows = self._store.write(batch, offsets, receipts)
        self._done.update(offsets)
        self._report_offsets()
        metrics.BATCH_SECONDS.observe(time.perf_counter() - began)
        for table, count in rows.items():
            metrics.ROWS.labels(table=table).inc(count)
        self._report(records, refused)

    def _record(self, message: Message) -> KafkaRecord:
        topic, (kind, timestamp) = self._source.topics[str(message.topic())], message.timestamp()
        timestamp_ms = 0 if kind == TIMESTAMP_NOT_AVAILABLE else max(0, timestamp)
        position = int(message.partition() or 0), int(message.offset() or 0)
        return KafkaRecord(topic, *position, timestamp_ms, message.key(), message.value())

    def _check(self) -> None:
        self._forget(self._source.check(self._done))
        self._source.measure_lag(self._done)
        metrics.DISK_FREE.set(shutil.disk_usage(self._store.path.parent).free)
        self._next_check = time.monotonic() + CHECK_SECONDS

    def _forget(self, recreated: set[str]) -> None:
        if recreated:
            self._store.forget_offsets({name: self._source.topic_id(name) for name in recreated})
            self._done = self._store.offsets()

    def _report_offsets(self) -> None:
        offsets: Counter[str] = Counter()
        for (name, _), progress in self._done.items():
            offsets[name] += progress.next_offset
        for name, topic in self._source.topics.items():
            metrics.NEXT_OFFSET.labels(topic=topic.base).set(offsets[name])

    def _report(self, records: Sequence[KafkaRecord], refused: Sequence[tuple[KafkaRecord, BadRecord]]) -> None:
        for base, count in Counter(record.topic.base for record in records).items():
            metrics.RECORDS.labels(topic=base).inc(count)
        for record, _ in refused:
            metrics.BAD_RECORDS.labels(topic=record.topic.base).inc()
        if refused:
            record, why = refused[-1]
            last = f"{record.topic.base}[{record.partition}] at {record.offset}: {why}"
            log.warning("%s records could not be decoded, the last of them %s", len(refused), last)
        now = time.time()
        stamps = [record.timestamp_ms / 1_000 for record in records if record.timestamp_ms]
        for stamp in stamps:
            CLOCK_SKEW.set(max(0.0, stamp - now))
            FROM_THE_FUTURE.inc(stamp - now > TOLERANCE.total_seconds())
        if stamps:
            metrics.DELAY_SECONDS.observe(max(0.0, now - min(stamps)))
        # `min`, because a clock that ran ahead must not make the file look newer than it is.
        self._publisher.mark_changed(utc(moment_of(int(1_000 * min(now, max(stamps))))) if stamps else None)


# The public topics that no agent reads: agents dead-letter bad records of the others.
OWN_TOPICS = frozenset(
    base for base, topic in TOPICS.items() if not (topic.is_consumed or topic.internal or base == DeadLetter.TOPIC)
)

CLIPPED_BYTES = 4_096
_FLUSH_SECONDS = 60


class DeadLetterSender:
    """Sends refused records to the topic dead-letters.

    They are flushed before the DuckDB transaction commits. After a crash in between, the record is refused again with
    the same derived id.
    """

    def __init__(self, settings: Settings) -> None:
        self._prefix, self._topic = settings.prefix, settings.topic(DeadLetter.TOPIC)
        config = {
            "client.id": "sager-materializer",
            "message.max.bytes": TOPICS[DeadLetter.TOPIC].max_message_bytes,
            "message.timeout.ms": (_FLUSH_SECONDS - 10) * 1000,
        }
        self._writer = RecordWriter(settings, **config)

    def send(self, refused: Sequence[tuple[KafkaRecord, BadRecord]]) -> None:
        """Send dead letters; after an error the batch must not be committed."""
        if not refused:
            return
        try:
            self._deliver(refused, MAX_ORIGINAL_BYTES)
        except NotProduced as error:
            # The broker's limit may be below ours. A clipped letter is better than a stop at this record for ever.
            log.warning("%s; they are sent again, clipped", error)
            self._deliver_clipped(refused)
        for _, why in refused:
            DEAD_LETTERS.labels(stage=metrics.STAGE, reason=why.reason).inc()

    def _deliver(self, refused: Sequence[tuple[KafkaRecord, BadRecord]], limit: int) -> None:
        now = datetime.now(UTC)
        for record, why in refused:
            letter = dead_letter(record, why, self._prefix, now, limit)
            self._writer.send(self._topic, letter.key, encode(letter))
        self._writer.flush(_FLUSH_SECONDS, "dead letters")

    def _deliver_clipped(self, refused: Sequence[tuple[KafkaRecord, BadRecord]]) -> None:
        try:
            self._deliver(refused, CLIPPED_BYTES)
        except NotProduced as error:
            raise MaterializerError(
                f"{error}; nothing of this batch is committed. Check the broker and start again"
            ) from error


def dead_letter(
    record: KafkaRecord, why: BadRecord, prefix: str, now: datetime, limit: int = MAX_ORIGINAL_BYTES
) -> DeadLetter:
    """Return the dead letter of a record that the materializer refused."""
    at = {"partition": record.partition, "offset": record.offset, "timestamp_ms": record.timestamp_ms}
    source = Position(topic=record.topic.name(prefix), **at)
    return DeadLetter.of(metrics.STAGE, source, why.reason, why.detail, record.key, record.value, now, limit)
