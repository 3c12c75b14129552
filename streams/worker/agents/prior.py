"""Agent `prior`: counts interactions, from which StatInit seeds skills (paper 2.3)."""

from datetime import UTC, datetime
from typing import Any

from operators.steps.prior import PriorOutcome, PriorState, PriorStep
from schemas import Interaction, Position, compound_key
from streams.worker.agents.evolve import EvolveAgent
from streams.worker.deps import Worker
from streams.worker.items import remember
from streams.worker.runtime.dispatch import KeyedExecutor, RecordDispatcher


def define(worker: Worker, evolve: EvolveAgent) -> None:
    """Define the agent; `evolve` writes the skills that have begun."""
    _, tables, producer, deps = worker
    step = PriorStep(deps.graph)

    async def on_interaction(event: Any, interaction: Interaction, position: Position) -> str:
        key = compound_key(interaction.user_id, interaction.domain)
        item = deps.facts_of(interaction.domain, interaction.item)
        # Read the receipt under both locks: an erasure in another agent removes memory and profile.
        async with tables.memories.lock(key), tables.profiles.lock(key):
            state = PriorState(
                tables.profiles.read(key), tables.memories.read(key), tables.receipt(interaction.user_id)
            )
            effects = step.step(state, interaction, item, position, datetime.now(UTC))
            await remember(tables, producer, event, effects.remembered)
            if effects.profile is not None:
                await tables.profiles.write(event, key, effects.profile)
        # Outside the locks: an erasure takes them while it holds the user's lock, so this could deadlock.
        if effects.outcome is not PriorOutcome.FORGOTTEN:
            await evolve.visit(event, interaction, position)
        return effects.outcome.value

    records = RecordDispatcher(worker, "prior", {Interaction: on_interaction})
    records.define_agent(KeyedExecutor(records).submit)
