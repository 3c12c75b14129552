"""The tables of a user's statistics and open rankings.

Both are bounded (invariant 4) and record the events that they have applied (invariant 2).
"""

from enum import StrEnum
from typing import ClassVar

from pydantic import Field, NonNegativeInt

from .base import DomainField, Identifier, Instruction, ItemIdField, Model, Position, UserIdField, is_empty
from .events import MAX_CANDIDATES, Selection
from .fit import MAX_FACETS, Facet
from .items import Fact, ItemFacts
from .weights import Features


class Profile(Model):
    """Incremental counts over one user's interactions in one domain, for StatInit (paper 2.3, App. D).

    `recent` holds the facts of the newest interactions, newest last; what drops out of it is added to `older`,
    a count per dimension and value, capped per dimension, and to `older_known`, how many of those interactions
    had any value of the dimension.
    """

    TOPIC: ClassVar[str] = "profiles"
    user_id: UserIdField
    domain: DomainField
    interactions: NonNegativeInt = 0
    recent: tuple[tuple[Fact, ...], ...] = Field((), max_length=15)
    older: dict[str, dict[str, NonNegativeInt]] = Field(default_factory=dict)
    older_known: dict[str, NonNegativeInt] = Field(default_factory=dict)
    recent_ids: tuple[Identifier, ...] = Field((), max_length=32)
    applied: tuple[Position, ...] = Field((), max_length=4)


class OptOut(StrEnum):
    """A person's wish about remembering the choice."""

    NOT_REMEMBERED = "not-remembered"
    FOR_ANOTHER = "for-another"


class OpenRanking(Model):
    """A ranking that awaits its selection, reduced to what a contrast needs.

    With a `opt_out`, the choice from it teaches nothing. `size_bytes` is its share of the ring's bounded size; 0: it is
    alone.
    """

    ranking_id: Identifier
    domain: DomainField
    instruction: Instruction = ""
    candidates: tuple[ItemFacts, ...] = Field(max_length=MAX_CANDIDATES)
    skill_version: int = Field(0, ge=0)
    arm: Identifier | None = None
    opt_out: OptOut | None = None
    facets: tuple[Facet, ...] = Field((), max_length=MAX_FACETS)
    features: Features | None = None
    by_sager: bool = Field(False, exclude_if=is_empty)
    size_bytes: NonNegativeInt = 0
    session_id: Identifier | None = Field(None, exclude_if=is_empty)


class WaitingSelection(Model):
    """A selection that came before its ranking, with its position in Kafka."""

    selection: Selection
    source: Position


class AnsweredRanking(Model):
    """A ranking whose selection has become a contrast, with the taken items; without one, an abstention."""

    ranking_id: Identifier
    item_id: ItemIdField | None
    others: tuple[ItemIdField, ...] = Field((), max_length=MAX_CANDIDATES, exclude_if=is_empty)


class OpenRankings(Model):
    """A slot of a user's rings: rankings without a selection, selections without a ranking, and settled rankings.

    A ranking and its selection meet in the slot that the ranking's id hashes to. Slots keep writes small: each carries
    a few rankings, however many a user has open.
    """

    TOPIC: ClassVar[str] = "open-rankings"
    user_id: UserIdField
    slot: int = Field(ge=0, lt=64)
    rankings: tuple[OpenRanking, ...] = Field((), max_length=64)
    waiting: tuple[WaitingSelection, ...] = Field((), max_length=64)
    answered: tuple[AnsweredRanking, ...] = Field((), max_length=128)
    applied: tuple[Position, ...] = Field((), max_length=4)
