"""The values of the two tables that are not skills: a user's statistics and their open rankings.

Both are bounded (invariant 4) and know what they have applied (invariant 2).
"""

from typing import Annotated, ClassVar

from pydantic import Field

from schemas.base import Model
from schemas.events import MAX_CANDIDATES, Selection
from schemas.facets import MAX_FACETS, Facet
from schemas.fields import DomainField, Identifier, Instruction, ItemIdField, UserIdField
from schemas.items import Fact, ItemFacts
from schemas.skills import Position

Count = Annotated[int, Field(ge=0)]


class Profile(Model):
    """Incremental counts over one user's interactions in one domain, for StatInit (paper 2.3, App. D).

    `recent` holds the facts of the newest interactions, newest last; what falls out of it is added to `older`,
    a count per dimension and value, capped per dimension, and to `older_known`, how many of those interactions
    had any value of the dimension.
    """

    TOPIC: ClassVar[str] = "profiles"

    user_id: UserIdField
    domain: DomainField
    interactions: Count = 0
    recent: tuple[tuple[Fact, ...], ...] = Field(default=(), max_length=15)
    older: dict[str, dict[str, Count]] = Field(default_factory=dict)
    older_known: dict[str, Count] = Field(default_factory=dict)
    recent_ids: tuple[Identifier, ...] = Field(default=(), max_length=32)
    applied: tuple[Position, ...] = Field(default=(), max_length=4)


class OpenRanking(Model):
    """A ranking that waits for its selection, reduced to what a contrast needs."""

    ranking_id: Identifier
    domain: DomainField
    instruction: Instruction = ""
    candidates: tuple[ItemFacts, ...] = Field(max_length=MAX_CANDIDATES)
    skill_version: int = Field(default=0, ge=0)
    arm: Identifier | None = None
    facets: tuple[Facet, ...] = Field(default=(), max_length=MAX_FACETS)
    size_bytes: Count = Field(default=0, description="Its size in the ring; what all of them may take is bounded.")


class WaitingSelection(Model):
    """A selection that came before its ranking, and where it stands in its topic."""

    selection: Selection
    source: Position


class Answered(Model):
    """A ranking whose selection has been made into a contrast."""

    ranking_id: Identifier
    item_id: ItemIdField


class OpenRankings(Model):
    """A slot of a user's rings: rankings without a selection, selections without a ranking, and what is settled.

    A ranking and its selection meet in the slot that the ranking's id hashes to. With a handful of slots a write
    carries a handful of rankings, however many a user has open.
    """

    TOPIC: ClassVar[str] = "open-rankings"

    user_id: UserIdField
    slot: int = Field(ge=0, lt=64)
    rankings: tuple[OpenRanking, ...] = Field(default=(), max_length=64)
    waiting: tuple[WaitingSelection, ...] = Field(default=(), max_length=64)
    answered: tuple[Answered, ...] = Field(default=(), max_length=128)
    applied: tuple[Position, ...] = Field(default=(), max_length=4)
