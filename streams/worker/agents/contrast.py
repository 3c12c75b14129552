"""Agent `contrast`: joins rankings and selections in any order (paper 2.5).

It is two Faust agents over one table, so that one topic can wait while the other catches up.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any

from operators.contrast import (
    Arm,
    ContrastEffects,
    join_ranking,
    join_selection,
    ndcg_gain,
    slot_of,
    with_usual,
)
from operators.seals import without_unproven_fields
from schemas import Abstention, Contrast, OpenRankings, Position, Ranking, Receipt, Selection, compound_key, encode
from streams.worker import metrics
from streams.worker.deps import Worker
from streams.worker.runtime.batches import RecordBatch
from streams.worker.runtime.dispatch import KeyedExecutor, RecordDispatcher
from streams.worker.runtime.membership import Interrupted

STAGE = "contrast"
CATCH_UP_SECONDS, POLL_SECONDS = 30.0, 0.02


def define(worker: Worker) -> None:
    """Define both agents."""
    contrasts = ContrastAgent(worker)
    for records, name in ((contrasts.rankings, "contrast-rankings"), (contrasts.selections, "contrast-selections")):
        records.define_agent(_submit_by_partition(records), name)


def _submit_by_partition(records: RecordDispatcher) -> Callable[[RecordBatch], None]:
    # Events that wait for the other topic of their partition cannot block other partitions.
    executors = defaultdict[int, KeyedExecutor](partial(KeyedExecutor, records))
    return lambda batch: executors[batch[0].partition].submit(batch)


class ContrastAgent:
    """Joins rankings and selections."""

    def __init__(self, worker: Worker) -> None:
        app, self._tables, self._producer, self._deps = worker
        self._reader = app.reader
        self.rankings = RecordDispatcher(worker, STAGE, {Ranking: self._on_ranking})
        self.selections = RecordDispatcher(worker, STAGE, {Selection: self._on_selection})

    async def _on_ranking(self, event: Any, ranking: Ranking, position: Position) -> str:
        ranking = without_unproven_fields(ranking, self._deps.ranking_key)
        skill = self._tables.skills.read(compound_key(ranking.user_id, ranking.domain))
        parse, limits = partial(self._deps.facts_for, skill, ranking.domain), self._deps.ring_limits
        wish = self._deps.privacy.opt_out(ranking.instruction)
        instruction = self._deps.redact_instruction(ranking.instruction, ranking.domain)
        injected = self._deps.privacy.injected(ranking.injected, ranking.domain)
        redacted = ranking.model_copy(update={"instruction": instruction, "injected": injected})

        def take(rings: OpenRankings | None, receipt: Receipt | None) -> ContrastEffects:
            return join_ranking(rings, redacted, parse, position, limits, wish, receipt)

        return await self._take(event, ranking, position, take, Selection.TOPIC)

    async def _on_selection(self, event: Any, selection: Selection, position: Position) -> str:
        def take(rings: OpenRankings | None, receipt: Receipt | None) -> ContrastEffects:
            return join_selection(rings, selection, position, self._deps.ring_limits, receipt)

        return await self._take(event, selection, position, take, Ranking.TOPIC)

    async def _take(
        self,
        event: Any,
        record: Ranking | Selection,
        position: Position,
        take: Callable[[OpenRankings | None, Receipt | None], ContrastEffects],
        other: str,
    ) -> str:
        key = compound_key(record.user_id, slot_of(record.ranking_id))
        lock = self._tables.open_rankings.lock(key)
        give_up = time.monotonic() + CATCH_UP_SECONDS
        while True:
            async with lock:
                step = take(self._tables.open_rankings.read(key), self._tables.receipt(record.user_id))
                if not step.is_new:
                    return step.outcome.value
                # Not for later records: with steady traffic there are always more, and both topics would wait.
                late = step.overflows and self._is_behind(other, position)
                if not late or time.monotonic() > give_up:
                    return await self._emit(event, key, step)
            if not self._reader.flows:  # a rebalance waits for this event, and the other topic for the rebalance
                raise Interrupted
            await asyncio.sleep(POLL_SECONDS)

    def _is_behind(self, base: str, position: Position) -> bool:
        topic = self._deps.settings.topic(base)
        return self._reader.has_earlier(topic, position.partition, position.timestamp_ms)

    async def _emit(self, event: Any, key: bytes, step: ContrastEffects) -> str:
        # Send before the rings are written: a crash in between sends the same record again, and it is recognized.
        answer = step.abstention if step.contrast is None else step.contrast
        if answer is not None:
            answer = with_usual(answer, self._deps.learned_weights.get(answer.domain).weights.usual)
            await self._producer.send(event, answer.TOPIC, step.state.user_id.encode(), encode(answer))
        for waiting, outcome in step.refused:
            taken = ", ".join(waiting.selection.taken) or "none"
            detail = f"ranking {waiting.selection.ranking_id}, item {taken}"
            original = None if waiting.source == event.position else encode(waiting.selection)
            await self.selections.dead_letter(event, waiting.source, outcome.value, detail, original)
        await self._tables.open_rankings.write(event, key, step.state)
        metrics.EXPIRED.inc(step.expired)
        if answer is not None:
            count(answer)
        return step.outcome.value


def count(answer: Contrast | Abstention) -> None:
    """Count Hit@k and NDCG@k of the first taken item."""
    domain = metrics.DOMAINS[answer.domain]
    arm = metrics.ARMS[answer.arm or Arm.NO_SKILL.value]
    if isinstance(answer, Abstention):
        metrics.labelled(metrics.ABSTENTIONS, domain, arm).inc()
        return
    metrics.labelled(metrics.SELECTION_RANK, domain, arm).observe(answer.chosen_rank)
    for at in metrics.NDCG_DEPTHS:
        metrics.labelled(metrics.NDCG, domain, arm, at).inc(ndcg_gain(answer.chosen_rank, at))
