"""The user's side of the graph: writes memories, and sends touches to items (Algorithm 1, line 11)."""

import asyncio
from typing import Any

from operators.propagate import shared_out
from operators.steps.graph import Remembered
from schemas import Touch, compound_key, encode
from streams.kafka.clients import partition_of
from streams.worker.pipeline import Pipeline


async def remember(pipeline: Pipeline, event: Any, remembered: Remembered | None) -> None:
    """Send the touch, then write the memory. For callers that hold the memory's lock."""
    if remembered is None:
        return
    if remembered.touch is not None:
        await send_touches(pipeline, event, remembered.touch)
    memory = remembered.memory
    await pipeline.write(pipeline.memories, event, compound_key(memory.user_id, memory.domain), memory)


async def send_touches(pipeline: Pipeline, event: Any, touch: Touch) -> None:
    """Send a touch to its items: one record for each of their partitions."""
    parts = shared_out(touch, lambda item_id: partition_of(item_id, pipeline.settings.partitions))
    await asyncio.gather(*(send_touch(pipeline, event, part, partition) for partition, part in parts.items()))


async def send_touch(pipeline: Pipeline, event: Any, touch: Touch, partition: int) -> None:
    """Send a touch to a partition."""
    await pipeline.send(event, Touch.TOPIC, touch.taker.encode(), encode(touch), partition)
