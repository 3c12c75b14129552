"""Agent `retrieve`: what items tell of their takers, kept with the user for the next ranking (paper 2.2)."""

from typing import Any

from operators.propagate import hear
from schemas import ItemSignal, Neighbourhood, Position, compound_key
from streams.worker.intake import Intake
from streams.worker.pipeline import Pipeline


def attach(pipeline: Pipeline) -> None:
    """Add the agent to the worker."""

    async def on_signal(event: Any, signal: ItemSignal, position: Position) -> str:
        key = compound_key(signal.user_id, signal.domain)
        heard = hear(pipeline.read(pipeline.neighbourhoods, key, Neighbourhood), signal)
        if heard is None:
            return "repeated"
        await pipeline.write(pipeline.neighbourhoods, event, key, heard)
        return "heard"

    Intake(pipeline, "retrieve", {ItemSignal.TOPIC: on_signal}).attach()
