"""Agent `weigh`: learns ranking weights from outcomes; their only writer (paper 2.4).

Outcomes are folded in memory, in partition order. Weights are written at intervals, as a write per choice would cost as
much as the choice. An outcome is acknowledged when weights with it are on the log; the others come again after a crash,
and the fence in the weights rejects repeats.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from operators.numbers import start_weights
from operators.seals import seal_record
from operators.weights import apply_command, apply_outcome, initial_weights, rank_weights
from schemas import Mix, Position, RankingOutcome, WeightCommand, Weights
from streams.settings import Settings
from streams.worker import metrics
from streams.worker.deps import Worker
from streams.worker.reasoning.domains import verified_weights
from streams.worker.runtime.batches import BatchReader
from streams.worker.runtime.dispatch import KeyedExecutor, RecordDispatcher
from streams.worker.runtime.membership import PartitionRevoked
from streams.worker.tables import StateTable

# Limit of outcomes that wait for a write; half of them start one.
MAX_WAITING = 512


def define(worker: Worker) -> None:
    """Define the agent."""
    records = WeighAgent(worker).records
    records.define_agent(KeyedExecutor(records, MAX_WAITING).submit)


class WeighAgent:
    """One learner per domain of this worker's partitions."""

    def __init__(self, worker: Worker) -> None:
        self._reader, self._table, self._settings = worker.app.reader, worker.tables.weights, worker.deps.settings
        self._learners: dict[str, DomainLearner] = {}
        self.records = RecordDispatcher(
            worker, "weigh", {RankingOutcome: self._on_outcome, WeightCommand: self._on_command}, by_owner=False
        )

    async def _on_outcome(self, event: Any, outcome: RankingOutcome, position: Position) -> str:
        starts = start_weights(self._settings.numbers.get(outcome.domain, {}))
        was_frozen, is_new = await self._apply(
            event, outcome, lambda now: apply_outcome(now, outcome, position, starts)
        )
        return "repeated" if not is_new else "frozen" if was_frozen else "learned"

    async def _on_command(self, event: Any, command: WeightCommand, position: Position) -> str:
        _, is_new = await self._apply(event, command, lambda now: apply_command(now, command, position))
        return command.action.value if is_new else "repeated"

    async def _apply(
        self, event: Any, record: RankingOutcome | WeightCommand, step: Callable[[Weights], Weights]
    ) -> tuple[bool, bool]:
        """Apply a record, and wait until it is on the log."""
        learner = self._learners.get(record.domain)
        if learner is None or learner.generation != event.generation_id or learner.is_closed:
            learner = self._learners[record.domain] = DomainLearner(
                self._reader, self._table, self._settings, event, self._read(record)
            )
        return await learner.apply(event, step)

    def _read(self, record: RankingOutcome | WeightCommand) -> Weights:
        raw = self._table.table.get(record.domain.encode())
        stored = None if raw is None else verified_weights(raw, self._settings.chain_key_bytes)
        return (
            stored if stored is not None and stored.domain == record.domain else initial_weights(record.domain, record)
        )


class DomainLearner:
    """The weights of one domain in one consumer generation."""

    def __init__(
        self, reader: BatchReader, table: StateTable[Weights], settings: Settings, event: Any, weights: Weights
    ) -> None:
        self.generation: int = event.generation_id
        # True after a failed write: the agent continues with the stored weights.
        self.is_closed = False
        self._reader, self._table, self._settings = reader, table, settings
        self._weights = self._written = weights
        self._waiting = 0
        self._writing: asyncio.Task[None] | None = None
        self._is_stale = False

    async def apply(self, event: Any, step: Callable[[Weights], Weights]) -> tuple[bool, bool]:
        """Apply and log an event; return (weights were frozen, event is new).

        Raises PartitionRevoked if the partition has moved; its new owner gets the event again.
        """
        if self._is_stale:
            # For the rest of the generation: later weights would skip the events that were not written.
            raise PartitionRevoked
        before = self._weights
        self._weights = step(before)
        is_new = self._weights is not before
        # A repeat waits too, as the first one may not be on the log yet.
        if self._weights is not self._written:
            self._waiting += 1
            if self._writing is None or self._waiting == 1:
                # Created here, so that the task inherits Faust's current event, which has the partition.
                self._writing = asyncio.create_task(self._write_after(self._writing, event))
            # Shielded, as others await the same write. An error makes them come again, or dead-letters them.
            await asyncio.shield(self._writing)
        return before.frozen, is_new

    async def _write_after(self, previous: "asyncio.Task[None] | None", event: Any) -> None:
        if previous is not None:
            await previous
        await self._reader.pause(self._settings.weights_flush_seconds, lambda: self._waiting >= MAX_WAITING // 2)
        self._waiting = 0
        weights = self._weights
        try:
            if weights is not self._written:
                record = seal_record(weights, self._settings.chain_key_bytes)
                await self._table.write(event, weights.domain.encode(), record)
        except Exception as error:
            self._is_stale = isinstance(error, PartitionRevoked)
            self.is_closed = not self._is_stale
            raise
        self._written = weights
        count(weights)


def count(weights: Weights) -> None:
    """Export a domain's weights."""
    used, domain = rank_weights(weights), metrics.DOMAINS[weights.domain]
    for part in Mix:
        metrics.labelled(metrics.WEIGHT, domain, part.value).set(getattr(used, part.value))
