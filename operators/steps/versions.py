"""Makes versions of skills from diffs: merged, sealed, with a slim skill where its text changes."""

from dataclasses import dataclass, field
from functools import partial

from operators.chain import seal
from operators.merge import merge
from operators.seals import sealed
from operators.slim import select, slim
from operators.steps.evolved import Effects, Outcome, State, Version
from operators.vouch import Vouching
from schemas import PolicySkill, SkillDiff, SlimSkill


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
