"""Agent `prior`: interactions into the profiles table, from which StatInit seeds skills (paper 2.3)."""

from typing import Any

from operators.applied import is_applied
from operators.forget import what_remains
from operators.statinit import observe
from schemas import Interaction, Position, Profile, compound_key
from streams.worker.graph import propagate
from streams.worker.pipeline import Pipeline
from streams.worker.runtime.intake import Intake


def attach(pipeline: Pipeline) -> None:
    """Add the agent to the worker."""

    async def on_interaction(event: Any, interaction: Interaction, position: Position) -> str:
        key = compound_key(interaction.user_id, interaction.domain)
        moments = (interaction.occurred_at, position.moment)
        item = pipeline.facts_of(interaction.domain, interaction.item)
        await propagate(
            pipeline,
            event,
            interaction.user_id,
            interaction.domain,
            item,
            interaction.occurred_at,
            interaction.event_id,
            position,
        )
        # Under a lock, and asked there: forgetting takes the profile away behind this agent's back.
        async with pipeline.lock("profiles", key):
            receipt = pipeline.receipt(interaction.user_id)
            known = what_remains(item, interaction.user_id, interaction.domain, receipt, *moments)
            if known is None:
                return "forgotten"
            profile = pipeline.read(pipeline.profiles, key, Profile)
            if profile is not None and is_applied(profile.applied, position):
                return "repeated"
            observed = observe(profile, interaction, known.facts, position, pipeline.prior_limits)
            await pipeline.write(pipeline.profiles, event, key, observed)
        return "counted"

    intake = Intake(pipeline, "prior", {Interaction.TOPIC: on_interaction})
    intake.attach()
