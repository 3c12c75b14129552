"""The card of a person: what they said of themselves in conversations, across domains, as a fold of a log of diffs."""

from enum import StrEnum
from typing import Annotated, Any, ClassVar, Self

from pydantic import ConfigDict, Field, model_validator

from .base import Event, Model, is_none, is_nothing
from .conditions import Condition, equals, given, where
from .corrections import Correction
from .fields import AttributeId, DomainField, Identifier, Label, UserIdField, UtcDatetime
from .forgetting import Digest, ForgetRequest
from .reasoned import ReasonedBy
from .skills import MAX_RECENT, Count, Position
from .statements import MAX_WORDS, Stance
from .utterances import MAX_TURN, MAX_UTTERANCE_CHARS, Role

MAX_CARD_LINES = 40
MAX_PAST_LINES = 40
MAX_LINE_EVIDENCE = 5
MAX_FINDINGS = 64
MAX_CARD_CHANGES = 2 * MAX_CARD_LINES + MAX_FINDINGS
MAX_OPEN = 8
MAX_PENDING = 128
FREE = "stated"
"""The dimension of a line in words of no vocabulary."""


class Strength(StrEnum):
    """How plainly a person said something."""

    SAID = "said"
    IMPLIED = "implied"
    SET = "set"
    """By a command: they, or somebody for them, wrote the line."""


class CardLine(Model):
    """One thing that is known of a person from what they said: what they like or do not like, and since when.

    `weight` and `against` are what speaks for it and against it, in 1/1024 of a plain statement; how certain a line is
    at a moment follows from them and from the time since `confirmed_at`. A line that was overtaken names its successor.
    """

    line_id: AttributeId = Field(description="Stance, dimension and value; the same thing said again is the same line.")
    stance: Stance
    dimension: Annotated[str, Field(min_length=1, max_length=40)] = FREE
    value: Annotated[str, Field(min_length=1, max_length=100)]
    domain: DomainField | None = Field(default=None, exclude_if=is_none, description="Where it holds; none: anywhere.")
    strength: Strength = Strength.SAID
    words: Annotated[str, Field(max_length=MAX_WORDS)] = Field(
        default="", description="The person's own, without what is personal; empty where a command wrote it."
    )
    weight: Count
    against: Count = Field(default=0, exclude_if=is_nothing)
    since: UtcDatetime
    confirmed_at: UtcDatetime
    version: int = Field(ge=1, description="The card's version that brought it.")
    times: int = Field(default=1, ge=1, le=1_000_000, description="How often it was said.")
    evidence: tuple[Identifier, ...] = Field(
        default=(), max_length=MAX_LINE_EVIDENCE, description="The newest events behind it, newest last."
    )
    pinned: bool = Field(default=False, exclude_if=is_nothing)
    overtaken_by: AttributeId | None = Field(default=None, exclude_if=is_none)
    overtaken_at: UtcDatetime | None = Field(default=None, exclude_if=is_none)


class CardChangeKind(StrEnum):
    """What one event can do to one line of a card."""

    ADDED = "added"
    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"
    """Something speaks against it, and not plainly enough to overtake it."""
    OVERTAKEN = "overtaken"
    """The person says otherwise now; the line that says so is its successor."""
    WITHDRAWN = "withdrawn"
    """The person does not mean it any more, and says nothing in its place."""
    MERGED = "merged"
    """It says nearly what its successor says."""
    FADED = "faded"
    CROWDED_OUT = "crowded-out"
    SET = "set"
    PINNED = "pinned"
    UNPINNED = "unpinned"
    REMOVED = "removed"
    FORGOTTEN = "forgotten"


class CardChange(Model):
    """One effective change. Folding puts `line` in the place of the one with this id, and needs no rule for it.

    A line with a successor is kept among those that are past.
    """

    kind: CardChangeKind
    line_id: AttributeId
    line: CardLine | None = Field(default=None, description="As it is now; none: it is gone.")
    reason: Annotated[str, Field(max_length=300)] = Field(default="", exclude_if=is_nothing)


class NotKept(Model):
    """What was said and is not kept: how often, and why. Of what was said nothing is quoted."""

    kind: Annotated[str, Field(min_length=1, max_length=40)]
    times: int = Field(default=1, ge=1, le=10_000)


class CardDiff(Event):
    """One version of a card: what a chunk of a conversation or a command did to it.

    `event_id` is that of the chunk or command; a chunk's is derived from the utterances in it.
    """

    TOPIC: ClassVar[str] = "card-diffs"

    user_id: UserIdField
    version: int = Field(ge=1)
    conversation_id: Identifier | None = Field(default=None, exclude_if=is_none)
    changes: tuple[CardChange, ...] = Field(default=(), max_length=MAX_CARD_CHANGES)
    not_kept: tuple[NotKept, ...] = Field(default=(), max_length=32, exclude_if=is_nothing)
    reasoned_by: ReasonedBy = Field(default_factory=ReasonedBy)
    source: Position | None = None
    chain: Digest | None = Field(
        default=None,
        exclude_if=is_none,
        description="Seals this version and, through the seal before, all versions before it.",
    )


class Card(Event):
    """What is known of a person: at most 40 lines, those that were overtaken lately, and the diff that came last.

    It is the fold of the person's `CardDiff`s. `event_id` and `occurred_at` are those of the last one.
    """

    TOPIC: ClassVar[str] = "cards"

    user_id: UserIdField
    version: int = Field(default=0, ge=0)
    lines: tuple[CardLine, ...] = Field(default=(), max_length=MAX_CARD_LINES)
    past: tuple[CardLine, ...] = Field(default=(), max_length=MAX_PAST_LINES)
    recent: tuple[Identifier, ...] = Field(default=(), max_length=MAX_RECENT)
    applied: tuple[Position, ...] = Field(default=(), max_length=4)
    last_diff: CardDiff | None = None
    chain: Digest | None = Field(default=None, exclude_if=is_none, description="The last diff's seal.")


class CardAction(StrEnum):
    """What a command does to a card."""

    SET = "set"
    PIN = "pin"
    UNPIN = "unpin"
    REMOVE = "remove"


class CardStated(Model):
    """A line that a command writes."""

    stance: Stance = Stance.PREFERS
    dimension: Annotated[str, Field(min_length=1, max_length=40)] = FREE
    value: Annotated[Label, Field(max_length=100)]
    domain: DomainField | None = None


_NEEDED = {
    CardAction.SET: "line",
    CardAction.PIN: "line_id",
    CardAction.UNPIN: "line_id",
    CardAction.REMOVE: "line_id",
}


def _conditions() -> dict[str, Any]:
    every: list[Condition] = [where(equals("action", action.value), given(name)) for action, name in _NEEDED.items()]
    return {"allOf": every}


class CardCommand(Event):
    """One change that a person makes to a card. `set` with a `line_id` takes the place of that line.

    `remove` forgets: the line's words go from the log too.
    """

    model_config = ConfigDict(json_schema_extra=_conditions())

    TOPIC: ClassVar[str] = "card-commands"

    user_id: UserIdField
    action: CardAction
    line_id: AttributeId | None = None
    line: CardStated | None = None
    actor: Label
    reason: Annotated[str, Field(max_length=300)] = ""

    @model_validator(mode="after")
    def _says_what_it_needs(self) -> Self:
        if getattr(self, _NEEDED[self.action]) is None:
            raise ValueError(f"{self.action.value} needs {_NEEDED[self.action]}")
        return self


class Turn(Model):
    """A turn that waits to be thought over, its text without what is personal."""

    event_id: Identifier
    turn: int = Field(ge=0, le=MAX_TURN)
    role: Role
    text: Annotated[str, Field(max_length=MAX_UTTERANCE_CHARS)]
    language: Annotated[str, Field(max_length=40)] | None = Field(default=None, exclude_if=is_none)
    domain: DomainField | None = Field(default=None, exclude_if=is_none)
    ranking_id: Identifier | None = Field(default=None, exclude_if=is_none)
    said_at: UtcDatetime


class Thought(Model):
    """What a chunk leads to: decided once, and then carried out, whatever happens to the worker meanwhile."""

    diff: CardDiff | None = None
    corrections: tuple[Correction, ...] = Field(default=(), max_length=MAX_FINDINGS)
    forgets: tuple[ForgetRequest, ...] = Field(default=(), max_length=MAX_FINDINGS)
    lines: tuple[Digest, ...] = Field(
        default=(),
        max_length=5 * MAX_FINDINGS,
        description="What is forgotten of the card, as a receipt has it.",
    )


class Chunk(Model):
    """Turns of one conversation that are thought over together."""

    conversation_id: Identifier
    turns: tuple[Turn, ...] = Field(default=(), max_length=MAX_PENDING)
    tokens: int = Field(default=0, ge=0)
    heard_ms: int = Field(default=0, ge=0, description="When the last came, by Kafka's clock, in ms since 1970.")
    is_closed: bool = Field(default=False, exclude_if=is_nothing, description="Whether no more turns are waited for.")
    thought: Thought | None = Field(
        default=None, exclude_if=is_none, description="What it leads to, once that is known."
    )


class Listening(Model):
    """What waits of a person's conversations: the value of the table `conversations`."""

    TOPIC: ClassVar[str] = "conversations"

    user_id: UserIdField
    chunks: tuple[Chunk, ...] = Field(default=(), max_length=2 * MAX_OPEN)
    recent: tuple[Identifier, ...] = Field(default=(), max_length=MAX_PENDING)
    applied: tuple[Position, ...] = Field(default=(), max_length=4)
