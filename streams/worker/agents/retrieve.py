"""Agent `retrieve`: what items tell of their takers, kept with the user for the next ranking (paper 2.2)."""

from typing import Any

from pydantic_core import to_json

from operators.propagate import hear, neighbour_of, without_neighbour
from schemas import ItemSignal, Neighbourhood, Position, compound_key
from streams.kafka.clients import partition_of
from streams.worker.pipeline import Pipeline
from streams.worker.runtime.intake import Intake
from streams.worker.runtime.lookup import keys_that_begin, keys_that_hold


def attach(pipeline: Pipeline) -> None:
    """Add the agent to the worker."""

    async def forget(event: Any, signal: ItemSignal) -> str:
        """The user's own neighbourhood goes, and from those of others what they had a part in."""
        table = pipeline.neighbourhoods
        for key in await keys_that_begin(table, signal.user_id):
            held = pipeline.read(table, key, Neighbourhood)
            if held is not None and (signal.every_domain or held.domain == signal.domain) and is_here(held, event):
                await pipeline.delete(table, event, key)
        neighbour = neighbour_of(signal.user_id)
        for key in await keys_that_hold(table, to_json(neighbour)):
            held = pipeline.read(table, key, Neighbourhood)
            if held is None or not (signal.every_domain or held.domain == signal.domain) or not is_here(held, event):
                continue
            without = without_neighbour(held, neighbour)
            if without is not None:
                await pipeline.write(table, event, key, without)
        await table.scrub()
        return "forgotten"

    def is_here(held: Neighbourhood, event: Any) -> bool:
        """Whether it belongs to the event's partition: those of others are written on their own."""
        return bool(partition_of(held.user_id, pipeline.settings.partitions) == event.message.partition)

    async def on_signal(event: Any, signal: ItemSignal, position: Position) -> str:
        if signal.forgotten:
            return await forget(event, signal)
        key = compound_key(signal.user_id, signal.domain)
        heard = hear(pipeline.read(pipeline.neighbourhoods, key, Neighbourhood), signal)
        if heard is None:
            return "repeated"
        await pipeline.write(pipeline.neighbourhoods, event, key, heard)
        return "heard"

    Intake(pipeline, "retrieve", {ItemSignal.TOPIC: on_signal}).attach()
