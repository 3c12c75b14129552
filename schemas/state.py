"""The tables of a user's statistics and open rankings: bounded (invariant 4), with applied events (invariant 2)."""

from enum import StrEnum

from pydantic import Field, NonNegativeInt

from .base import DomainField, Identifier, Instruction, ItemIdField, Model, Position, UserIdField, is_empty
from .events import MAX_CANDIDATES, Selection
from .fit import MAX_FACETS, Facet
from .items import Fact, ItemFacts
from .weights import Features


class Profile(Model, topic="profiles"):
    """Incremental counts over one user's interactions in one domain, for StatInit (paper 2.3, App. D).

    `recent` has the facts of the newest interactions, newest last. Older ones are counted in `older`, per dimension
    and value, and in `older_known`, per dimension.
    """

    user_id: UserIdField
    domain: DomainField
    interactions: NonNegativeInt = 0
    recent: tuple[tuple[Fact, ...], ...] = Field((), max_length=15)
    older: dict[str, dict[str, NonNegativeInt]] = Field(default_factory=dict)
    older_known: dict[str, NonNegativeInt] = Field(default_factory=dict)
    recent_ids: tuple[Identifier, ...] = Field((), max_length=32)
    applied: tuple[Position, ...] = Field((), max_length=4)


class OptOut(StrEnum):
    """The reason why a choice teaches nothing."""

    NOT_REMEMBERED = "not-remembered"
    FOR_ANOTHER = "for-another"


class OpenRanking(Model):
    """A ranking that awaits its selection, reduced to the fields of a contrast.

    `size_bytes` is its share of the ring's bounded size; 0: it is alone.
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
    """A selection that arrived before its ranking."""

    selection: Selection
    source: Position


class AnsweredRanking(Model):
    """A settled ranking with its taken items; without any, an abstention."""

    ranking_id: Identifier
    item_id: ItemIdField | None
    others: tuple[ItemIdField, ...] = Field((), max_length=MAX_CANDIDATES, exclude_if=is_empty)


class OpenRankings(Model, topic="open-rankings"):
    """A slot of a user's rings: rankings without a selection, selections without a ranking, settled rankings.

    The ranking's id determines the slot. Slots keep writes small, however many rankings a user has open.
    """

    user_id: UserIdField
    slot: int = Field(ge=0, lt=64)
    rankings: tuple[OpenRanking, ...] = Field((), max_length=64)
    waiting: tuple[WaitingSelection, ...] = Field((), max_length=64)
    answered: tuple[AnsweredRanking, ...] = Field((), max_length=128)
    applied: tuple[Position, ...] = Field((), max_length=4)
