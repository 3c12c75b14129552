"""Skill diffs, the source of truth, and the skill they fold into."""

from enum import StrEnum
from typing import Annotated, Any, NamedTuple, Self

from pydantic import Field

from .base import (
    AttributeId,
    Digest,
    Identifier,
    ItemIdField,
    Label,
    Model,
    Position,
    Provenance,
    Text,
    UserDomainEvent,
    UtcDatetime,
    as_array,
    is_empty,
    is_none,
)
from .events import Beliefs, SignalName
from .items import Fact, NumberName
from .skills import (
    MAX_ATTRIBUTES,
    MAX_HYPOTHESES,
    MAX_RECENT,
    MAX_SESSIONS,
    MAX_SLIM_LINES,
    ONE,
    Attribute,
    Count,
    Evidence,
    HypothesisCounts,
    SkillSession,
    Strategy,
    Tier,
)
from .statements import MAX_STATEMENTS, MAX_WORDS, Statement, StatementChange

MAX_HABITS = 64
# A question about how a person decides, such as `price`; `operators.learning.habits` has them all.
HabitName = Annotated[str, Field(pattern=r"^[a-z][a-z_]{0,39}$")]
_Parts = Annotated[int, Field(ge=0, lt=2**31)]


@as_array
class HabitCounts(NamedTuple):
    """The evidence on one question, in 1/1024 of a choice, fading.

    A choice from ten films, six of them newer than the list's median, adds 1,024 to `asked`, 614 to `expected`, and
    1,024 to `taken` if the film is one of the six.
    """

    taken: _Parts = 0
    expected: _Parts = 0
    asked: _Parts = 0


# The addition of a choice to `taken` and `expected`, in 1/1024; to `asked` it adds 1,024.
HabitAdded = tuple[Annotated[int, Field(ge=0, le=1_024)], Annotated[int, Field(ge=1, le=1_023)]]


class SkillChangeKind(StrEnum):
    """The effect of an event on an attribute."""

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
    SHIFTED = "shifted"  # the taste has changed, by the user's words or choices
    FADED = "faded"  # not confirmed for a long time
    OVERTAKEN = "overtaken"  # older than a change of taste


class SkillChange(Model):
    """One change, with the tier rule already applied.

    `before` is None for a discovered attribute, `after` for a removed one. A weakened attribute with equal tiers was
    contradicted without being demoted. `counts` are the new `taken` and `expected` of a line that a command set.
    """

    kind: SkillChangeKind
    attribute_id: AttributeId
    before: Tier | None = None
    after: Tier | None = None
    discovered: Attribute | None = Field(None, description="The new line: discovered, added, reworded or restored.")
    counts: tuple[Count, Count] | None = Field(None, exclude_if=is_empty)
    reason: Annotated[str, Field(max_length=300)] = ""

    @classmethod
    def of(cls, line: Attribute, kind: SkillChangeKind, after: Tier | None = None, **fields: Any) -> Self:
        """Return a line's move to another tier, by default its removal."""
        return cls.trusted(kind=kind, attribute_id=line.attribute_id, before=line.tier, after=after, **fields)

    @classmethod
    def new(cls, line: Attribute, kind: SkillChangeKind, **fields: Any) -> Self:
        """Return the change that brings in a line."""
        return cls.trusted(kind=kind, attribute_id=line.attribute_id, after=line.tier, discovered=line, **fields)


_Part = Annotated[int, Field(ge=0, le=16 * 1_024)]
# What is added to a line's counts, taken and expected, and to its proof, in 1/1024.
Added = tuple[_Part, _Part, Annotated[int, Field(gt=-(2**20), lt=2**20)]]


NumberPair = Annotated[str, Field(pattern=r"^[a-z][a-z_]{0,19} [a-z][a-z_]{0,19}$")]
_Sum = Annotated[int, Field(gt=-(2**53), lt=2**53)]
MAX_NUMBERS = 24


class NumberSums(Model):
    """A person's evidence on numbers, in 1/1024; `operators.learning.tradeoffs` reads it.

    `pulls` and `proofs` (in nats) have a sum per number, `curves` one per pair of numbers, such as `changes price`.
    """

    pulls: dict[NumberName, _Sum] = Field(default_factory=dict, max_length=MAX_NUMBERS, exclude_if=is_empty)
    curves: dict[NumberPair, _Sum] = Field(default_factory=dict, max_length=300, exclude_if=is_empty)
    proofs: dict[NumberName, _Sum] = Field(default_factory=dict, max_length=MAX_NUMBERS, exclude_if=is_empty)


@as_array
class TradeOff(NamedTuple):
    """A trade-off in the words of a slim skill; empty: none is clear.

    `numbers` are those whose lines it replaces; without them it is about the domain's people.
    """

    words: Annotated[str, Field(max_length=160)] = ""
    numbers: Annotated[tuple[NumberName, ...], Field(max_length=2)] = ()


class CountDelta(Model):
    """The effect of an event on the counts of a skill's lines and hypotheses.

    Folding applies it in this order: lines without counts start with `begun`; every line except stated ones decays,
    `count -= count // forget`, and `aged` extra times after a long absence; then `lines` are added. A fact that is
    neither a line nor a hypothesis begins as one. Discovered lines have their own counts. `drift` is the new state of
    each line's drift test.
    """

    forget: int = Field(0, ge=0, le=1_024, description="Divisor of the decay; 0: none.")
    begun: dict[AttributeId, tuple[Count, Count]] = Field(
        default_factory=dict, max_length=MAX_ATTRIBUTES + MAX_HYPOTHESES, exclude_if=is_empty
    )
    lines: dict[AttributeId, Added] = Field(default_factory=dict, max_length=MAX_ATTRIBUTES + 2 * MAX_HYPOTHESES)
    aged: int = Field(0, ge=0, le=256, exclude_if=is_empty)
    drift: dict[AttributeId, Annotated[int, Field(ge=0, le=64 * ONE)]] = Field(
        default_factory=dict, max_length=MAX_ATTRIBUTES, exclude_if=is_empty
    )
    habits_forget: int = Field(0, ge=0, le=1_024, exclude_if=is_empty)
    habits: dict[HabitName, HabitAdded] = Field(default_factory=dict, max_length=MAX_HABITS, exclude_if=is_empty)
    numbers_forget: int = Field(0, ge=0, le=1_024, exclude_if=is_empty, description="Divisor of the sums' decay.")
    numbers: NumberSums | None = Field(None, exclude_if=is_none, description="The additions to the skill's sums.")


class RefusalReason(StrEnum):
    """The reason why the merge refused a proposal."""

    UNKNOWN = "unknown-attribute"
    UNSUPPORTED = "no-evidence"
    ALSO_REINFORCED = "also-reinforced"
    CAPPED = "capped"
    PINNED = "pinned"
    FULL = "full"
    ALREADY_SO = "already-so"
    PRIVATE = "private"  # the id names only the kind of personal data
    WITHHELD = "withheld"  # its words may not enter a prompt


class RefusedProposal(Model):
    """A proposal that did not enter the skill."""

    attribute_id: AttributeId
    proposed: SkillChangeKind
    why: RefusalReason


class Verdict(StrEnum):
    """A model's verdict: does the chosen item support a line?"""

    SUPPORTS = "supports"
    UNRELATED = "unrelated"
    CONTRADICTS = "contradicts"


class Judgement(Model):
    """A model's verdict on one line, with its quoted fact."""

    attribute_id: AttributeId
    verdict: Verdict
    quoted: Fact | None = Field(None, description="None if the quoted fact is not the item's.")


class NotUnderstood(StrEnum):
    """The reason why a correction changed nothing."""

    FOR_ANOTHER = "for-another"  # another person's taste
    NOT_KEPT = "not-kept"  # private data
    NOT_READ = "not-read"  # orders to a machine, or irony
    OTHER_LANGUAGE = "other-language"
    NO_MEASURE = "no-measure"  # a comparison, and no item shown has the measure
    UNKNOWN_NAME = "unknown-name"  # no item and no value of this domain
    NO_WISH = "no-wish"  # a name, but in no sentence that states a wish


class DiffTrigger(Model):
    """The signal, correction or abstention behind a diff.

    `explanation` is for the user: the reason, examples, and omitted private data, whose kinds are in `not_kept`.
    """

    what: SignalName = Field(description="The signal, or `correction`, or `abstention`.")
    words: Annotated[str, Field(max_length=MAX_WORDS)] = Field("", exclude_if=is_empty)
    value: float | None = Field(None, exclude_if=is_none)
    understood: bool = True
    by_pattern: Annotated[str, Field(max_length=80)] = Field("", exclude_if=is_empty)
    why: NotUnderstood | None = Field(None, exclude_if=is_none, description="Why a correction changed nothing.")
    explanation: Annotated[str, Field(max_length=400)] = Field("", exclude_if=is_empty)
    not_kept: tuple[Label, ...] = Field((), max_length=16, exclude_if=is_empty)


class SkillDiff(UserDomainEvent, topic="skill-diffs"):
    """One version of a skill: the effect of the event `event_id`.

    The first diff of a skill has its `seed`, so that the log alone rebuilds every skill. Without `slim_lines` the slim
    skill's lines are unchanged. Imported lines already count interactions up to `counted_until`.
    """

    base_version: int = Field(ge=0)
    version: int = Field(ge=1)
    seed: tuple[Attribute, ...] | None = Field(None, max_length=MAX_ATTRIBUTES)
    seed_hypotheses: dict[AttributeId, HypothesisCounts] = Field(
        default_factory=dict, max_length=MAX_HYPOTHESES, exclude_if=is_empty, description="Hypotheses of the seed."
    )
    seeded_from: tuple[Position, ...] = Field((), max_length=4, exclude_if=is_empty)
    counted_until: UtcDatetime | None = Field(None, exclude_if=is_empty)
    changes: tuple[SkillChange, ...] = Field((), max_length=4 * MAX_ATTRIBUTES)
    count_delta: CountDelta | None = Field(None, description="None: the counts are unchanged.")
    hypotheses: dict[AttributeId, HypothesisCounts] | None = Field(
        None,
        max_length=MAX_HYPOTHESES,
        exclude_if=is_none,
        description="Those of a restored version or an import.",
    )
    item_taken: ItemIdField | None = Field(None, exclude_if=is_none, description="It joins the skill's `items`.")
    stated: tuple[StatementChange, ...] = Field((), max_length=2 * MAX_STATEMENTS, exclude_if=is_empty)
    shifted: bool = Field(False, exclude_if=is_empty, description="The taste may have changed.")
    beliefs: Beliefs | None = Field(None, exclude_if=is_empty)
    session: SkillSession | None = Field(None, exclude_if=is_empty, description="The new state of the session.")
    trigger: DiffTrigger | None = Field(None, exclude_if=is_empty)
    slim_lines: tuple[AttributeId, ...] | None = Field(None, max_length=MAX_SLIM_LINES, exclude_if=is_none)
    slim_by: Provenance | None = Field(None, exclude_if=is_none, description="If a model was asked for slim lines.")
    trade_off: TradeOff | None = Field(None, exclude_if=is_none, description="The slim skill's new trade-off.")
    refused: tuple[RefusedProposal, ...] = Field((), max_length=4 * MAX_ATTRIBUTES)
    evidence: Evidence
    is_contrast: bool = True
    frozen: bool | None = Field(None, description="The skill's new `frozen`; none: unchanged.")
    rolled_back_to: int | None = Field(None, ge=0, description="The version that this one restores.")
    reasoned_by: Provenance = Provenance()
    analysis: Text = Field("", description="The reasoner's analysis of the choice, for people.")
    judged: tuple[Judgement, ...] = Field((), max_length=MAX_ATTRIBUTES, description="A model's verdicts.")
    source: Position | None = None
    rewritten: int = Field(0, ge=0, description="How often erasures rewrote this log.")
    chain: Digest | None = Field(None, description="Seals this version and all earlier ones.")


class PolicySkill(UserDomainEvent, topic="skills"):
    """A user's attributes in a domain: the fold of their diffs.

    `event_id` is the last diff's, `occurred_at` the latest; `recent` has the last event ids, oldest first; `applied` is
    the position in each source topic; `last_diff` lets a restarted worker send it again, byte for byte.
    """

    version: int = Field(0, ge=0)
    contrasts: int = Field(0, ge=0, description="How many contrasts it has learned from.")
    attributes: tuple[Attribute, ...] = Field((), max_length=MAX_ATTRIBUTES)
    hypotheses: dict[AttributeId, HypothesisCounts] = Field(
        default_factory=dict,
        max_length=MAX_HYPOTHESES,
        exclude_if=is_empty,
        description="Facts without a proof of one nat: taken, expected and proof.",
    )
    items: tuple[ItemIdField, ...] = Field(
        (), max_length=MAX_RECENT, exclude_if=is_empty, description="Items taken lately, newest last."
    )
    habits: dict[HabitName, HabitCounts] = Field(default_factory=dict, max_length=MAX_HABITS, exclude_if=is_empty)
    numbers: NumberSums | None = Field(None, exclude_if=is_none)
    stated: tuple[Statement, ...] = Field((), max_length=MAX_STATEMENTS, exclude_if=is_empty)
    shifted: int = Field(0, ge=0, exclude_if=is_empty, description="The version of the last change.")
    beliefs: Beliefs | None = Field(None, exclude_if=is_empty)
    sessions: tuple[SkillSession, ...] = Field((), max_length=MAX_SESSIONS, exclude_if=is_empty)
    slim_lines: tuple[AttributeId, ...] = Field((), max_length=MAX_SLIM_LINES, exclude_if=is_empty)
    trade_off: TradeOff = Field(TradeOff(), exclude_if=lambda found: not found.words)
    strategy: Strategy = Strategy()
    frozen: bool = Field(False, description="True if a person froze it.")
    recent: tuple[Identifier, ...] = Field((), max_length=MAX_RECENT)
    applied: tuple[Position, ...] = Field((), max_length=8)
    counted_until: UtcDatetime | None = Field(None, exclude_if=is_empty)
    last_diff: SkillDiff | None = None
    rewritten: int = Field(0, ge=0, description="The last diff's.")
    chain: Digest | None = Field(None, description="The last diff's seal.")
