"""Intake of records: decodes each one and checks its partition, or dead-letters it with its bytes.

A handler gets events of the right type on the right partition, not from the future and not erased. Other records are
re-routed (invariant 13), dead-lettered (invariant 9) or dropped.
"""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

from operators.admit import Refused, id_of, refused
from operators.clocks import TOLERANCE
from schemas import BadRecord, DeadLetter, Event, ForgetRequest, Model, Position, encode
from schemas.topics import TOPICS, by_name
from streams.kafka.clients import partition_of
from streams.kafka.packed import unpack
from streams.metrics import DEAD_LETTERS, report_clock
from streams.settings import Settings
from streams.worker import metrics
from streams.worker.producer import Producer
from streams.worker.runtime.ordered import Stale, Work
from streams.worker.runtime.outlet import MessageSizeTooLarge
from streams.worker.runtime.reader import Reader, Taken, position_of
from streams.worker.tables import Tables

Handler = Callable[[Any, Any, Position], Awaitable[str]]
"""Takes the Faust event, the decoded event and its position; returns the outcome for the metrics."""

SMALL_BYTES = 4_096
AHEAD = f"its time is more than {TOLERANCE.seconds // 60} minutes ahead of its record's or of the worker's clock"


class DeadLetters:
    """Keeps records that a stage cannot process."""

    def __init__(self, producer: Producer, settings: Settings, stage: str) -> None:
        self.stage = stage
        self._producer, self._settings = producer, settings

    async def dead_letter(
        self, event: Any, position: Position, reason: str, detail: str, value: bytes | None = None
    ) -> None:
        """Dead-letter a record with its position, the reason and its bytes, unpacked if a worker packed them."""
        if value is None:
            value = event.value or b""
            # On a topic that apps write, bytes that look packed may unpack to a thousand times their size.
            if by_name(event.message.topic, self._settings.prefix).packed:
                value = unpack(value)
        key: bytes | None = event.message.key
        try:
            await self._send_letter(event, DeadLetter.of(self.stage, position, reason, detail, key, value))
        except MessageSizeTooLarge:
            # A broker with a lower limit than ours. Position and beginning are better than a partition that stops here.
            small = DeadLetter.of(self.stage, position, reason, detail, key, value, limit=SMALL_BYTES)
            await self._send_letter(event, small)
        DEAD_LETTERS.labels(self.stage, reason).inc()
        metrics.EVENTS.labels(self.stage, "dead-lettered").inc()

    async def _send_letter(self, event: Any, letter: DeadLetter) -> None:
        # Not by the key: hashing a hostile one takes 0.7 s a megabyte, and all agents would wait.
        partition = letter.source.partition
        await self._producer.send(event, DeadLetter.TOPIC, letter.key, encode(letter), partition=partition)


class Intake(DeadLetters):
    """The records of one agent, its `stage` in metrics and dead letters: decodes and checks them for its handler.

    An owner's events run one after another. Without `by_owner` each begins in its turn, runs to its first wait, and
    then they overlap.
    """

    def __init__(
        self,
        app: Any,
        tables: Tables,
        producer: Producer,
        settings: Settings,
        stage: str,
        handle: Handler,
        *models: type[Event],
        by_owner: bool = True,
    ) -> None:
        super().__init__(producer, settings, stage)
        self.reader: Reader = app.reader
        self._tables, self._handler, self._by_owner = tables, handle, by_owner
        self._topics = {settings.topic(model.TOPIC): TOPICS[model.TOPIC] for model in models}

    def route(self, event: Taken) -> Work:
        """Return the owner of a record's event and what to do with it."""
        topic = self._topics[event.topic]
        position = position_of(event)
        if topic.model is not ForgetRequest:
            self.reader.newest_ms = max(self.reader.newest_ms, position.timestamp_ms)
        metrics.labelled(metrics.TAKEN, topic.base).inc()
        try:
            raw = unpack(event.value or b"") if topic.packed else event.value
            record = self._tables.decode(topic.model, raw)
        except BadRecord as error:
            return Work(None, partial(self.dead_letter, event, position, error.reason, error.detail))
        owner = topic.owner_of(record)
        right = partition_of(owner, self._settings.partitions)
        if right != position.partition:
            return Work(owner, partial(self._reroute, event, topic.base, owner, right))
        whose = owner if self._by_owner else None
        return Work(whose, partial(self._handle, event, record, position))

    async def _handle(self, event: Any, record: Model, position: Position) -> None:
        why = self._refused(record, position)
        if why is Refused.FROM_THE_FUTURE:
            await self.dead_letter(event, position, why.value, AHEAD)
            return
        outcome = why.value if why else await self._handler(event, record, position)
        metrics.labelled(metrics.EVENTS, self.stage, outcome).inc()

    def _refused(self, record: Model, position: Position) -> Refused | None:
        """Return the reason to reject an event before its handler sees it."""
        if id_of(record) is None:
            return None
        user_id, occurred_at = record.user_id, record.occurred_at  # type: ignore[attr-defined]
        receipt, now = self._tables.receipt(user_id), datetime.now(UTC)
        logged_at = position.moment if position.timestamp_ms else None
        if logged_at is not None:
            report_clock((logged_at - now).total_seconds(), TOLERANCE.total_seconds())
        why = refused(record, logged_at, now, receipt, self._settings.event_key_bytes)
        if why is not None or receipt is None:
            return why
        moments = [occurred_at] if logged_at is None else [occurred_at, logged_at]
        return Refused.FORGOTTEN if receipt.covers(getattr(record, "domain", None), *moments) else None

    async def _reroute(self, event: Any, base: str, owner: str, right: int) -> None:
        """Forward a record to its user's partition: its producer does not hash with murmur2."""
        await self._producer.send(event, base, owner.encode(), event.value, partition=right)
        metrics.REROUTED.labels(self.stage).inc()
        metrics.EVENTS.labels(self.stage, "rerouted").inc()

    async def on_error(self, event: Any, error: Exception) -> None:
        """Dead-letter an event whose handler failed unexpectedly."""
        detail = f"{type(error).__name__}: {error}"
        try:
            await self.dead_letter(event, position_of(event.message), "internal-error", detail)
        except Stale:
            metrics.STALE.labels(self.stage).inc()
