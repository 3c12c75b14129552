"""Versions of skills, and the slim skills that apps read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from operators.language.output_policy import OutputGate
from operators.learning.fold import merge
from operators.seals import seal_diff, seal_record
from operators.slim.rules import select, slim, text_changed
from schemas import Memory, Receipt, SlimSkill
from schemas.diffs import PolicySkill, SkillDiff


class EvolveOutcome(StrEnum):
    """The outcome of an event; a metric's label."""

    EVOLVED = "evolved"
    COUNTED = "counted"  # an interaction, counted in the skill or in the profile that it will begin with
    COMMANDED = "commanded"
    FEEDBACK = "feedback"  # a signal on an item
    UNKNOWN_SIGNAL = "unknown-signal"  # a signal of a kind that is not configured
    CORRECTED = "corrected"
    NOT_UNDERSTOOD = "not-understood"
    FOR_ANOTHER = "for-another"  # a correction about another person's taste
    ABSTAINED = "abstained"
    FROZEN = "frozen"
    REPEATED = "repeated"
    FORGOTTEN = "forgotten"


@dataclass(frozen=True)
class EvolveState:
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
class SkillVersion:
    """A version of a skill, to be written first and sent then.

    `diff` is None if the log has it; `slim` is None if apps have the right one.
    """

    skill: PolicySkill
    diff: SkillDiff | None = None
    slim: SlimSkill | None = None


@dataclass(frozen=True)
class EvolveEffects:
    """The outcome of an event, and the skill after it."""

    outcome: EvolveOutcome
    skill: PolicySkill
    version: SkillVersion | None = None

    @property
    def diff(self) -> SkillDiff | None:
        """The diff of the event."""
        return None if self.version is None else self.version.diff


@dataclass(frozen=True, kw_only=True)
class VersionBuilder:
    """Build, seal and compare versions of skills.

    `slim_tokens` is the slim skill's budget, None for no slim skill. `chain_key` is the secret of all seals, empty for
    seals without a secret, None for no seals.
    """

    slim_tokens: int | None = None
    chain_key: bytes | None = None
    gate: OutputGate = field(kw_only=True)

    def evolved(self, outcome: EvolveOutcome, state: EvolveState, diff: SkillDiff) -> EvolveEffects:
        """Return the effects of an event with its diff."""
        version = self.version(state, diff)
        return EvolveEffects(outcome, version.skill, version)

    def version(self, state: EvolveState, diff: SkillDiff, *, always: bool = False) -> SkillVersion:
        """Return the version after a diff, with a changed slim skill.

        The diff is sealed here, and gets the lines of the slim skill if they change.
        """
        skill = state.skill
        evolved = merge(skill, diff)
        if self.slim_tokens is not None:
            lines = select(evolved, self.slim_tokens, state.shares, gate=self.gate)
            if lines != skill.slim_lines:
                diff = diff.model_copy(update={"slim_lines": lines})
                evolved = evolved.model_copy(update={"slim_lines": lines})
        if self.chain_key is not None:
            diff = seal_diff(diff, skill.chain, self.chain_key)
        # The merge of the whole diff, without merging twice.
        evolved = evolved.model_copy(update={"last_diff": diff, "chain": diff.chain})
        is_news = always or diff.slim_lines is not None
        # Statements or a session may change the text, though the same lines are selected.
        if not is_news and self.slim_tokens is not None:
            parts = skill.stated or evolved.stated or skill.sessions or evolved.sessions
            is_news = bool(parts) and text_changed(skill, evolved, self.slim_tokens, self.gate)
        return SkillVersion(evolved, diff, self.slim(evolved) if is_news else None)

    def unsent(self, state: EvolveState, diff_version: int, slim_version: int, slim_text: str | None) -> SkillVersion:
        """Return the parts of a version that a crashed worker may have missed."""
        skill = state.skill
        now = self.slim(skill)
        is_as_before = now is not None and now.text == slim_text and now.session_until is None
        is_sent = slim_version >= skill.version or is_as_before
        return SkillVersion(skill, None if diff_version >= skill.version else skill.last_diff, None if is_sent else now)

    def slim(self, skill: PolicySkill) -> SlimSkill | None:
        """Return the injected skill; None if slim skills are off."""
        if self.slim_tokens is None:
            return None
        short = slim(skill, self.slim_tokens, gate=self.gate)
        return short if self.chain_key is None else seal_record(short, self.chain_key)
