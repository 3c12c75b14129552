"""A user's statements: in skills, in corrections and in conversations."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Final, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from .base import (
    AttributeId,
    DomainField,
    Identifier,
    Instruction,
    ItemIdField,
    Label,
    Model,
    UserDomainEvent,
    UserEvent,
    UtcDatetime,
    is_empty,
)
from .events import MAX_CANDIDATES, Candidates
from .items import Amount, Measure
from .skills import Evidence

MAX_STATEMENTS = 48
MAX_WORDS = 200
MAX_DIRECTIVES = 16
MAX_UTTERANCE_CHARS = 16_000
MAX_TURN = 1_000_000
ANSWER_LANGUAGE: Final = "answer_language"
# The dimensions of wishes about answers, and the values of each; a language is a BCP 47 tag.
ANSWER_VALUES: Final[Mapping[str, frozenset[str]]] = {
    "answer_verbosity": frozenset({"brief", "detailed"}),
    "answer_formality": frozenset({"formal", "informal"}),
    "answer_tone": frozenset({"friendly", "direct", "humorous", "neutral"}),
    "answer_proactivity": frozenset({"proactive", "reactive"}),
    "answer_vocabulary": frozenset({"plain", "technical"}),
    ANSWER_LANGUAGE: frozenset(),
}
# Language, script and region alone: further subtags could hold any words, and the value enters prompts.
_TAG: Final = re.compile(r"[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?")
Language = Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$")]


class Stance(StrEnum):
    """The attitude of a statement; `instead`: `value` rather than `over`."""

    PREFERS = "prefers"
    AVOIDS = "avoids"
    INSTEAD = "instead"


def is_answer_style(dimension: str, value: str) -> bool:
    """Return True for a wish about answers, such as `answer_language: de`."""
    values = ANSWER_VALUES.get(dimension)
    return values is not None and (value in values or (not values and _TAG.fullmatch(value) is not None))


def check_answer_style(stance: Stance, dimension: str | None, value: str | None) -> None:
    """Raise for a wish about answers that is not one of the typed values."""
    if dimension is None or dimension not in ANSWER_VALUES:
        return
    if stance is not Stance.PREFERS or not is_answer_style(dimension, value or ""):
        values = ", ".join(sorted(ANSWER_VALUES[dimension])) or "a BCP 47 tag, such as de or en-GB"
        raise PydanticCustomError(
            "no_answer_style", "{dimension} prefers one of: {values}", {"dimension": dimension, "values": values}
        )


class Scope(StrEnum):
    """How long a statement holds."""

    NOW = "now"
    SESSION = "session"
    ALWAYS = "always"


class Bound(Model):
    """A bound of a measure: `under 20`, or `cheaper` than shown items; without a limit, it does not matter."""

    measure: Measure
    above: Amount | None = Field(None, description="Only items with more than this.")
    below: Amount | None = Field(None, description="Only items with less than this.")


class Statement(Model):
    """A statement, valid until it is revoked, expires or its session ends.

    It is about a fact (`dimension` and `value`), an item (`item_id`; `dimension` is `item`, `value` its title) or a
    measure (`bound`; `dimension` is the measure's name, `value` the bound in words). `attribute_id` names a fact as in
    the lines of skills.
    """

    statement_id: AttributeId = Field(description="Stance and attribute; a repeated statement replaces the first one.")
    stance: Stance
    attribute_id: AttributeId
    dimension: Annotated[str, Field(min_length=1, max_length=40)]
    value: Label
    over: AttributeId | None = Field(None, exclude_if=is_empty, description="instead: the replaced attribute.")
    item_id: ItemIdField | None = Field(None, exclude_if=is_empty)
    bound: Bound | None = Field(None, exclude_if=is_empty)
    words: Annotated[str, Field(max_length=MAX_WORDS)] = Field("", description="Without personal data.")
    scope: Scope = Scope.ALWAYS
    session_id: Identifier | None = Field(None, exclude_if=is_empty)
    stated_at: UtcDatetime
    until: UtcDatetime | None = Field(None, exclude_if=is_empty, description="Its end.")
    since: int = Field(1, ge=1, description="The skill's version that added it.")
    times: int = Field(1, ge=1, le=1_000_000, description="How often the person stated it.")
    evidence: Evidence


class StatementChangeKind(StrEnum):
    """The effect of an event on a statement."""

    STATED = "stated"
    WITHDRAWN = "withdrawn"  # the person took it back, or stated the opposite
    REMOVED = "removed"  # by a command
    EXPIRED = "expired"
    FULL = "full"  # there was no room
    FORGOTTEN = "forgotten"
    RESTORED = "restored"


class StatementChange(Model):
    """One change: `statement` replaces the one with this id."""

    kind: StatementChangeKind
    statement_id: AttributeId
    statement: Statement | None = Field(None, description="The new statement; none: removed.")
    reason: Annotated[str, Field(max_length=300)] = ""


class Directive(Model):
    """A statement in fields about a fact, an item or a measure."""

    stance: Stance
    dimension: Annotated[str, Field(min_length=1, max_length=120)] | None = None
    value: Label | None = None
    over: Label | None = Field(None, description="instead: the value of the same dimension that it replaces.")
    item_id: ItemIdField | None = None
    bound: Bound | None = None
    changed: bool = Field(False, description="True if the user changed their mind.")

    @model_validator(mode="after")
    def _check_subject(self) -> Self:
        is_fact = self.dimension is not None and self.value is not None
        if is_fact + (self.item_id is not None) + (self.bound is not None) != 1:
            raise PydanticCustomError("no_subject", "name either a dimension and a value, an item_id or a bound")
        is_instead = self.stance is Stance.INSTEAD
        if (self.over is not None) != is_instead or (is_instead and not is_fact):
            raise PydanticCustomError("no_instead", "instead needs dimension, value and over; nothing else has over")
        check_answer_style(self.stance, self.dimension, self.value)
        return self


class Correction(UserDomainEvent, topic="corrections"):
    """A user's statement about a ranking, an item or in general.

    `items` are those on screen, first place first, so that "the second" has a meaning. `directives` are the fields of a
    form; if it is empty, `text` is read.
    """

    text: Instruction = Field("", description="The person's own words.")
    language: Language | None = Field(None, description="BCP 47, such as `de`; none: recognised by the words.")
    items: Candidates = ()
    item_id: ItemIdField | None = Field(None, description="The item that it is about, if it is about one.")
    directives: tuple[Directive, ...] = Field((), max_length=MAX_DIRECTIVES)
    acceptable: tuple[ItemIdField, ...] = Field((), max_length=MAX_CANDIDATES, description="Items that would also do.")
    scope: Scope | None = Field(None, description="None: as the words state, else always.")
    answers: Identifier | None = Field(None, description="The question that this answers.")
    ranking_id: Identifier | None = None
    session_id: Identifier | None = None

    @model_validator(mode="after")
    def _check_content(self) -> Self:
        if not (self.text.strip() or self.directives or self.acceptable):
            raise PydanticCustomError("says_nothing", "a correction needs text, directives or acceptable items")
        shown = {item.item_id for item in self.items}
        named = {
            name
            for name in (self.item_id, *self.acceptable, *(directive.item_id for directive in self.directives))
            if name
        }
        if not named <= shown:
            raise PydanticCustomError("not_shown", "item_id and acceptable must name items of `items`")
        return self


class Speaker(StrEnum):
    """The speaker: the user, the assistant, or another (a tool, a prompt)."""

    USER = "user"
    ASSISTANT = "assistant"
    OTHER = "other"


class Utterance(UserEvent, topic="utterances"):
    """One turn of a conversation; only the user's words are evidence.

    `ends` closes the conversation, which is then processed at once. Such a turn needs no text.
    """

    conversation_id: Identifier
    turn: int = Field(ge=0, le=MAX_TURN, description="Its place in the conversation.")
    role: Speaker = Speaker.USER
    text: Annotated[str, Field(max_length=MAX_UTTERANCE_CHARS)] = ""
    language: Language | None = Field(None, description="BCP 47, such as `de`; none: recognised by the words.")
    domain: DomainField | None = Field(None, description="None: anything, and no policy skill learns from it.")
    ranking_id: Identifier | None = Field(None, description="The list that was on screen, if there was one.")
    ends: bool = Field(False, description="True if the conversation is over.")

    @model_validator(mode="after")
    def _check_text(self) -> Self:
        if not (self.text.strip() or self.ends):
            raise PydanticCustomError("says_nothing", "an utterance needs text, unless it ends the conversation")
        return self
