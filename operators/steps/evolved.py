"""The state and the effects of the agent `evolve`."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from operators.steps.graph import Remembered
from schemas import Contrast, Memory, PolicySkill, Receipt, SkillDiff, SlimSkill


class Outcome(StrEnum):
    """The outcome of an event; a metric's label."""

    EVOLVED = "evolved"
    COUNTED = "counted"
    """An interaction, counted in the skill or in the profile that it will begin with."""
    COMMANDED = "commanded"
    HEARD = "heard"
    """A signal on an item."""
    UNKNOWN_SIGNAL = "unknown-signal"
    """A signal of a kind that is not configured."""
    CORRECTED = "corrected"
    NOT_UNDERSTOOD = "not-understood"
    FOR_ANOTHER = "for-another"
    """A correction about another person's taste."""
    ABSTAINED = "abstained"
    FROZEN = "frozen"
    REPEATED = "repeated"
    FORGOTTEN = "forgotten"


@dataclass(frozen=True)
class State:
    """The state of a user in a domain.

    Attributes:
        skill: before the first choice the seed, at version 0.
        memory: the items that they took.
        shares: the share of the domain's users that hold an attribute; common ones come later in a slim skill.
        usual: the population's share of taken items that have a fact, in 1/1024.
        popularity: the number of the domain's users who took an item lately.
    """

    skill: PolicySkill
    receipt: Receipt | None = None
    memory: Memory | None = None
    shares: Mapping[str, float] | None = None
    usual: Mapping[str, int] | None = None
    popularity: Mapping[str, int] | None = None


@dataclass(frozen=True)
class Begun:
    """The first half of a choice.

    Attributes:
        contrast: without private and erased details; None if nothing is left.
        outcome: the reason not to learn from it; None: ask a reasoner.
        remembered: the update of the user's memory and of items.
    """

    contrast: Contrast | None
    outcome: Outcome | None = None
    remembered: Remembered | None = None


@dataclass(frozen=True)
class Version:
    """A version of a skill, to be written first and sent then.

    `diff` is None if the log has it; `slim` is None if apps have the right one.
    """

    skill: PolicySkill
    diff: SkillDiff | None = None
    slim: SlimSkill | None = None


@dataclass(frozen=True)
class Effects:
    """The outcome of an event, the skill after it, and its version to be applied, if any."""

    outcome: Outcome
    skill: PolicySkill
    version: Version | None = None

    @property
    def diff(self) -> SkillDiff | None:
        """The diff of the event."""
        return None if self.version is None else self.version.diff
