"""Agent `prior`: counts interactions in profiles, from which StatInit seeds skills (paper 2.3)."""

from datetime import UTC, datetime
from typing import Any

from operators.steps.prior import Outcome, Prior, State
from schemas import Interaction, Memory, Position, Profile, compound_key
from streams.worker.agents.evolve import Evolve
from streams.worker.graph import remember
from streams.worker.pipeline import Pipeline
from streams.worker.runtime.intake import Intake


def attach(pipeline: Pipeline, evolve: Evolve) -> None:
    """Add the agent to the worker; `evolve` writes the skills that have begun."""
    prior = Prior(pipeline.graph)

    async def on_interaction(event: Any, interaction: Interaction, position: Position) -> str:
        key = compound_key(interaction.user_id, interaction.domain)
        item = pipeline.facts_of(interaction.domain, interaction.item)
        # The receipt is read under both locks: an erasure removes memory and profile in another agent.
        async with pipeline.lock("memories", key), pipeline.lock("profiles", key):
            state = State(
                pipeline.read(pipeline.profiles, key, Profile),
                pipeline.read(pipeline.memories, key, Memory),
                pipeline.receipt(interaction.user_id),
            )
            effects = prior.step(state, interaction, item, position, datetime.now(UTC))
            await remember(pipeline, event, effects.remembered)
            if effects.profile is not None:
                await pipeline.write(pipeline.profiles, event, key, effects.profile)
        # Outside of the locks: an erasure takes them while it holds the user's lock.
        if effects.outcome is not Outcome.FORGOTTEN:
            await evolve.visit(event, interaction, item, position)
        return effects.outcome.value

    Intake(pipeline, "prior", {Interaction.TOPIC: on_interaction}).attach()
