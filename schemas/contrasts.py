"""What a choice teaches: the chosen item against the unchosen ones of its ranking (paper 2.5), or an abstention."""

from typing import ClassVar

from pydantic import Field

from .base import Event, is_nothing
from .events import MAX_CANDIDATES
from .fields import DomainField, Identifier, Instruction, UserIdField
from .fit import MAX_FACETS, Facet
from .items import ItemFacts
from .weights import Features


class Contrast(Event):
    """The chosen item and the unchosen ones in reverse rank order, with the context of the ranking.

    `also` are further taken items. `unchosen` begins with the item ranked last (an easy contrast) and ends with the
    near-misses. `event_id` is derived from the ranking: building the contrast again gives the same id.
    """

    TOPIC: ClassVar[str] = "contrasts"
    user_id: UserIdField
    domain: DomainField
    ranking_id: Identifier
    instruction: Instruction = ""
    chosen: ItemFacts
    chosen_rank: int = Field(ge=1, description="The chosen item's rank in the list; 1 is the top.")
    also: tuple[ItemFacts, ...] = Field((), max_length=MAX_CANDIDATES, exclude_if=is_nothing)
    in_order: bool = Field(False, exclude_if=is_nothing, description="True if they are in the order of taking.")
    unchosen: tuple[ItemFacts, ...] = Field((), max_length=MAX_CANDIDATES)
    skill_version: int = Field(0, ge=0, description="The skill's version when the ranking was made.")
    arm: Identifier | None = Field(None, description="The policy arm of the ranking.")
    facets: tuple[Facet, ...] = Field((), max_length=MAX_FACETS)
    features: Features | None = Field(None, description="The candidates' features, in the ranking's order.")
    by_sager: bool = Field(False, exclude_if=is_nothing, description="Our ranker's order teaches no habit.")
    session_id: Identifier | None = Field(None, exclude_if=is_nothing)


class Abstention(Event):
    """A ranking of which the person took nothing: the list did not suit, which disfavours no item of it.

    `event_id` is derived from the ranking, as a contrast's is.
    """

    TOPIC: ClassVar[str] = "abstentions"
    user_id: UserIdField
    domain: DomainField
    ranking_id: Identifier
    instruction: Instruction = ""
    shown: tuple[ItemFacts, ...] = Field(min_length=1, max_length=MAX_CANDIDATES)
    skill_version: int = Field(0, ge=0, description="The skill's version when the ranking was made.")
    arm: Identifier | None = None
    session_id: Identifier | None = Field(None, exclude_if=is_nothing)
