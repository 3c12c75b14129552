"""The events that apps send: interactions, rank requests, rankings and selections."""

from enum import StrEnum
from typing import Any, ClassVar, Self

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from .base import Event, Model, is_nothing
from .conditions import equals, given, where
from .facets import MAX_FACETS, Facet
from .fields import DomainField, Identifier, Instruction, ItemIdField, Share, Text, UserIdField
from .fit import Fit
from .forgetting import Digest
from .items import Candidate
from .reasoned import ReasonedBy
from .weights import Features

MAX_CANDIDATES = 100


def distinct(candidates: tuple[Candidate, ...]) -> None:
    """Raise unless no two candidates have the same id."""
    if len({c.item_id for c in candidates}) != len(candidates):
        raise PydanticCustomError("repeated_item", "the candidates must have distinct item_ids")


class Interaction(Event):
    """A past positive event, imported or live; it feeds the statistical prior (paper 2.3)."""

    TOPIC: ClassVar[str] = "interactions"

    user_id: UserIdField
    domain: DomainField
    item: Candidate


class RankRequest(Event):
    """Asks for a ranking of candidates; the answer is a `Ranking` with `ranking_id` = `request_id`."""

    TOPIC: ClassVar[str] = "rank-requests"

    request_id: Identifier
    user_id: UserIdField
    domain: DomainField
    instruction: Instruction = Field(default="", description="What the user asked for, in their own words.")
    candidates: tuple[Candidate, ...] = Field(min_length=1, max_length=MAX_CANDIDATES)
    clarify: bool = Field(
        default=False, exclude_if=is_nothing, description="Whether the ranking may bring a question along."
    )
    session_id: Identifier | None = Field(default=None, exclude_if=is_nothing)

    @model_validator(mode="after")
    def _candidates_are_distinct(self) -> Self:
        distinct(self.candidates)
        return self


class RankedBy(StrEnum):
    """Who ordered a ranking."""

    APP = "app"
    SAGER = "sager"


class Injected(Model):
    """What influenced a ranking: which skill, facets and words were injected (paper 2.4)."""

    skill_version: int = Field(default=0, ge=0, description="0: the prior alone.")
    slim_skill: Text = ""
    rank_skill: Identifier | None = Field(
        default=None,
        description="Which form of the skill broke ties: full, slim or none; a model sees the slim one.",
    )
    reasoner: Identifier | None = None
    arm: Identifier | None = Field(
        default=None,
        description="The experiment arm that this ranking belongs to; none: derived from what was injected.",
    )
    facets: tuple[Facet, ...] = Field(default=(), max_length=MAX_FACETS)
    companions: dict[ItemIdField, Share] = Field(
        default_factory=dict,
        max_length=MAX_CANDIDATES,
        description="Candidates that others took together with what this user took, with the strength from 0 to 1.",
    )
    weights_version: int | None = Field(
        default=None, ge=0, description="The version of the domain's weights that it was ordered by, if it was."
    )
    features: Features | None = Field(
        default=None, description="What spoke for each candidate, where weights alone decided: what a choice tells of."
    )
    fit: Fit | None = Field(default=None, exclude_if=is_nothing, description="How well the candidates suit, if known.")
    memory_version: int = Field(default=0, ge=0)
    graph_epoch: int = Field(default=0, ge=0)
    ranked_by: ReasonedBy | None = Field(default=None, description="How the order was made, and what it cost.")
    facets_by: ReasonedBy | None = Field(default=None, description="Only where an LLM wrote the facets.")
    slim_by: ReasonedBy | None = Field(default=None, description="Only where an LLM wrote the slim skill.")
    repaired: int = Field(default=0, ge=0, description="How many ids a model left out, invented or repeated.")


class Ranking(Event):
    """The ordered candidates that a user was shown (the paper's pi*), first place first."""

    TOPIC: ClassVar[str] = "rankings"

    ranking_id: Identifier
    user_id: UserIdField
    domain: DomainField
    instruction: Instruction = ""
    candidates: tuple[Candidate, ...] = Field(min_length=1, max_length=MAX_CANDIDATES)
    ranked_by: RankedBy = RankedBy.APP
    injected: Injected = Injected()
    session_id: Identifier | None = Field(default=None, exclude_if=is_nothing)
    seal: Digest | None = Field(
        default=None,
        exclude_if=is_nothing,
        description="Proves that our ranker wrote it. Without it, a ranking counts as the app's own.",
    )

    @model_validator(mode="after")
    def _candidates_are_distinct(self) -> Self:
        distinct(self.candidates)
        return self


def _conditions() -> dict[str, Any]:
    """An item, or the word that nothing was taken."""
    nothing = {"properties": {"item_id": {"type": "null"}, "others": {"maxItems": 0}}}
    return where(equals("none_taken", True), nothing, given("item_id"))


class Selection(Event):
    """What the user took from a ranking (the paper's i+). One per ranking.

    Most take one item: `item_id`. Several are one selection too: `item_id` and, behind it, `others`. A list of which
    the person took nothing is a selection without an `item_id`, with `none_taken`.
    """

    model_config = ConfigDict(json_schema_extra=_conditions())

    TOPIC: ClassVar[str] = "selections"

    user_id: UserIdField
    ranking_id: Identifier
    item_id: ItemIdField | None = Field(default=None, description="The item, or the first of several.")
    others: tuple[ItemIdField, ...] = Field(
        default=(),
        max_length=MAX_CANDIDATES - 1,
        exclude_if=is_nothing,
        description="What else was taken of it.",
        json_schema_extra={"uniqueItems": True},
    )
    in_order: bool = Field(
        default=False, exclude_if=is_nothing, description="Whether several are in the order in which they were taken."
    )
    none_taken: bool = Field(default=False, exclude_if=is_nothing, description="The person wants none of these.")
    skill_version: int | None = Field(
        default=None, ge=0, description="The version of the slim skill that the app used, if any."
    )
    session_id: Identifier | None = Field(default=None, exclude_if=is_nothing)

    @model_validator(mode="after")
    def _says_what_was_taken(self) -> Self:
        if (self.item_id is None) != self.none_taken:
            raise PydanticCustomError("nothing_taken", "give an item_id, or none_taken where nothing was taken")
        if (self.none_taken and self.others) or len({self.item_id, *self.others}) != 1 + len(self.others):
            raise PydanticCustomError("repeated_item", "others must be further items, each once")
        return self

    @property
    def taken(self) -> tuple[ItemIdField, ...]:
        """All that was taken; empty for an abstention."""
        return () if self.item_id is None else (self.item_id, *self.others)
