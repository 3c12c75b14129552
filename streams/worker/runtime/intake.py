"""Intake of records: decodes each one and checks its partition, or dead-letters it with its bytes.

An agent is an `Intake` with a handler per topic. A handler gets events of the right type on the right partition, not
from the future and not erased. Other records are re-routed (invariant 13), dead-lettered (invariant 9) or dropped.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

import faust

from operators.admit import Refused, id_of, refused
from operators.clocks import TOLERANCE
from schemas import BadRecord, DeadLetter, ForgetRequest, Model, Position, encode
from schemas.topics import TOPICS
from streams.kafka.clients import partition_of
from streams.metrics import DEAD_LETTERS, report_clock
from streams.settings import Settings
from streams.worker import metrics
from streams.worker.producer import Producer
from streams.worker.runtime.ordered import KeyOrdered, Stale, Work
from streams.worker.runtime.outlet import MessageSizeTooLarge
from streams.worker.runtime.reader import Taken, position_of
from streams.worker.tables import Tables

Handler = Callable[[Any, Any, Position], Awaitable[str]]
"""Takes the Faust event, the decoded event and its position; returns the outcome for the metrics."""

IN_FLIGHT, SMALL_BYTES = 256, 4_096
AHEAD = f"its time is more than {TOLERANCE.seconds // 60} minutes ahead of its record's or of the worker's clock"


class Intake:
    """The intake of one agent, its `stage` in metrics and dead letters; at most `in_flight` events run at once.

    An owner's events run one after another. Without `by_owner` each begins in its turn, runs to its first wait, and
    then they overlap. With `by_partition` the limit is each partition's: events that wait for another topic of their
    partition then cannot block other partitions.
    """

    def __init__(
        self,
        app: Any,
        tables: Tables,
        producer: Producer,
        settings: Settings,
        stage: str,
        handlers: Mapping[str, Handler],
        in_flight: int = IN_FLIGHT,
        *,
        by_owner: bool = True,
        by_partition: bool = False,
    ) -> None:
        self._app, self._reader, self._stage = app, app.reader, stage
        self._tables, self._producer, self._settings = tables, producer, settings
        self._handlers, self._in_flight = handlers, in_flight
        self._by_owner, self._by_partition = by_owner, by_partition
        self._ordered: dict[int, KeyOrdered] = {}
        self._topics = {self._settings.topic(base): TOPICS[base] for base in handlers}

    def attach(self, name: str = "") -> None:
        """Register it as an agent of the app; its default name is its stage."""
        metrics.IN_FLIGHT_LIMIT.labels(self._stage).inc(self._in_flight)
        self._reader.attach(self._topics, self._take)
        subscribe(self._app, self._settings, name or self._stage, *self._handlers)

    def _take(self, events: Sequence[Taken]) -> None:
        which = events[0].partition if self._by_partition else 0
        if which not in self._ordered:
            if self._ordered:  # `attach` has counted the first
                metrics.IN_FLIGHT_LIMIT.labels(self._stage).inc(self._in_flight)
            self._ordered[which] = KeyOrdered(
                self._reader, self._stage, self._in_flight, self._route, self._on_error, self._reader.touch
            )
        self._ordered[which].take(events)

    def _route(self, event: Taken) -> Work:
        topic = self._topics[event.topic]
        position = position_of(event)
        if topic.model is not ForgetRequest:
            self._reader.newest_ms = max(self._reader.newest_ms, position.timestamp_ms)
        metrics.labelled(metrics.TAKEN, topic.base).inc()
        try:
            record = self._tables.decode(topic.model, event.value)
        except BadRecord as error:
            return Work(None, partial(self.dead_letter, event, position, error.reason, error.detail))
        owner = topic.owner_of(record)
        right = partition_of(owner, self._settings.partitions)
        if right != position.partition:
            return Work(owner, partial(self._reroute, event, topic.base, owner, right))
        whose = owner if self._by_owner else None
        return Work(whose, partial(self._handle, topic.base, event, record, position))

    async def _handle(self, base: str, event: Any, record: Model, position: Position) -> None:
        why = self._refused(record, position)
        if why is Refused.FROM_THE_FUTURE:
            await self.dead_letter(event, position, why.value, AHEAD)
            return
        outcome = why.value if why else await self._handlers[base](event, record, position)
        metrics.labelled(metrics.EVENTS, self._stage, outcome).inc()

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
        metrics.REROUTED.labels(self._stage).inc()
        metrics.EVENTS.labels(self._stage, "rerouted").inc()

    async def dead_letter(
        self, event: Any, position: Position, reason: str, detail: str, value: bytes | None = None
    ) -> None:
        """Dead-letter a record with its position, the reason and its bytes."""
        if value is None:
            value = event.value or b""
        key: bytes | None = event.message.key
        try:
            await self._send_letter(event, DeadLetter.of(self._stage, position, reason, detail, key, value))
        except MessageSizeTooLarge:
            # A broker with a lower limit than ours. Position and beginning are better than a partition that stops here.
            small = DeadLetter.of(self._stage, position, reason, detail, key, value, limit=SMALL_BYTES)
            await self._send_letter(event, small)
        DEAD_LETTERS.labels(self._stage, reason).inc()
        metrics.EVENTS.labels(self._stage, "dead-lettered").inc()

    async def _send_letter(self, event: Any, letter: DeadLetter) -> None:
        # Not by the key: hashing a hostile one takes 0.7 s a megabyte, and all agents would wait.
        partition = letter.source.partition
        await self._producer.send(event, DeadLetter.TOPIC, letter.key, encode(letter), partition=partition)

    async def _on_error(self, event: Any, error: Exception) -> None:
        """Dead-letter an event whose handler failed unexpectedly."""
        detail = f"{type(error).__name__}: {error}"
        try:
            await self.dead_letter(event, position_of(event.message), "internal-error", detail)
        except Stale:
            metrics.STALE.labels(self._stage).inc()


def subscribe(app: Any, settings: Settings, name: str, *bases: str) -> None:
    """Make Faust subscribe to these topics, with an agent that gets no records: the reader takes them."""

    async def nothing(stream: Any) -> None:
        async for _ in stream:
            raise AssertionError("the reader takes the records of these topics")

    app.agent(raw_topic(app, settings, *bases), name=name)(nothing)


def raw_topic(app: faust.App, settings: Settings, *bases: str, **more: Any) -> Any:
    """Return a Faust topic of bytes: we decode, because an error in Faust's decoding stalls an agent."""
    names = [settings.topic(base) for base in bases]
    return app.topic(*names, key_type=bytes, value_type=bytes, key_serializer="raw", value_serializer="raw", **more)
