"""Events that apps send, and a choice's lesson (paper 2.5)."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from .base import (
    AttributeId,
    Digest,
    DomainField,
    Event,
    Identifier,
    Instruction,
    ItemIdField,
    Label,
    Model,
    Provenance,
    Share,
    Text,
    UserDomainEvent,
    UserEvent,
    UserIdField,
    is_empty,
    is_none,
)
from .items import Candidate, ItemFacts
from .weights import Features, UsualNumbers

MAX_CANDIDATES = 100
# The default scale of a rating.
WORST, BEST = 1.0, 5.0
MAX_OPTIONS = 4
MAX_BELIEFS = 16
MAX_FACETS = 10
MAX_SUPPORTERS = 8
MAX_RANK_REASON = 120

# Log-likelihoods of the chances that an unknown item suits, in 1/1024 nat; the best is 0.
Beliefs = Annotated[tuple[Annotated[int, Field(ge=-(2**24), le=0)], ...], Field(min_length=2, max_length=MAX_BELIEFS)]
# `item:` with an item's id or, inside a worker only, `user:` with a pseudonym.
Neighbour = Annotated[str, Field(min_length=3, max_length=261, pattern=r"^(item|user):")]


# Why a model ranked an item where it stands, in its words.
RankReason = Annotated[str, Field(max_length=MAX_RANK_REASON)]


class Facet(Model):
    """One line of collaborative context: similar users' taste (paper 2.2)."""

    facet: Label = Field(description="The line as it appears in a prompt.")
    confidence: Share
    supporting_neighbors: tuple[Neighbour, ...] = Field((), max_length=MAX_SUPPORTERS)
    attribute_id: AttributeId | None = Field(None, description="The attribute that it names, if items have it.")


class Option(Model):
    """One answer to a question: a fact."""

    attribute_id: AttributeId
    value: Label


class ClarifyingQuestion(Model):
    """The question whose answer would change the ranking most."""

    question_id: Identifier
    dimension: Annotated[str, Field(min_length=1, max_length=40)]
    text: Annotated[str, Field(max_length=300)]
    options: tuple[Option, ...] = Field(min_length=2, max_length=MAX_OPTIONS)


class Fit(Model):
    """How well a ranking suits the user, by their statements and choices.

    `chances` has the probability that the user accepts each candidate, in the ranking's order; `against` names the
    statement against each unwanted candidate.
    """

    chances: tuple[Share, ...] = ()
    nothing: Share = Field(description="The probability that the user wants none of them.")
    suits: bool = Field(description="False: show nothing, or ask.")
    against: dict[ItemIdField, AttributeId] = Field(default_factory=dict, description="Unwanted candidates.")
    followed: tuple[AttributeId, ...] = Field((), max_length=64, description="Statements that the ranking follows.")
    question: ClarifyingQuestion | None = Field(None, exclude_if=is_empty, description="Only with `clarify`.")


def _distinct(candidates: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    if len({each.item_id for each in candidates}) != len(candidates):
        raise PydanticCustomError("repeated_item", "the candidates must have distinct item_ids")
    return candidates


# A list of items, each once.
Candidates = Annotated[tuple[Candidate, ...], Field(max_length=MAX_CANDIDATES), AfterValidator(_distinct)]


class Interaction(UserDomainEvent, topic="interactions"):
    """A past positive event for the statistical prior (paper 2.3)."""

    item: Candidate


class RankRequest(Event, topic="rank-requests"):
    """A request to rank candidates; `request_id` becomes the `ranking_id`."""

    request_id: Identifier
    user_id: UserIdField
    domain: DomainField
    instruction: Instruction = Field("", description="The user's request, in their own words.")
    candidates: Candidates = Field(min_length=1)
    clarify: bool = Field(False, exclude_if=is_empty, description="True if the ranking may have a question.")
    session_id: Identifier | None = Field(None, exclude_if=is_empty)


class RankedBy(StrEnum):
    """The author of a ranking's order."""

    APP = "app"
    SAGER = "sager"


class Injected(Model):
    """The influences on a ranking: skill, facets and words (paper 2.4)."""

    skill_version: int = Field(0, ge=0, description="0: the prior alone.")
    slim_skill: Text = ""
    rank_skill: Identifier | None = Field(None, description="The lines that ranked: full or none.")
    reasoner: Identifier | None = None
    arm: Identifier | None = Field(None, description="The experiment arm; none: derived from the rest.")
    facets: tuple[Facet, ...] = Field((), max_length=MAX_FACETS)
    companions: dict[ItemIdField, Share] = Field(
        default_factory=dict, max_length=MAX_CANDIDATES, description="Candidates often taken with the user's items."
    )
    weights_version: int | None = Field(None, ge=0, description="The version of the domain's weights used.")
    features: Features | None = Field(None, description="Where weights alone decided.")
    fit: Fit | None = Field(None, exclude_if=is_empty, description="How well the candidates suit, if known.")
    memory_version: int = Field(0, ge=0)
    graph_epoch: int = Field(0, ge=0)
    ranked_by: Provenance | None = Field(None, description="How the order was made, and its cost.")
    facets_by: Provenance | None = Field(None, description="Only where an LLM wrote the facets.")
    slim_by: Provenance | None = Field(None, description="Only where an LLM wrote the slim skill.")
    repaired: int = Field(0, ge=0, description="Ids that a model omitted, invented or repeated.")
    reasons: dict[ItemIdField, RankReason] = Field(
        default_factory=dict, max_length=MAX_CANDIDATES, exclude_if=is_empty, description="A model's reason per item."
    )


class Ranking(Event, topic="rankings"):
    """The ordered candidates that a user was shown (the paper's pi*)."""

    ranking_id: Identifier
    user_id: UserIdField
    domain: DomainField
    instruction: Instruction = ""
    candidates: Candidates = Field(min_length=1)
    ranked_by: RankedBy = RankedBy.APP
    injected: Injected = Injected()
    session_id: Identifier | None = Field(None, exclude_if=is_empty)
    seal: Digest | None = Field(None, exclude_if=is_empty, description="Our ranker's proof.")


class Selection(UserEvent, topic="selections"):
    """The user's choice from a ranking (the paper's i+); the first counts.

    `others` are further taken items. An abstention has `none_taken` and no `item_id`.
    """

    ranking_id: Identifier
    item_id: ItemIdField | None = Field(None, description="The item, or the first of several.")
    others: tuple[ItemIdField, ...] = Field(
        (), max_length=MAX_CANDIDATES - 1, exclude_if=is_empty, json_schema_extra={"uniqueItems": True}
    )
    in_order: bool = Field(False, exclude_if=is_empty, description="True if they are in the order of taking.")
    none_taken: bool = Field(False, exclude_if=is_empty, description="The user wants none of these.")
    skill_version: int | None = Field(None, ge=0, description="The slim skill's version that the app had.")
    session_id: Identifier | None = Field(None, exclude_if=is_empty)

    @model_validator(mode="after")
    def _check_items(self) -> Self:
        if (self.item_id is None) != self.none_taken:
            raise PydanticCustomError("nothing_taken", "give an item_id, or none_taken where nothing was taken")
        if (self.none_taken and self.others) or len({self.item_id, *self.others}) != 1 + len(self.others):
            raise PydanticCustomError("repeated_item", "others must be further items, each once")
        return self

    @property
    def taken(self) -> tuple[ItemIdField, ...]:
        """All taken items; empty for an abstention."""
        return () if self.item_id is None else (self.item_id, *self.others)


class Signal(StrEnum):
    """The built-in kinds; their weights are configurable."""

    LIKED = "liked"
    DISLIKED = "disliked"
    RATED = "rated"
    SAVED = "saved"
    HIDDEN = "hidden"
    SKIPPED = "skipped"
    DWELLED = "dwelled"
    PURCHASED = "purchased"
    RETURNED = "returned"


# A kind of signal: one of `Signal`, or one of the app's own.
SignalName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
Value = Annotated[float, Field(ge=-1e6, le=1e6)]


class Feedback(UserDomainEvent, topic="feedback"):
    """A signal about an item, shown in a ranking or not."""

    item: Candidate
    signal: SignalName
    value: Value | None = Field(None, description="rated: the rating; dwelled: seconds. Both need one.")
    scale: tuple[Value, Value] | None = Field(None, description="rated: worst and best rating; else 1 and 5.")
    ranking_id: Identifier | None = None
    session_id: Identifier | None = None

    @model_validator(mode="after")
    def _check_value(self) -> Self:
        if self.scale is not None and not self.scale[0] < self.scale[1]:
            raise PydanticCustomError("no_scale", "scale must be the worst and the best rating, in this order")
        if self.signal not in (Signal.RATED, Signal.DWELLED):
            return self
        if self.value is None:
            raise PydanticCustomError("no_value", "{signal} needs a value", {"signal": self.signal})
        if self.signal == Signal.DWELLED and self.value < 0:
            raise PydanticCustomError("negative_time", "dwelled counts seconds, 0 or more")
        worst, best = self.scale or (WORST, BEST)
        if self.signal == Signal.RATED and not worst <= self.value <= best:
            raise PydanticCustomError(
                "off_the_scale", "the rating must be between {worst} and {best}", {"worst": worst, "best": best}
            )
        return self


class Contrast(UserDomainEvent, topic="contrasts"):
    """The chosen item, and the unchosen ones in reverse rank order.

    `also` are further taken items. `unchosen` begins with the item ranked last (an easy contrast) and ends with near
    misses. `event_id` is derived from the ranking, so that a rebuilt contrast has the same id.
    """

    ranking_id: Identifier
    instruction: Instruction = ""
    chosen: ItemFacts
    chosen_rank: int = Field(ge=1, description="The chosen item's rank in the list; 1 is the top.")
    also: tuple[ItemFacts, ...] = Field((), max_length=MAX_CANDIDATES, exclude_if=is_empty)
    in_order: bool = Field(False, exclude_if=is_empty, description="True if they are in the order of taking.")
    unchosen: tuple[ItemFacts, ...] = Field((), max_length=MAX_CANDIDATES)
    skill_version: int = Field(0, ge=0, description="The skill's version when the ranking was made.")
    arm: Identifier | None = Field(None, description="The policy arm of the ranking.")
    facets: tuple[Facet, ...] = Field((), max_length=MAX_FACETS)
    features: Features | None = Field(None, description="The candidates' features, in the ranking's order.")
    usual: UsualNumbers | None = Field(None, exclude_if=is_none, description="The domain's, for a list of one.")
    by_sager: bool = Field(False, exclude_if=is_empty, description="Our ranker's order teaches no habit.")
    session_id: Identifier | None = Field(None, exclude_if=is_empty)


class Abstention(UserDomainEvent, topic="abstentions"):
    """A ranking that the user rejected as a whole.

    `event_id` is derived from the ranking.
    """

    ranking_id: Identifier
    instruction: Instruction = ""
    shown: tuple[ItemFacts, ...] = Field(min_length=1, max_length=MAX_CANDIDATES)
    skill_version: int = Field(0, ge=0, description="The skill's version when the ranking was made.")
    arm: Identifier | None = None
    features: Features | None = Field(None, exclude_if=is_none)
    usual: UsualNumbers | None = Field(None, exclude_if=is_none, description="The domain's, for taking none.")
    session_id: Identifier | None = Field(None, exclude_if=is_empty)
