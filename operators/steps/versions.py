"""From a diff to a version of a skill: sealed, merged, and as a slim skill where apps are to be told."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from operator import is_

from operators.chain import seal
from operators.merge import merge
from operators.seals import sealed
from operators.slim import eligible, slim, text_of
from operators.steps.evolved import Effects, Outcome, State, Version
from operators.tokens import count_tokens
from operators.vouch import DEFAULT as VOUCHING
from operators.vouch import Vouching
from schemas import PolicySkill, Scope, SkillDiff, SlimSkill, Statement


@dataclass(frozen=True, kw_only=True)
class Versions:
    """How versions of skills are made.

    Attributes:
        slim_tokens: the slim skill's budget; None: no slim skill.
        chain_key: the secret of all seals, empty for none; None for no seals.
        vouching: what a slim skill may say.
    """

    slim_tokens: int | None = None
    chain_key: bytes | None = None
    vouching: Vouching = VOUCHING

    def evolved(self, outcome: Outcome, state: State, diff: SkillDiff) -> Effects:
        """The version that a diff leads to, as what came of an event."""
        version = self.version(state, diff)
        return Effects(outcome, version.skill, version)

    def version(self, state: State, diff: SkillDiff, *, always: bool = False) -> Version:
        """The version that a diff leads to: sealed, merged, and made slim where that says something else than before.

        What distinguishes may have changed since the last slim skill went out, and what is vouched for with the
        operator's list or a release: where there are shares, or a line that needs more than its shape, one is sent,
        changed or not.

        Args:
            state: the skill before it.
            diff: the change; a seal that it bears is replaced.
            always: send a slim skill in any case.
        """
        skill = state.skill
        if self.chain_key is not None:
            diff = seal(diff, skill.chain, self.chain_key)
        evolved = merge(skill, diff)
        is_due = always or (skill.version and (state.shares or self._may_change(evolved)))
        if is_due or self._says_else(skill, evolved, state.shares):
            return Version(evolved, diff, self.slim(evolved, state.shares))
        return Version(evolved, diff)

    def unsent(self, state: State, diff_version: int, slim_version: int, slim_text: str | None) -> Version:
        """What a worker that died may not have sent of the newest version, and is not there already.

        Args:
            state: the skill as it was found, at version 1 or later.
            diff_version: the newest version in the log; 0 for none.
            slim_version: the version that the newest slim skill on its topic is of; 0 for none.
            slim_text: what that one says; None for none.
        """
        skill = state.skill
        now = self.slim(skill, state.shares)
        is_as_before = now is not None and now.text == slim_text and now.session_until is None
        is_told = slim_version >= skill.version or is_as_before
        return Version(skill, None if diff_version >= skill.version else skill.last_diff, None if is_told else now)

    def slim(self, skill: PolicySkill, shares: Mapping[str, float] | None = None) -> SlimSkill | None:
        """The skill as an app injects it; None where nobody is told."""
        if self.slim_tokens is None:
            return None
        short = slim(skill, count_tokens, self.slim_tokens, shares, vouching=self.vouching)
        return short if self.chain_key is None else sealed(short, self.chain_key)

    def _says_else(self, skill: PolicySkill, evolved: PolicySkill, shares: Mapping[str, float] | None) -> bool:
        """Whether the slim skills of two versions differ in what they say; no where nobody is told."""
        before, now = eligible(skill), eligible(evolved)
        # Of a taste that has changed, what was said before is said no more.
        is_sure = skill.shifted == evolved.shifted
        as_before = skill.stated is evolved.stated and skill.sessions is evolved.sessions and is_sure
        is_same = len(before) == len(now) and all(map(is_, before, now)) and as_before
        if self.slim_tokens is None or (skill.version and is_same):
            return False
        if skill.sessions is not evolved.sessions or _passing(skill) != _passing(evolved):
            return True
        said = partial(text_of, count_tokens=count_tokens, budget=self.slim_tokens, vouching=self.vouching)
        return said(evolved, population=shares) != (said(skill, population=shares) if skill.version else "")

    @staticmethod
    def _may_change(skill: PolicySkill) -> bool:
        """Whether a line may be let out at one time and held back at another."""
        return any(VOUCHING.held(line.dimension, line.value) for line in eligible(skill))


def _passing(skill: PolicySkill) -> tuple[Statement, ...]:
    """Return the statements that hold for now or for a session: they are in no long-term text."""
    return tuple(said for said in skill.stated if said.scope is not Scope.ALWAYS)
