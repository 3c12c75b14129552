"""Skill diffs, the log of truth, and the policy skill that they fold into (paper 2.5)."""

from enum import StrEnum
from typing import Annotated, ClassVar

from pydantic import Field

from .base import Event, Model, is_none, is_nothing
from .events import MAX_CANDIDATES
from .feedback import SignalName
from .fields import AttributeId, DomainField, Identifier, Label, Text, UserIdField, UtcDatetime
from .fit import Beliefs
from .forgetting import Digest
from .habits import MAX_HABITS, HabitAdded, HabitName, HeldHabit
from .items import Fact
from .reasoned import ReasonedBy
from .sessions import MAX_SESSIONS, Session
from .skills import (
    MAX_ATTRIBUTES,
    MAX_RECENT,
    MAX_SLIM_LINES,
    ONE,
    Attribute,
    Count,
    Evidence,
    Position,
    Strategy,
    Tier,
)
from .statements import MAX_STATEMENTS, MAX_WORDS, Statement, StatementChange


class ChangeKind(StrEnum):
    """What one event can do to one attribute."""

    REINFORCED = "reinforced"
    DISCOVERED = "discovered"
    WEAKENED = "weakened"
    REMOVED = "removed"
    EVICTED = "evicted"
    PINNED = "pinned"
    UNPINNED = "unpinned"
    ADDED = "added"
    REWORDED = "reworded"
    SET = "set"
    RESTORED = "restored"
    FORGOTTEN = "forgotten"
    SHIFTED = "shifted"
    """The taste has changed, where the person said so, or may have changed, where choices suggest it."""
    FADED = "faded"
    """Nothing confirmed it for long."""
    OVERTAKEN = "overtaken"
    """It is older than a change of taste, stated by the person or suggested by their choices."""


class Change(Model):
    """One effective change. The tier rule has been applied already: folding needs no rule and no setting.

    `before` is None for a discovered attribute, `after` is None for a removed one. A weakened attribute with
    `before == after` was contradicted without being demoted.
    """

    kind: ChangeKind
    attribute_id: AttributeId
    before: Tier | None = None
    after: Tier | None = None
    discovered: Attribute | None = Field(
        default=None, description="The new line, where the change brings one: discovered, added, reworded, restored."
    )
    counts: tuple[Count, Count] | None = Field(
        default=None,
        exclude_if=is_nothing,
        description="Of a line that a person set: what now counts as taken and expected, in 1/1024.",
    )
    reason: Annotated[str, Field(max_length=300)] = ""


Added = tuple[Annotated[int, Field(ge=0, le=16 * 1_024)], Annotated[int, Field(ge=0, le=16 * 1_024)]]
"""What is added to a line's counts, taken and expected, in 1/1024."""


class Tally(Model):
    """What one event did to the counts of a skill's lines.

    Where the person was away for long, everything is forgotten `aged` extra times. `drift` is where each line's test of
    change stands now.

    In this order: lines from before counts get those of `begun`; every line but those that a person stated forgets,
    `count -= count // forget`; then `lines` are added, and `places` to what a line has gained. Lines that the event
    discovers come with counts of their own.
    """

    forget: int = Field(default=0, ge=0, le=1_024, description="What part of each count is forgotten; 0: nothing.")
    begun: dict[AttributeId, tuple[Count, Count]] = Field(
        default_factory=dict, max_length=MAX_ATTRIBUTES, exclude_if=is_nothing
    )
    lines: dict[AttributeId, Added] = Field(default_factory=dict, max_length=MAX_ATTRIBUTES)
    places: dict[AttributeId, Annotated[int, Field(ge=-MAX_CANDIDATES * ONE, le=MAX_CANDIDATES * ONE)]] = Field(
        default_factory=dict,
        max_length=MAX_ATTRIBUTES,
        exclude_if=is_nothing,
        description="By how many places, in 1/1024, a line lifted what was taken, by the skill alone.",
    )
    aged: int = Field(
        default=0, ge=0, le=256, exclude_if=is_nothing, description="How many extra times `forget` is applied."
    )
    drift: dict[AttributeId, Annotated[int, Field(ge=0, le=64 * ONE)]] = Field(
        default_factory=dict, max_length=MAX_ATTRIBUTES, exclude_if=is_nothing
    )
    habits_forget: int = Field(
        default=0,
        ge=0,
        le=1_024,
        exclude_if=is_nothing,
        description="What part of its counts a habit that `habits` names forgets first.",
    )
    habits: dict[HabitName, HabitAdded] = Field(
        default_factory=dict,
        max_length=MAX_HABITS,
        exclude_if=is_nothing,
        description="What was added to each question that the list asked.",
    )


class Refusal(StrEnum):
    """Why the merge refused a reasoner's proposal."""

    UNKNOWN = "unknown-attribute"
    UNSUPPORTED = "no-evidence"
    ALSO_REINFORCED = "also-reinforced"
    CAPPED = "capped"
    PINNED = "pinned"
    FULL = "full"
    ALREADY_SO = "already-so"
    PRIVATE = "private"
    """Personal data, or a sensitive category that the domain may not learn; the id names only the kind."""


class Refused(Model):
    """A proposal that did not enter the skill, and why: counted, and kept for the analyst."""

    attribute_id: AttributeId
    proposed: ChangeKind
    why: Refusal


class Verdict(StrEnum):
    """What a chosen item says of a line, as a model judges it."""

    SUPPORTS = "supports"
    UNRELATED = "unrelated"
    CONTRADICTS = "contradicts"


class Judgement(Model):
    """A model's verdict on one line, with the fact of the chosen item that it quoted for it.

    It is what the model said, not what came of it: that is in the diff's changes.
    """

    attribute_id: AttributeId
    verdict: Verdict
    quoted: Fact | None = Field(default=None, description="None where the model quoted no fact of the chosen item.")


class NotUnderstood(StrEnum):
    """Why words changed nothing."""

    FOR_ANOTHER = "for-another"
    """They are about another person's taste."""
    NOT_KEPT = "not-kept"
    """They contain private data, which are not kept."""
    NOT_READ = "not-read"
    """They give orders to a machine, or mean the opposite."""
    OTHER_LANGUAGE = "other-language"
    NO_MEASURE = "no-measure"
    """They compare, and no item is shown that has the measure."""
    UNKNOWN_NAME = "unknown-name"
    """They name no item and no value that this domain has."""
    NO_WISH = "no-wish"
    """They name something, but in no sentence that the rules know as a wish."""


class Heard(Model):
    """What a diff answers, where it is no choice and no command: a signal, a correction or an abstention."""

    what: SignalName = Field(description="The signal, or `correction`, or `abstention`.")
    words: Annotated[str, Field(max_length=MAX_WORDS)] = Field(default="", exclude_if=is_nothing)
    value: float | None = Field(default=None, exclude_if=is_none)
    understood: bool = True
    by_pattern: Annotated[str, Field(max_length=80)] = Field(default="", exclude_if=is_nothing)
    why: NotUnderstood | None = Field(
        default=None, exclude_if=is_none, description="Of a correction: why it changes nothing."
    )
    explanation: Annotated[str, Field(max_length=400)] = Field(
        default="",
        exclude_if=is_nothing,
        description="For the person: the reason, examples that would be understood, private data left out, and the "
        "effect of words that state nothing.",
    )
    not_kept: tuple[Label, ...] = Field(
        default=(), max_length=16, exclude_if=is_nothing, description="Kinds of private data left out, such as health."
    )


class SkillDiff(Event):
    """What one event changed in one skill. `event_id` names the contrast, command, feedback or correction it answers.

    The first diff of a skill carries its `seed`, so that the log alone rebuilds every skill.
    """

    TOPIC: ClassVar[str] = "skill-diffs"

    user_id: UserIdField
    domain: DomainField
    base_version: int = Field(ge=0)
    version: int = Field(ge=1)
    seed: tuple[Attribute, ...] | None = Field(default=None, max_length=MAX_ATTRIBUTES)
    seeded_from: tuple[Position, ...] = Field(
        default=(),
        max_length=4,
        exclude_if=is_nothing,
        description="Up to where the person's interactions are counted in the seed.",
    )
    counted_until: UtcDatetime | None = Field(
        default=None,
        exclude_if=is_nothing,
        description="Interactions from until then are in the lines already: they were brought along with them.",
    )
    changes: tuple[Change, ...] = Field(default=(), max_length=4 * MAX_ATTRIBUTES)
    tally: Tally | None = Field(default=None, description="What it added to the counts; none: no count was touched.")
    stated: tuple[StatementChange, ...] = Field(
        default=(), max_length=2 * MAX_STATEMENTS, exclude_if=is_nothing, description="What the person said by it."
    )
    shifted: bool = Field(
        default=False,
        exclude_if=is_nothing,
        description="The person's taste has changed, or may have: earlier statements are doubtful.",
    )
    beliefs: Beliefs | None = Field(
        default=None, exclude_if=is_nothing, description="How probable something unknown suits, from this version on."
    )
    session: Session | None = Field(default=None, exclude_if=is_nothing, description="The session as it is now.")
    heard: Heard | None = Field(default=None, exclude_if=is_nothing)
    slim_lines: tuple[AttributeId, ...] | None = Field(
        default=None,
        max_length=MAX_SLIM_LINES,
        exclude_if=is_none,
        description="The lines in the slim skill from this version on, in their order; none: unchanged.",
    )
    refused: tuple[Refused, ...] = Field(default=(), max_length=4 * MAX_ATTRIBUTES)
    evidence: Evidence
    is_contrast: bool = True
    frozen: bool | None = Field(
        default=None, description="Whether the skill stops learning from this version on; none: unchanged."
    )
    rolled_back_to: int | None = Field(default=None, ge=0, description="The version that this one restores.")
    reasoned_by: ReasonedBy = ReasonedBy()
    analysis: Text = Field(default="", description="What the reasoner thought of the choice; read by people only.")
    judged: tuple[Judgement, ...] = Field(
        default=(), max_length=MAX_ATTRIBUTES, description="What a model said of each line that it was asked about."
    )
    source: Position | None = None
    rewritten: int = Field(default=0, ge=0, description="How often this skill's log was rewritten to remove a line.")
    chain: Digest | None = Field(
        default=None, description="Seals this version and, through the seal before, all versions before it."
    )


class PolicySkill(Event):
    """All attributes of one user in one domain, at a version: the fold of the user's diffs.

    `event_id` and `occurred_at` are those of the last diff; `recent` holds the last event ids, oldest first;
    `applied` is the position reached in each source topic; `last_diff` is kept so that a diff whose delivery is in
    doubt after a crash can be sent again, byte for byte.
    """

    TOPIC: ClassVar[str] = "skills"

    user_id: UserIdField
    domain: DomainField
    version: int = Field(default=0, ge=0)
    contrasts: int = Field(default=0, ge=0, description="How many contrasts it has learned from.")
    attributes: tuple[Attribute, ...] = Field(default=(), max_length=MAX_ATTRIBUTES)
    habits: dict[HabitName, HeldHabit] = Field(
        default_factory=dict,
        max_length=MAX_HABITS,
        exclude_if=is_nothing,
        description="How they decide, in counts; sure ones are lines too.",
    )
    stated: tuple[Statement, ...] = Field(
        default=(), max_length=MAX_STATEMENTS, exclude_if=is_nothing, description="What the person said of their taste."
    )
    shifted: int = Field(
        default=0,
        ge=0,
        exclude_if=is_nothing,
        description="The version at which their taste last changed, or may have.",
    )
    beliefs: Beliefs | None = Field(default=None, exclude_if=is_nothing)
    sessions: tuple[Session, ...] = Field(default=(), max_length=MAX_SESSIONS, exclude_if=is_nothing)
    slim_lines: tuple[AttributeId, ...] = Field(
        default=(),
        max_length=MAX_SLIM_LINES,
        exclude_if=is_nothing,
        description="The lines in the slim skill, in their order: likes, then style.",
    )
    strategy: Strategy = Strategy()
    frozen: bool = Field(default=False, description="Whether a person has stopped it from learning.")
    recent: tuple[Identifier, ...] = Field(default=(), max_length=MAX_RECENT)
    applied: tuple[Position, ...] = Field(default=(), max_length=8)
    counted_until: UtcDatetime | None = Field(default=None, exclude_if=is_nothing)
    last_diff: SkillDiff | None = None
    rewritten: int = Field(default=0, ge=0, description="The last diff's.")
    chain: Digest | None = Field(default=None, description="The last diff's seal.")
