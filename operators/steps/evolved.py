"""The state and the effects of the agent `evolve`, and the versions of skills."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial

from operators.chain import seal
from operators.merge import merge
from operators.seals import sealed
from operators.slim import select, slim
from operators.steps.graph import Remembered
from operators.vouch import Vouching
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

    `skill` is the seed at version 0 before the first choice. `shares` are those of the domain's users that hold an
    attribute, `usual` those of taken items that have a fact, in 1/1024. `popularity` counts the users who took an item
    lately.
    """

    skill: PolicySkill
    receipt: Receipt | None = None
    memory: Memory | None = None
    shares: Mapping[str, float] | None = None
    usual: Mapping[str, int] | None = None
    popularity: Mapping[str, int] | None = None


@dataclass(frozen=True)
class Begun:
    """The first half of a choice, without private and erased details; without an `outcome`, ask a reasoner."""

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


@dataclass(frozen=True, kw_only=True)
class Versions:
    """How versions of skills are made.

    `slim_tokens` is the slim skill's budget, None for no slim skill. `chain_key` is the secret of all seals, empty for
    seals without a secret, None for no seals.
    """

    slim_tokens: int | None = None
    chain_key: bytes | None = None
    vouching: Vouching = field(kw_only=True)

    def evolved(self, outcome: Outcome, state: State, diff: SkillDiff) -> Effects:
        """Return the effects of an event with its diff."""
        version = self.version(state, diff)
        return Effects(outcome, version.skill, version)

    def version(self, state: State, diff: SkillDiff, *, always: bool = False) -> Version:
        """Return the version after a diff, with a slim skill if apps would read another one, or `always`.

        The diff is sealed here, and gets the lines of the slim skill if they change.
        """
        skill = state.skill
        evolved = merge(skill, diff)
        if self.slim_tokens is not None:
            lines = select(evolved, self.slim_tokens, state.shares, vouching=self.vouching)
            if lines != skill.slim_lines:
                diff = diff.model_copy(update={"slim_lines": lines})
                evolved = evolved.model_copy(update={"slim_lines": lines})
        if self.chain_key is not None:
            diff = seal(diff, skill.chain, self.chain_key)
        # The merge of the whole diff, without merging twice.
        evolved = evolved.model_copy(update={"last_diff": diff, "chain": diff.chain})
        if always or diff.slim_lines is not None or self._reads_else(skill, evolved):
            return Version(evolved, diff, self.slim(evolved))
        return Version(evolved, diff)

    def unsent(self, state: State, diff_version: int, slim_version: int, slim_text: str | None) -> Version:
        """Return the part of the newest version that a worker may not have sent before it died."""
        skill = state.skill
        now = self.slim(skill)
        is_as_before = now is not None and now.text == slim_text and now.session_until is None
        is_told = slim_version >= skill.version or is_as_before
        return Version(skill, None if diff_version >= skill.version else skill.last_diff, None if is_told else now)

    def slim(self, skill: PolicySkill) -> SlimSkill | None:
        """Return the skill as an app injects it; None where slim skills are off."""
        if self.slim_tokens is None:
            return None
        short = slim(skill, self.slim_tokens, vouching=self.vouching)
        return short if self.chain_key is None else sealed(short, self.chain_key)

    def _reads_else(self, before: PolicySkill, now: PolicySkill) -> bool:
        # Statements or a session may change the text, though the same lines are selected.
        if self.slim_tokens is None or not (before.stated or now.stated or before.sessions or now.sessions):
            return False
        if any(self.vouching.held(said.dimension, said.value) for said in now.stated):
            return True  # The operator's list or a release may allow these words at one version and not at the next.
        short = partial(slim, budget=self.slim_tokens, vouching=self.vouching)
        return _to_read(short(now)) != (_to_read(short(before)) if before.version else ())


def _to_read(short: SlimSkill) -> tuple[object, ...]:
    if not (short.text or short.now):
        return ()
    return short.text, short.session_id, short.session_until, short.now, short.session_text
