"""Agent `propagate`: an item hears who took it, and tells its takers what they have in common (paper 2.2)."""

import asyncio
from datetime import UTC, datetime
from typing import Any

from pydantic_core import to_json

from operators.propagate import forgotten_signal
from operators.steps.propagate import forget as forgotten_by
from operators.steps.propagate import step
from schemas import ItemMemory, ItemSignal, Position, Touch, compound_key, encode
from streams.kafka.clients import partition_of
from streams.worker.pipeline import Pipeline
from streams.worker.runtime.intake import Intake
from streams.worker.runtime.lookup import keys_that_hold


def attach(pipeline: Pipeline) -> None:
    """Add the agent to the worker."""
    settings = pipeline.settings

    async def forget(event: Any, touch: Touch) -> str:
        """All items of this worker forget one taker, and the neighbourhoods are told to forget them too."""
        name = to_json(touch.taker.user_id)
        for key in await keys_that_hold(pipeline.item_memories, name):
            held = pipeline.read(pipeline.item_memories, key, ItemMemory)
            without = None if held is None else forgotten_by(held, touch)
            # Other partitions' items hear of it on their own partition, and there it is right to write them.
            if without is not None and partition_of(without.item_id, settings.partitions) == event.message.partition:
                await pipeline.write(pipeline.item_memories, event, key, without)
        await pipeline.item_memories.scrub()
        told = encode(forgotten_signal(touch))
        sends = (pipeline.send(event, ItemSignal.TOPIC, None, told, each) for each in range(settings.partitions))
        await asyncio.gather(*sends)
        return "forgotten"

    async def on_item_touched(event: Any, touch: Touch, position: Position) -> str:
        if touch.forgotten:
            return await forget(event, touch)
        key = compound_key(touch.item_id, touch.domain)
        held = pipeline.read(pipeline.item_memories, key, ItemMemory)
        effects = step(held, touch, pipeline.graph_limits, datetime.now(UTC))
        # Before the write: a touch that is known already tells nothing, and after a crash it must tell again.
        sends = (pipeline.send(event, ItemSignal.TOPIC, s.user_id.encode(), encode(s)) for s in effects.signals)
        await asyncio.gather(*sends)
        if effects.item is not None:
            await pipeline.write(pipeline.item_memories, event, key, effects.item)
        return effects.outcome.value

    Intake(pipeline, "propagate", {Touch.TOPIC: on_item_touched}).attach()
