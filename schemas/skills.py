"""The parts of a policy skill (paper 2.3)."""

from datetime import datetime
from enum import IntEnum, StrEnum
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from .base import (
    AttributeId,
    Digest,
    DomainField,
    Event,
    Identifier,
    ItemIdField,
    Label,
    Model,
    Provenance,
    Share,
    Text,
    UserDomainEvent,
    UtcDatetime,
    as_array,
    is_empty,
)

MAX_ATTRIBUTES = 64
MAX_HYPOTHESES = 128
MAX_EVIDENCE = 3
MAX_QUOTE = 120
MAX_RECENT = 32
# In the longest slim skill: sixteen likes, six wishes about answers and two style phrases.
MAX_SLIM_LINES = 24
MAX_POPULAR = 8_192
MAX_USUAL = 512
MAX_STRATEGY = 40
MAX_SESSIONS = 2
MAX_SESSION_LINES = 24
# A whole count in fixed point: counts of evidence are integers, so that every fold gives the same bytes.
ONE = 1_024
# By the tier's number.
_TIER_NAMES = ("silent", "low", "medium", "high")


class Tier(IntEnum):
    """The certainty of an attribute; silent lines are only counted."""

    SILENT = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3

    @classmethod
    def parse(cls, value: Any) -> "Tier":
        """Return the tier of this name, or a tier as it is.

        Raises:
            ValueError: there is no such tier.
        """
        if isinstance(value, cls):
            return value
        if isinstance(value, str) and (found := _TIERS.get(value.lower())) is not None:
            return found
        raise ValueError("must be 'silent', 'low', 'medium' or 'high'")

    def __str__(self) -> str:
        return _TIER_NAMES[self]

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        # A C function: every choice writes a skill with up to 40 tiers.
        written = core_schema.plain_serializer_function_ser_schema(_TIER_NAMES.__getitem__, when_used="json")
        return core_schema.no_info_plain_validator_function(cls.parse, serialization=written)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string", "enum": list(_TIER_NAMES)}


_TIERS = {str(tier): tier for tier in Tier}


class AttributeKind(StrEnum):
    """The three sections of a skill (paper 2.3)."""

    PREFERENCE = "preference"
    PATTERN = "pattern"
    CRITERION = "criterion"


class AttributeSource(StrEnum):
    """The origin of an attribute."""

    PRIOR = "prior"
    GLOBAL = "global"
    DISCOVERED = "discovered"
    STATED = "stated"


# A count of evidence in 1/1024.
Count = Annotated[int, Field(ge=0, le=1_024 * ONE)]
# Of a fact that is not yet a line: taken, expected and proof.
HypothesisCounts = tuple[Count, Count, int]


@as_array
class Evidence(NamedTuple):
    """The event and the item behind an attribute, such as `["c1", "dune"]`."""

    event_id: Identifier
    item_id: ItemIdField | None = None


class Attribute(Model):
    """One line of a skill: an attraction, never an avoidance (invariant 5).

    `confirmed_at` and `weakened_at` are the skill's number of contrasts at that time.

    `taken` and `expected` are the evidence, in 1/1024 of a choice and decaying with every choice: how often the user
    took items with this fact, and how often a random choice from the shown items would have. The tier follows from
    them. Both are 0 in lines of a template.

    `proof` is the sum of the line's bets, decaying too: before each choice it bets on its value. The tier of a line
    that no statement made follows from it.
    """

    attribute_id: AttributeId
    kind: AttributeKind
    dimension: Annotated[str, Field(min_length=1, max_length=40)]
    value: Label
    tier: Tier
    source: AttributeSource = AttributeSource.DISCOVERED
    taken: Count = 0
    expected: Count = 0
    proof: int = Field(0, exclude_if=is_empty, description="Nats that the line has won against luck, in 1/1024.")
    support: int = Field(0, ge=0, description="Choices that confirmed it, the prior's included.")
    drift: int = Field(0, ge=0, le=64 * ONE, exclude_if=is_empty, description="Evidence of a changed taste.")
    contradictions: int = Field(0, ge=0, description="Since it was last confirmed or demoted.")
    confirmed_at: int = Field(0, ge=0)
    weakened_at: int | None = Field(None, ge=0)
    pinned: bool = False
    quote: Annotated[str, Field(max_length=MAX_QUOTE)] = Field(
        "", exclude_if=is_empty, description="An item's words in which a model found the value."
    )
    evidence: tuple[Evidence, ...] = Field((), max_length=MAX_EVIDENCE)


class Strategy(Model):
    """Hints for ranking (App. E.3), derived from the attributes at every version."""

    must_include: tuple[Label, ...] = Field((), max_length=5)
    tie_breaker: Annotated[str, Field(max_length=200)] = ""


class SessionLine(Model):
    """A fact of a session's items, counted like a skill's lines."""

    attribute_id: AttributeId
    dimension: Annotated[str, Field(min_length=1, max_length=40)]
    value: Label
    taken: Count = 0
    expected: Count = 0


class SkillSession(Model):
    """The user's choices in a session, which overlay a skill."""

    session_id: Identifier
    last_at: UtcDatetime
    until: UtcDatetime
    events: int = Field(0, ge=0)
    lines: tuple[SessionLine, ...] = Field((), max_length=MAX_SESSION_LINES)


_UNSEEN = r"\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
_WORD = r"""[^\s"'`|,:;<>\[\]{}\\=*_@~^""" + _UNSEEN + "]+"
_PHRASE = f"{_WORD}(?: {_WORD})*"
_PARTS = "|".join(f"{part}: {_PHRASE}(?:, {_PHRASE})*" for part in ("likes", "avoids", "now", "style"))
# The form of a slim skill's text, so that a host can quote it: no line break, quotation mark, bracket or invisible
# sign, and a bar only between its parts. The producer promises it; readers do not check it.
SLIM_TEXT = rf"^(?:(?:{_PARTS})(?: \| (?:{_PARTS}))*)?$"


class SlimLine(Model):
    """A line of a slim skill's text, for hosts that compare values."""

    dimension: Annotated[str, Field(max_length=40)]
    value: Label
    stance: Literal["prefers", "avoids"]


# Likes and style, and with them three avoidances and two lines for now.
SlimLines = Annotated[tuple[SlimLine, ...], Field(max_length=MAX_SLIM_LINES + 5)]


class SlimSkill(UserDomainEvent, topic="slim-skills"):
    """The likes and style that an app injects into its prompt.

    `now` has temporary wishes, such as `no sci-fi`, or else the session's additions. Until `session_until`,
    `session_text` replaces `text`: within the session, or everywhere without a `session_id`.
    """

    skill_version: int = Field(ge=0)
    text: Text = Field(
        description="`likes: X, Y | avoids: Z | style: phrase`, each part if any; empty without certain lines.",
        json_schema_extra={"pattern": SLIM_TEXT},
    )
    likes: tuple[Label, ...] = Field((), max_length=3)
    avoids: tuple[Label, ...] = Field((), max_length=3, exclude_if=is_empty)
    session_id: Identifier | None = Field(None, exclude_if=is_empty)
    session_until: UtcDatetime | None = Field(None, exclude_if=is_empty)
    now: tuple[Label, ...] = Field((), max_length=2, exclude_if=is_empty)
    session_text: Text = Field("", exclude_if=is_empty, json_schema_extra={"pattern": SLIM_TEXT})
    style: Annotated[str, Field(max_length=400)] = ""
    lines: SlimLines = Field(default=(), exclude_if=is_empty, description="The lines of `text`, in its words.")
    session_lines: SlimLines = Field(default=(), exclude_if=is_empty, description="The lines of `session_text`.")
    tokens: int = Field(ge=0, description="Length of `text` in o200k tokens.")
    seal: Digest | None = Field(None, description="The worker's proof, with the deployment's secret.")

    def text_at(self, now: datetime, session_id: str | None = None) -> str:
        """Return the text to inject at this moment."""
        return self.session_text if self.is_within(now, session_id) and self.session_text else self.text

    def lines_at(self, now: datetime, session_id: str | None = None) -> tuple[SlimLine, ...]:
        """Return the lines of `text_at`."""
        return self.session_lines if self.is_within(now, session_id) and self.session_text else self.lines

    def is_within(self, now: datetime, session_id: str | None = None) -> bool:
        """Return True while `session_text` applies in this session."""
        is_for = self.session_id is None or self.session_id == session_id
        return is_for and self.session_until is not None and now < self.session_until


class PersonaName(StrEnum):
    """Users by the length of their history; of the longest ones, by breadth."""

    LIGHT = "light"
    MODERATE = "moderate"
    BROAD = "broad"
    NARROW = "narrow"


class Persona(Model):
    """A part of a domain's users, and its exploration strategy (App. D)."""

    name: PersonaName
    users: int = Field(ge=0)
    share: Share
    established: Share | None = Field(None, description="The part of established tastes; null: guided discovery.")
    strategy: Annotated[str, Field(min_length=1, max_length=MAX_STRATEGY)]


class GlobalSkill(Event, topic="global-skills"):
    """A domain's population template, for users without history (paper 2.3, App. D).

    `shares` has the share of users with an attribute, `usual` that of taken items with a fact, and `items` the number
    of users who lately took each popular item.
    """

    domain: DomainField
    users: int = Field(ge=0, description="The number of users behind it.")
    attributes: tuple[Attribute, ...] = Field((), max_length=MAX_ATTRIBUTES)
    shares: dict[AttributeId, Share] = Field(default_factory=dict, max_length=512)
    usual: dict[AttributeId, Share] = Field(default_factory=dict, max_length=MAX_USUAL)
    items: dict[ItemIdField, Annotated[int, Field(ge=0)]] = Field(default_factory=dict, max_length=MAX_POPULAR)
    personas: tuple[Persona, ...] = Field((), max_length=len(PersonaName), exclude_if=is_empty)
    reasoned_by: Provenance = Provenance()
