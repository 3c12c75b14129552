"""Sends what choices tell of the weights: once for each choice that a skill has learned from, without the person."""

import time
from functools import partial
from typing import Any

from operators.weigh import outcome_of
from schemas import Contrast, Outcome, Position, encode
from streams.kafka.clients import partition_of
from streams.worker.pipeline import Pipeline
from streams.worker.runtime.sent import Sent


class Outcomes:
    """The sender in one worker.

    Args:
        pipeline: the worker's parts.
        sent: knows what is on the topic.
    """

    def __init__(self, pipeline: Pipeline, sent: Sent) -> None:
        self._pipeline, self._sent = pipeline, sent

    async def tell(self, event: Any, contrast: Contrast, position: Position, nth: int) -> None:
        """Send what a choice says about weights, if it says anything; the skill that learned from it is written.

        Args:
            event: what led to it.
            contrast: the choice, filtered.
            position: where it stands.
            nth: how many choices the person has made, this one included.
        """
        outcome = self._made(contrast, nth)
        if outcome is not None:
            await self._send(event, outcome, contrast, position)

    async def complete(self, event: Any, contrast: Contrast, position: Position, nth: int) -> None:
        """Send what a worker that died after writing the skill may not have sent, and is not there already."""
        outcome = self._made(contrast, nth)
        if outcome is None:
            return
        for anew in (False, True):
            # What was read may be from before this very process sent it: nothing is sent before that is read anew.
            is_there = partial(self._is_there, outcome, contrast, position, anew=anew)
            if await self._pipeline.retry(event, "reading the end of outcomes", is_there):
                return
        await self._send(event, outcome, contrast, position)

    def _made(self, contrast: Contrast, nth: int) -> Outcome | None:
        used = self._pipeline.learned_weights.of(contrast.domain)
        return outcome_of(contrast, used.weights, nth, self._pipeline.graph_limits.secret, used.version)

    async def _send(self, event: Any, outcome: Outcome, contrast: Contrast, position: Position) -> None:
        is_there = partial(self._is_there, outcome, contrast, position, anew=True)
        await self._pipeline.send(event, Outcome.TOPIC, outcome.domain.encode(), encode(outcome), None, is_there)

    async def _is_there(self, outcome: Outcome, contrast: Contrast, position: Position, *, anew: bool = False) -> bool:
        # The same choice may stand twice on its topic; it was told of after the person chose, whichever was first.
        from_ms = min(position.timestamp_ms, int(contrast.occurred_at.timestamp() * 1_000))
        partition = partition_of(outcome.domain, self._pipeline.settings.partitions)
        return await self._sent.has(outcome, partition, from_ms, time.monotonic() if anew else None)
