"""What the agent `evolve` knows of a user before a step, and what a step leads to."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from operators.steps.graph import Remembered
from schemas import Contrast, Memory, PolicySkill, Receipt, SkillDiff, SlimSkill


class Outcome(StrEnum):
    """What became of a choice or a command; a metric's label."""

    EVOLVED = "evolved"
    COUNTED = "counted"
    """An interaction: of a skill that has begun, else of what it will begin with."""
    COMMANDED = "commanded"
    HEARD = "heard"
    """A signal on an item."""
    UNKNOWN_SIGNAL = "unknown-signal"
    """A signal of a kind that nobody has configured."""
    CORRECTED = "corrected"
    NOT_UNDERSTOOD = "not-understood"
    FOR_ANOTHER = "for-another"
    """A correction that tells of somebody else's taste."""
    ABSTAINED = "abstained"
    FROZEN = "frozen"
    REPEATED = "repeated"
    FORGOTTEN = "forgotten"


@dataclass(frozen=True)
class State:
    """What is known of a user in a domain.

    Attributes:
        skill: as it is now; before the first choice the seed, at version 0.
        receipt: what of this person was forgotten.
        memory: what they took.
        shares: which share of the domain's users holds an attribute; what many have comes later in a slim skill.
        usual: the population's share of what was taken that has a fact, in 1/1024: what is to be expected of anybody.
        popularity: how many of the domain's users took an item lately.
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
        contrast: what may be learned from, without what is private or forgotten; None if all of it is.
        outcome: why nothing is learned from it; None: a reasoner is to be asked about `contrast`.
        remembered: what the user's memory and the items make of the choice; None: nothing.
    """

    contrast: Contrast | None
    outcome: Outcome | None = None
    remembered: Remembered | None = None


@dataclass(frozen=True)
class Version:
    """A version of a skill, to be written first and sent then.

    Attributes:
        skill: to be written.
        diff: to be sent once it is; None where it is in the log already.
        slim: to be sent with it; None where what apps have is right.
    """

    skill: PolicySkill
    diff: SkillDiff | None = None
    slim: SlimSkill | None = None


@dataclass(frozen=True)
class Effects:
    """What an event leads to.

    Attributes:
        outcome: what became of it.
        skill: as it is afterwards.
        version: the version that came of it, to be applied; None: there is none.
    """

    outcome: Outcome
    skill: PolicySkill
    version: Version | None = None

    @property
    def diff(self) -> SkillDiff | None:
        """What the event did to the skill; None: nothing."""
        return None if self.version is None else self.version.diff
