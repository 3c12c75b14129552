"""Bodies that apps send and the answers to them, as the API's document has them."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field, SkipValidation

from schemas import (
    Candidate,
    Correction,
    Directive,
    Feedback,
    Interaction,
    Item,
    Model,
    NotUnderstood,
    Ranking,
    RankRequest,
    Scope,
    Selection,
    SkillDiff,
    Utterance,
)
from schemas.corrections import MAX_DIRECTIVES, Language
from schemas.events import MAX_CANDIDATES
from schemas.fields import DomainField, Identifier, Instruction, ItemIdField, UserIdField

MAX_EVENTS = 500


class Body(Model):
    """A body of the API: a name that it does not know is a mistake."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class SentItem(Body):
    """An entry of the catalogue."""

    topic: Literal["items"]
    event: Item


class SentInteraction(Body):
    """Something that the person took before, without a list."""

    topic: Literal["interactions"]
    event: Interaction


class SentRankRequest(Body):
    """A request for a ranking whose answer comes on Kafka; `/v1/rank` waits for it."""

    topic: Literal["rank-requests"]
    event: RankRequest


class SentRanking(Body):
    """A list that was shown."""

    topic: Literal["rankings"]
    event: Ranking


class SentSelection(Body):
    """What was taken from a list."""

    topic: Literal["selections"]
    event: Selection


class SentFeedback(Body):
    """A signal on an item."""

    topic: Literal["feedback"]
    event: Feedback


class SentCorrection(Body):
    """What a person says."""

    topic: Literal["corrections"]
    event: Correction


class SentUtterance(Body):
    """A turn of a conversation."""

    topic: Literal["utterances"]
    event: Utterance


Sent = Annotated[
    SentItem
    | SentInteraction
    | SentRankRequest
    | SentRanking
    | SentSelection
    | SentFeedback
    | SentCorrection
    | SentUtterance,
    Field(discriminator="topic"),
]
Batched = Annotated[list[Sent], Field(min_length=1, max_length=MAX_EVENTS)]


class Batch(Body):
    """A batch of events. Each is checked by itself, so that a bad one does not keep the others out."""

    events: SkipValidation[Batched]


class FieldError(Model):
    """What is wrong with a field; its value is never quoted."""

    field: str
    what: str


class Result(Model):
    """What became of an event, in the order of the batch."""

    event_id: str | None = Field(description="As it was sent; none where there was none.")
    status: Literal["accepted", "refused"]
    errors: tuple[FieldError, ...] = Field(default=(), description="Only of refused ones.")


class Taken(Model):
    """What became of a batch. Kafka has what was accepted."""

    accepted: int
    refused: int
    results: tuple[Result, ...]


class Linted(Model):
    """What an event would do."""

    event_id: str | None
    teaches: tuple[str, ...] = Field(description="What is learned from it, in sentences.")
    warnings: tuple[str, ...] = Field(description="What would make it teach more, or why it teaches nothing.")
    errors: tuple[FieldError, ...] = Field(description="Why it would be refused; empty if it would not.")


class LintReport(Model):
    """What a batch would do; nothing of it was sent."""

    accepted: int = Field(description="How many events would be accepted.")
    refused: int
    results: tuple[Linted, ...]


class RankBody(Body):
    """Asks for a ranking, and waits for it."""

    user_id: UserIdField
    domain: DomainField
    candidates: tuple[Candidate, ...] = Field(min_length=1, max_length=MAX_CANDIDATES)
    instruction: Instruction = Field(default="", description="What the person asks for, in their own words.")
    session_id: Identifier | None = None
    clarify: bool = Field(default=False, description="Whether the ranking may bring a question along.")
    request_id: Identifier | None = Field(
        default=None, description="Names the ranking; by default a new id. The same one again is the same ranking."
    )


class CorrectionBody(Body):
    """What a person says, in words (`text`) or by a form (`says`, `suits`)."""

    text: Instruction = Field(default="", description="The person's own words.")
    language: Language | None = Field(default=None, description="BCP 47, such as `de`; none: told by the words.")
    items: tuple[Candidate, ...] = Field(
        default=(), max_length=MAX_CANDIDATES, description="What the person sees, first place first."
    )
    item_id: ItemIdField | None = Field(default=None, description="The item that it is about, if it is about one.")
    says: tuple[Directive, ...] = Field(default=(), max_length=MAX_DIRECTIVES)
    suits: tuple[ItemIdField, ...] = Field(default=(), max_length=MAX_CANDIDATES)
    scope: Scope | None = Field(default=None, description="none: what the words say, else always.")
    answers: Identifier | None = Field(default=None, description="The question of a ranking that this answers.")
    ranking_id: Identifier | None = None
    session_id: Identifier | None = None


class StatedNow(Model):
    """One thing that was understood."""

    statement_id: str
    says: str = Field(description="Such as `avoids horror (genre)`.")
    words: str = Field(description="The words that said so; empty for a form.")
    scope: Scope


class Corrected(Model):
    """What became of a correction."""

    event_id: str
    carried_out: bool = Field(description="Whether a worker has answered within the time.")
    version: int | None = Field(default=None, description="The skill's version afterwards.")
    understood: bool | None = Field(default=None, description="False: it is in the log and changes nothing.")
    why: str = Field(
        default="",
        description="Why it changes nothing: not-remembered, "
        + ", ".join(why.value for why in NotUnderstood)
        + "; empty where it was understood.",
    )
    explanation: str = Field(
        default="",
        description="For the person: the reason, examples that would be understood, private data left out, and the "
        "effect of words that state nothing.",
    )
    not_kept: tuple[str, ...] = Field(default=(), description="Kinds of private data that were left out.")
    stated: tuple[StatedNow, ...] = ()
    diff: SkillDiff | None = Field(default=None, description="Only for tokens that may read the user.")
