"""The user's side of the graph: writes memories, and sends touches to items (Algorithm 1, line 11)."""

import asyncio
from typing import Any

from operators.propagate import shared_out
from operators.steps.graph import Remembered
from schemas import Touch, compound_key, encode
from streams.kafka.clients import partition_of
from streams.worker.runtime.producer import Producer
from streams.worker.tables import Tables


async def remember(tables: Tables, producer: Producer, event: Any, remembered: Remembered | None) -> None:
    """Send the touch, then write the memory. For callers that hold the memory's lock."""
    if remembered is None:
        return
    if remembered.touch is not None:
        await send_touches(producer, event, remembered.touch)
    memory = remembered.memory
    await tables.memories.write(event, compound_key(memory.user_id, memory.domain), memory)


async def send_touches(producer: Producer, event: Any, touch: Touch) -> None:
    """Send a touch to its items: one record for each of their partitions."""
    parts = shared_out(touch, lambda item_id: partition_of(item_id, producer.partitions))
    await asyncio.gather(*(send_touch(producer, event, part, partition) for partition, part in parts.items()))


async def send_touch(producer: Producer, event: Any, touch: Touch, partition: int) -> None:
    """Send a touch to a partition."""
    await producer.send(event, Touch.TOPIC, touch.taker.encode(), encode(touch), partition)
