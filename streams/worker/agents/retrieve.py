"""Agent `retrieve`: what items tell of their takers, kept with the user for the next ranking (paper 2.2)."""

from typing import Any

from pydantic_core import to_json

from operators.propagate import mark_of, neighbour_of
from operators.steps.retrieve import forget as forgotten_by
from operators.steps.retrieve import is_meant, step
from schemas import ItemSignal, Neighbourhood, Position, compound_key
from streams.kafka.clients import partition_of
from streams.worker.pipeline import Pipeline
from streams.worker.runtime.intake import Intake
from streams.worker.runtime.lookup import keys_that_begin, keys_whose


def attach(pipeline: Pipeline) -> None:
    """Add the agent to the worker."""

    async def forget(event: Any, signal: ItemSignal) -> str:
        """The user's own neighbourhood goes, and from those of others what they had a part in."""
        table = pipeline.neighbourhoods
        for key in await keys_that_begin(table, signal.user_id):
            held = pipeline.read(table, key, Neighbourhood)
            if held is not None and is_meant(held, signal) and is_here(held, event):
                await pipeline.delete(table, event, key)
        secret = pipeline.graph_limits.secret
        theirs, mark = to_json(neighbour_of(signal.user_id, secret)), f'"{mark_of(secret)}'.encode()
        for key in await keys_whose(table, lambda raw: theirs in raw or raw.count(b'"user:') != raw.count(mark)):
            held = pipeline.read(table, key, Neighbourhood)
            without = None if held is None else forgotten_by(held, signal, secret)
            if without is not None and is_here(without, event):
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
        effects = step(pipeline.read(pipeline.neighbourhoods, key, Neighbourhood), signal)
        if effects.neighbourhood is not None:
            await pipeline.write(pipeline.neighbourhoods, event, key, effects.neighbourhood)
        return effects.outcome.value

    Intake(pipeline, "retrieve", {ItemSignal.TOPIC: on_signal}).attach()
