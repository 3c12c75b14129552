"""What a choice teaches: the chosen item against the unchosen ones of its ranking (paper 2.5)."""

from typing import ClassVar

from pydantic import Field

from .base import Event, is_nothing
from .events import MAX_CANDIDATES
from .facets import MAX_FACETS, Facet
from .fields import DomainField, Identifier, Instruction, UserIdField
from .items import ItemFacts
from .weights import Features


class Contrast(Event):
    """The chosen item and the unchosen ones in reverse rank order, with the context of the ranking.

    `unchosen` begins with the item ranked last (an easy contrast) and ends with the near-misses.
    `event_id` is derived from the ranking: building the contrast again gives the same id.
    """

    TOPIC: ClassVar[str] = "contrasts"

    user_id: UserIdField
    domain: DomainField
    ranking_id: Identifier
    instruction: Instruction = ""
    chosen: ItemFacts
    chosen_rank: int = Field(ge=1, description="The rank at which the chosen item was shown; 1 is the top.")
    also: tuple[ItemFacts, ...] = Field(
        default=(), max_length=MAX_CANDIDATES, exclude_if=is_nothing, description="What else was taken of this list."
    )
    in_order: bool = Field(
        default=False, exclude_if=is_nothing, description="Whether `chosen` and `also` are as they were taken."
    )
    unchosen: tuple[ItemFacts, ...] = Field(default=(), max_length=MAX_CANDIDATES)
    skill_version: int = Field(default=0, ge=0, description="The skill's version when the ranking was made.")
    arm: Identifier | None = Field(default=None, description="The policy arm that the ranking belongs to.")
    facets: tuple[Facet, ...] = Field(
        default=(), max_length=MAX_FACETS, description="The collaborative context of the ranking."
    )
    features: Features | None = Field(
        default=None, description="What spoke for each candidate in the ranking, in its order; only of ours."
    )
    by_sager: bool = Field(
        default=False,
        exclude_if=is_nothing,
        description="True if our ranker made the order: its places teach no habit.",
    )
    session_id: Identifier | None = Field(default=None, exclude_if=is_nothing)
