"""Agent `propagate`: an item hears who took it, and tells its takers what they have in common (paper 2.2)."""

import asyncio
from datetime import UTC, datetime
from typing import Any

from operators.propagate import on_touch
from schemas import ItemMemory, ItemSignal, Position, Touch, compound_key, encode
from streams.worker.intake import Intake
from streams.worker.pipeline import Pipeline


def attach(pipeline: Pipeline) -> None:
    """Add the agent to the worker."""

    async def on_item_touched(event: Any, touch: Touch, position: Position) -> str:
        key = compound_key(touch.item_id, touch.domain)
        held = pipeline.read(pipeline.item_memories, key, ItemMemory)
        told = on_touch(held, touch, pipeline.graph_limits, datetime.now(UTC))
        if told is None:
            return "repeated"
        # Before the write: a touch that is known already tells nothing, and after a crash it must tell again.
        sends = (pipeline.send(event, ItemSignal.TOPIC, s.user_id.encode(), encode(s)) for s in told.signals)
        await asyncio.gather(*sends)
        await pipeline.write(pipeline.item_memories, event, key, told.item)
        return "told" if told.signals else "gathered"

    Intake(pipeline, "propagate", {Touch.TOPIC: on_item_touched}).attach()
