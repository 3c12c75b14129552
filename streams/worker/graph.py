"""The user's side of the graph in a worker: memories written, and items told (Algorithm 1 line 11)."""

import asyncio
from typing import Any

from operators.steps.remember import Remembered
from schemas import Touch, compound_key, encode
from streams.kafka.clients import partition_of
from streams.worker.pipeline import Pipeline


async def remember(pipeline: Pipeline, event: Any, remembered: Remembered | None) -> None:
    """Tell the items, then write the memory. For callers that hold the lock on the user's memory."""
    if remembered is None:
        return
    await asyncio.gather(*(tell_item(pipeline, event, touch) for touch in remembered.touches))
    memory = remembered.memory
    await pipeline.write(pipeline.memories, event, compound_key(memory.user_id, memory.domain), memory)


async def tell_item(pipeline: Pipeline, event: Any, touch: Touch) -> None:
    """Send a touch to its item's partition."""
    key = compound_key(touch.item_id, touch.domain)
    partition = partition_of(touch.item_id, pipeline.settings.partitions)
    await pipeline.send(event, Touch.TOPIC, key, encode(touch), partition)
