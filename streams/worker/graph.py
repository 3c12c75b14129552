"""The user's side of the graph in a worker: choices into memory, and on to the items (Algorithm 1 line 11)."""

import asyncio
from datetime import UTC, datetime
from typing import Any

from operators.applied import is_applied
from operators.forget import what_remains
from operators.propagate import touches, with_taken
from schemas import ItemFacts, Memory, Position, Touch, compound_key, encode
from streams.kafka.clients import partition_of
from streams.worker.pipeline import Pipeline


async def propagate(
    pipeline: Pipeline,
    event: Any,
    user_id: str,
    domain: str,
    item: ItemFacts,
    at: datetime,
    event_id: str,
    position: Position,
) -> None:
    """Put a choice into its user's memory and touch the items. Nothing where the configuration says so."""
    if not pipeline.settings.propagate:
        return
    # A clock that runs ahead must not hold the newest place for years.
    at = min(at, position.moment, datetime.now(UTC))
    key = compound_key(user_id, domain)
    # Interactions and contrasts of one user are handled by two agents.
    async with pipeline.lock("memories", key):
        known = what_remains(item, user_id, domain, pipeline.receipt(user_id), at, position.moment)
        if known is None:
            return
        memory = pipeline.read(pipeline.memories, key, Memory)
        if memory is not None and is_applied(memory.applied, position):
            return
        remembered = with_taken(memory, user_id, domain, known, at, event_id, position)
        if memory is None or remembered.version > memory.version:
            # Before the write: they are states, so that after a crash between the two they are only told again.
            told = touches(remembered, known.item_id, pipeline.graph_limits)
            await asyncio.gather(*(tell_item(pipeline, event, touch) for touch in told))
        await pipeline.write(pipeline.memories, event, key, remembered)


async def tell_item(pipeline: Pipeline, event: Any, touch: Touch) -> None:
    """Send a touch to its item's partition."""
    key = compound_key(touch.item_id, touch.domain)
    partition = partition_of(touch.item_id, pipeline.settings.partitions)
    await pipeline.send(event, Touch.TOPIC, key, encode(touch), partition)
