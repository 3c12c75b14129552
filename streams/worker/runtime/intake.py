"""Intake of records: decodes each one and checks its partition, or dead-letters it with its bytes.

An agent is an `Intake` with a handler per topic; what comes to the handler is an event of the right type on the right
partition, not from the future, and not one that was forgotten. What does not is re-routed (invariant 11), dead-lettered
(invariant 9) or dropped.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

from operators.admit import Refused, id_of, refused
from operators.clocks import TOLERANCE
from schemas import BadRecord, DeadLetter, ForgetRequest, Model, Position, encode
from schemas.topics import TOPICS, by_name
from streams.kafka.clients import partition_of
from streams.kafka.packed import unpack
from streams.metrics import DEAD_LETTERS, report_clock
from streams.worker import metrics
from streams.worker.pipeline import Pipeline, position_of
from streams.worker.runtime.ordered import KeyOrdered, Stale, Work
from streams.worker.runtime.outlet import MessageSizeTooLarge
from streams.worker.runtime.reader import Taken

Handler = Callable[[Any, Any, Position], Awaitable[str]]
"""Takes the Faust event, the decoded event and its position; gives the outcome's word for the metrics."""

IN_FLIGHT = 256
SMALL_BYTES = 4_096
AHEAD = f"its time is more than {TOLERANCE.seconds // 60} minutes ahead of its record's or of the worker's clock"


class Intake:
    """The intake of one agent.

    Args:
        pipeline: the worker's parts.
        stage: the agent's name, in metrics and dead letters.
        handlers: what to do with an event, by the registry's topic name.
        in_flight: how many events may be worked on at once.
        by_owner: an owner's events are worked on one after another. Without, each is begun in its turn and up to its
            first wait, and then they overlap.
        by_partition: `in_flight` holds for each partition. Events that wait for another topic of their partition then
            cannot block other partitions.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        stage: str,
        handlers: Mapping[str, Handler],
        in_flight: int = IN_FLIGHT,
        *,
        by_owner: bool = True,
        by_partition: bool = False,
    ) -> None:
        self._pipeline = pipeline
        self._stage = stage
        self._handlers = handlers
        self._in_flight = in_flight
        self._by_owner, self._by_partition = by_owner, by_partition
        self._ordered: dict[int, KeyOrdered] = {}
        self._topics = {pipeline.settings.topic(base): TOPICS[base] for base in handlers}

    def attach(self, name: str = "") -> None:
        """Register it as an agent of the app over all topics that it handles; the default name is its stage."""
        pipeline = self._pipeline
        metrics.IN_FLIGHT_LIMIT.labels(self._stage).inc(self._in_flight)
        pipeline.reader.attach(self._topics, self._take)
        # For the group: it makes Faust subscribe to the topics. Their records do not come this way.
        pipeline.app.agent(pipeline.source(*self._handlers), name=name or self._stage)(nothing)

    def _take(self, events: Sequence[Taken]) -> None:
        """Take what was fetched of a partition."""
        which = events[0].partition if self._by_partition else 0
        if which not in self._ordered:
            if self._ordered:  # `attach` has counted the first
                metrics.IN_FLIGHT_LIMIT.labels(self._stage).inc(self._in_flight)
            self._ordered[which] = self._pipeline.ordered(self._stage, self._in_flight, self._route, self._on_error)
        self._ordered[which].take(events)

    def _route(self, event: Taken) -> Work:
        """Whose event it is, and what is to be done with it."""
        topic = self._topics[event.topic]
        position = position_of(event)
        if topic.model is not ForgetRequest:
            self._pipeline.note_time(position)
        metrics.labelled(metrics.TAKEN, topic.base).inc()
        try:
            raw = unpack(event.value or b"") if topic.packed else event.value
            record = self._pipeline.decode(topic.model, raw)
        except BadRecord as error:
            return Work(None, partial(self.dead_letter, event, position, error.reason, error.detail))
        if getattr(record, "forgotten", False):  # for a whole partition, and behind all that came before it
            return Work(None, partial(self._handle, topic.base, event, record, position), is_alone=True)
        owner = topic.owner_of(record)
        right = partition_of(owner, self._pipeline.settings.partitions)
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
        """Why an event is not let in, whatever its handler would say."""
        if id_of(record) is None:
            return None
        user_id, occurred_at = record.user_id, record.occurred_at  # type: ignore[attr-defined]
        receipt, now = self._pipeline.receipt(user_id), datetime.now(UTC)
        logged_at = position.moment if position.timestamp_ms else None
        if logged_at is not None:
            report_clock((logged_at - now).total_seconds(), TOLERANCE.total_seconds())
        why = refused(record, logged_at, now, receipt, self._pipeline.settings.event_key_bytes)
        if why is not None or receipt is None:
            return why
        moments = [occurred_at] if logged_at is None else [occurred_at, logged_at]
        return Refused.FORGOTTEN if receipt.covers(getattr(record, "domain", None), *moments) else None

    async def _reroute(self, event: Any, base: str, owner: str, right: int) -> None:
        """Forward a record to its user's partition: its producer does not hash with murmur2."""
        await self._pipeline.send(event, base, owner.encode(), event.value, partition=right)
        metrics.REROUTED.labels(self._stage).inc()
        metrics.EVENTS.labels(self._stage, "rerouted").inc()

    async def dead_letter(
        self, event: Any, position: Position, reason: str, detail: str, value: bytes | None = None
    ) -> None:
        """Dead-letter a record with its bytes, its position and the reason."""
        original = self._unpacked(event) if value is None else value
        key: bytes | None = event.message.key
        try:
            await self._send_letter(event, DeadLetter.of(self._stage, position, reason, detail, key, original))
        except MessageSizeTooLarge:
            # A broker with a lower limit than ours. Position and beginning are better than a partition that stops here.
            small = DeadLetter.of(self._stage, position, reason, detail, key, original, limit=SMALL_BYTES)
            await self._send_letter(event, small)
        DEAD_LETTERS.labels(self._stage, reason).inc()
        metrics.EVENTS.labels(self._stage, "dead-lettered").inc()

    def _unpacked(self, event: Any) -> bytes:
        """A record's bytes as they came, or as they were before one of us packed them.

        On a topic that apps write, what looks packed is somebody's bytes: unpacked they are a thousand times as many.
        """
        raw = event.value or b""
        return unpack(raw) if by_name(event.message.topic, self._pipeline.settings.prefix).packed else raw

    async def _send_letter(self, event: Any, letter: DeadLetter) -> None:
        # Not by the key: hashing a hostile one takes 0.7 s a megabyte, and all agents would wait.
        partition = letter.source.partition
        await self._pipeline.send(event, DeadLetter.TOPIC, letter.key, encode(letter), partition=partition)

    async def _on_error(self, event: Any, error: Exception) -> None:
        """Dead-letter an event whose handler failed unexpectedly."""
        detail = f"{type(error).__name__}: {error}"
        try:
            await self.dead_letter(event, position_of(event.message), "internal-error", detail)
        except Stale:
            metrics.STALE.labels(self._stage).inc()


async def nothing(stream: Any) -> None:
    """An agent that only subscribes."""
    async for _ in stream:
        raise AssertionError("the reader takes what this agent subscribes to")
