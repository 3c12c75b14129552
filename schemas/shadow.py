"""A shadow arm's records: the skill that it keeps beside the live one, and how each ranked what the user chose."""

from typing import Annotated, ClassVar

from pydantic import Field

from .base import Event, Model
from .diffs import PolicySkill
from .fields import DomainField, Identifier, UserIdField

Rank = Annotated[int, Field(ge=1)]


class ShadowSkill(Model):
    """What a shadow arm has learned of one user in one domain; only the arm reads it.

    `arm` and `knobs` identify the arm and its settings: a different arm starts again from the live skill.
    """

    TOPIC: ClassVar[str] = "shadow-skills"

    user_id: UserIdField
    domain: DomainField
    arm: Identifier
    knobs: Identifier = Field(description="Fingerprint of what the arm changes.")
    live_version: int = Field(
        default=0,
        ge=0,
        description="The live skill's version at the last choice; a lower one now means that the skill was forgotten.",
    )
    skill: PolicySkill


class ShadowOutcome(Event):
    """The ranks that the live and the shadow skill would have given the chosen item, before either learned from it.

    Both rank the same candidates with the deterministic ranker. `event_id` follows from the arm and the contrast.
    """

    TOPIC: ClassVar[str] = "shadow-outcomes"

    user_id: UserIdField
    domain: DomainField
    arm: Identifier
    ranking_id: Identifier
    candidates: int = Field(ge=1)
    live_rank: Rank
    shadow_rank: Rank
    live_version: int = Field(ge=0, description="The live skill's version.")
    shadow_version: int = Field(ge=0, description="The shadow skill's version.")
    live_contrasts: int = Field(default=0, ge=0, description="How many choices the live skill had learned from.")
    shadow_contrasts: int = Field(
        default=0, ge=0, description="How many choices the shadow skill had learned from: fewer where it missed some."
    )
