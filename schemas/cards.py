"""Cards: a user's statements about themselves, folded from diffs."""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from .base import (
    AttributeId,
    Digest,
    DomainField,
    Identifier,
    Label,
    Model,
    Position,
    Provenance,
    UserEvent,
    UserIdField,
    UtcDatetime,
    is_empty,
    is_none,
)
from .commands import ForgetRequest
from .skills import MAX_RECENT, Count
from .statements import MAX_TURN, MAX_UTTERANCE_CHARS, MAX_WORDS, Correction, Speaker, Stance, check_answer_style

MAX_CARD_LINES = 40
MAX_PAST_LINES = 40
MAX_LINE_EVIDENCE = 5
MAX_FINDINGS = 64
MAX_CARD_CHANGES = 2 * MAX_CARD_LINES + MAX_FINDINGS
MAX_OPEN = 8
MAX_PENDING = 128
# The dimension of a line in words of no vocabulary.
FREE = "stated"


class Strength(StrEnum):
    """How explicit a statement was; `set`: a command wrote the line."""

    SAID = "said"
    IMPLIED = "implied"
    SET = "set"


class CardLine(Model):
    """One taste of a user, by their own statements.

    `weight` and `against` are the evidence for and against it, in 1/1024 of a plain statement. They and the time since
    `confirmed_at` determine its certainty.
    """

    line_id: AttributeId = Field(description="Stance, dimension and value.")
    stance: Stance
    dimension: Annotated[str, Field(min_length=1, max_length=40)] = FREE
    value: Annotated[str, Field(min_length=1, max_length=100)]
    domain: DomainField | None = Field(None, exclude_if=is_none, description="None: anywhere.")
    strength: Strength = Strength.SAID
    words: Annotated[str, Field(max_length=MAX_WORDS)] = Field("", description="Without personal data.")
    weight: Count
    against: Count = Field(0, exclude_if=is_empty)
    since: UtcDatetime
    confirmed_at: UtcDatetime
    version: int = Field(ge=1, description="The card's version that added it.")
    times: int = Field(1, ge=1, le=1_000_000, description="How often the person stated it.")
    evidence: tuple[Identifier, ...] = Field((), max_length=MAX_LINE_EVIDENCE, description="Events, newest last.")
    pinned: bool = Field(False, exclude_if=is_empty)
    overtaken_by: AttributeId | None = Field(None, exclude_if=is_none)
    overtaken_at: UtcDatetime | None = Field(None, exclude_if=is_none)


class CardChangeKind(StrEnum):
    """The effect of an event on a line of a card."""

    ADDED = "added"
    CONFIRMED = "confirmed"
    CONTRADICTED = "contradicted"  # not plainly enough to overtake it
    OVERTAKEN = "overtaken"  # by its successor, a newer statement
    WITHDRAWN = "withdrawn"  # without a successor
    MERGED = "merged"  # its successor states nearly the same
    FADED = "faded"
    CROWDED_OUT = "crowded-out"
    SET = "set"
    PINNED = "pinned"
    UNPINNED = "unpinned"
    REMOVED = "removed"
    FORGOTTEN = "forgotten"


class CardChange(Model):
    """One change; `line` replaces the line with this id."""

    kind: CardChangeKind
    line_id: AttributeId
    line: CardLine | None = Field(None, description="The new line; none: removed.")
    reason: Annotated[str, Field(max_length=300)] = Field("", exclude_if=is_empty)


class NotKept(Model):
    """The number of omitted statements of one kind, without their words."""

    kind: Annotated[str, Field(min_length=1, max_length=40)]
    times: int = Field(1, ge=1, le=10_000)


class CardDiff(UserEvent, topic="card-diffs"):
    """One version of a card: the effect of a chunk or command."""

    version: int = Field(ge=1)
    conversation_id: Identifier | None = Field(None, exclude_if=is_none)
    changes: tuple[CardChange, ...] = Field((), max_length=MAX_CARD_CHANGES)
    not_kept: tuple[NotKept, ...] = Field((), max_length=32, exclude_if=is_empty)
    reasoned_by: Provenance = Field(default_factory=Provenance)
    source: Position | None = None
    chain: Digest | None = Field(None, exclude_if=is_none, description="Seals this version and all earlier ones.")


class Card(UserEvent, topic="cards"):
    """The fold of a user's `CardDiff`s: current lines and recently overtaken ones.

    `event_id` and `occurred_at` are those of the last diff.
    """

    version: int = Field(0, ge=0)
    lines: tuple[CardLine, ...] = Field((), max_length=MAX_CARD_LINES)
    past: tuple[CardLine, ...] = Field((), max_length=MAX_PAST_LINES)
    recent: tuple[Identifier, ...] = Field((), max_length=MAX_RECENT)
    applied: tuple[Position, ...] = Field((), max_length=4)
    last_diff: CardDiff | None = None
    chain: Digest | None = Field(None, exclude_if=is_none, description="The last diff's seal.")


class CardAction(StrEnum):
    """The action of a card command."""

    SET = "set"
    PIN = "pin"
    UNPIN = "unpin"
    REMOVE = "remove"


class CardLineInput(Model):
    """A card line in a command."""

    stance: Stance = Stance.PREFERS
    dimension: Annotated[str, Field(min_length=1, max_length=40)] = FREE
    value: Annotated[Label, Field(max_length=100)]
    domain: DomainField | None = None

    @model_validator(mode="after")
    def _check_answer_style(self) -> Self:
        check_answer_style(self.stance, self.dimension, self.value)
        return self


class CardCommand(UserEvent, topic="card-commands"):
    """A user's change of their card. `set` needs `line`, the others `line_id`.

    `set` with a `line_id` replaces that line. `remove` also erases the line's words from the log.
    """

    action: CardAction
    line_id: AttributeId | None = None
    line: CardLineInput | None = None
    actor: Label
    reason: Annotated[str, Field(max_length=300)] = ""

    @model_validator(mode="after")
    def _check_required_fields(self) -> Self:
        needed = "line" if self.action is CardAction.SET else "line_id"
        if getattr(self, needed) is None:
            raise ValueError(f"{self.action.value} needs {needed}")
        return self


class Turn(Model):
    """A turn that awaits processing, without personal data."""

    event_id: Identifier
    turn: int = Field(ge=0, le=MAX_TURN)
    role: Speaker
    text: Annotated[str, Field(max_length=MAX_UTTERANCE_CHARS)]
    language: Annotated[str, Field(max_length=40)] | None = Field(None, exclude_if=is_none)
    domain: DomainField | None = Field(None, exclude_if=is_none)
    ranking_id: Identifier | None = Field(None, exclude_if=is_none)
    stated_at: UtcDatetime


class ChunkEffects(Model):
    """The effects of a chunk, decided once and stored for restarted workers.

    `lines` are digests of the erased lines, as in a receipt.
    """

    diff: CardDiff | None = None
    corrections: tuple[Correction, ...] = Field((), max_length=MAX_FINDINGS)
    forgets: tuple[ForgetRequest, ...] = Field((), max_length=MAX_FINDINGS)
    lines: tuple[Digest, ...] = Field((), max_length=5 * MAX_FINDINGS)


class Chunk(Model):
    """Turns of a conversation, processed together; `last_turn_ms` is Kafka's time."""

    conversation_id: Identifier
    turns: tuple[Turn, ...] = Field((), max_length=MAX_PENDING)
    tokens: int = Field(0, ge=0)
    last_turn_ms: int = Field(0, ge=0)
    is_closed: bool = Field(False, exclude_if=is_empty, description="True if it takes no more turns.")
    effects: ChunkEffects | None = Field(None, exclude_if=is_none, description="Its effects, once decided.")


class PendingConversations(Model, topic="conversations"):
    """The waiting turns of a person's conversations."""

    user_id: UserIdField
    chunks: tuple[Chunk, ...] = Field((), max_length=2 * MAX_OPEN)
    recent: tuple[Identifier, ...] = Field((), max_length=MAX_PENDING)
    applied: tuple[Position, ...] = Field((), max_length=4)
