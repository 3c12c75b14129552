"""Agent `prior`: counts interactions in profiles, from which StatInit seeds skills (paper 2.3)."""

from collections.abc import AsyncIterable
from datetime import UTC, datetime
from typing import Any

from operators.steps.prior import Outcome, Prior, State
from schemas import Interaction, Position, compound_key
from streams.worker.agents.evolve import Evolve
from streams.worker.deps import Deps
from streams.worker.items import remember
from streams.worker.runtime.dispatch import Batch, batches_of
from streams.worker.runtime.executor import KeyedExecutor, RecordDispatcher
from streams.worker.runtime.producer import Producer
from streams.worker.tables import Tables


def define(app: Any, tables: Tables, producer: Producer, deps: Deps, evolve: Evolve) -> None:
    """Define the agent; `evolve` writes the skills that have begun."""
    step = Prior(deps.graph)

    async def on_interaction(event: Any, interaction: Interaction, position: Position) -> str:
        key = compound_key(interaction.user_id, interaction.domain)
        item = deps.facts_of(interaction.domain, interaction.item)
        # The receipt is read under both locks: an erasure removes memory and profile in another agent.
        async with tables.memories.lock(key), tables.profiles.lock(key):
            state = State(
                tables.profiles.read(key),
                tables.memories.read(key),
                tables.receipt(interaction.user_id),
            )
            effects = step.step(state, interaction, item, position, datetime.now(UTC))
            await remember(tables, producer, event, effects.remembered)
            if effects.profile is not None:
                await tables.profiles.write(event, key, effects.profile)
        # Outside of the locks: an erasure takes them while it holds the user's lock.
        if effects.outcome is not Outcome.FORGOTTEN:
            await evolve.visit(event, interaction, item, position)
        return effects.outcome.value

    executor = KeyedExecutor(
        RecordDispatcher(app, tables, producer, deps.settings, "prior", on_interaction, Interaction)
    )

    @app.agent(batches_of(app, Interaction), name="prior")
    async def prior(batches: AsyncIterable[Batch]) -> None:
        """Count interactions in profiles, from which StatInit seeds skills."""
        async for batch in batches:
            executor.submit(batch)
