"""Steps of the agent `evolve`, the only writer of skills: a choice in two halves, a command in one (paper 2.5).

Between the halves of a choice a reasoner is asked, which may take long. So the first half works on a view of the skill,
and the second on the skill as it is when the answer comes: a read-modify-write never spans a question (invariant 3).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import partial
from operator import is_

from operators.chain import seal
from operators.evolve import Proposal, Replacement, validate
from operators.forget import fit_to_restore, said_still, what_remains
from operators.merge import (
    DEFAULT_LIMITS,
    MergeLimits,
    holds,
    merge,
    resolve,
    resolve_abstention,
    resolve_command,
    resolve_correction,
    resolve_counts,
    resolve_feedback,
    resolve_replacement,
    resolve_unheard,
    resolve_visit,
)
from operators.options import EvolveMode
from operators.privacy import DEFAULT, Privacy
from operators.propagate import GraphLimits
from operators.seals import sealed
from operators.signals import DEFAULT as SIGNALS
from operators.signals import Signals
from operators.slim import eligible, slim, text_of
from operators.steps.remember import Remembered, moment_of, remember
from operators.tokens import count_tokens
from operators.understand import About, Understood
from operators.vouch import DEFAULT as VOUCHING
from operators.vouch import Vouching
from schemas import (
    Abstention,
    Contrast,
    Correction,
    Event,
    Feedback,
    Interaction,
    ItemFacts,
    Memory,
    PolicySkill,
    Position,
    Receipt,
    SkillCommand,
    SkillDiff,
    SlimSkill,
)


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


def _moments(event: Event, source: Position | None) -> tuple[datetime, ...]:
    """When an event says that it happened, and when its record does."""
    return (event.occurred_at,) if source is None else (event.occurred_at, source.moment)


def _is_forgotten(event: Correction | Abstention | SkillCommand, state: State, source: Position | None) -> bool:
    """Whether a request to forget covers an event."""
    return state.receipt is not None and state.receipt.covers(event.domain, *_moments(event, source))


def _left_of(
    items: Iterable[ItemFacts], event: Contrast | Correction | Abstention, state: State, source: Position | None
) -> tuple[ItemFacts, ...]:
    """What requests to forget leave of an event's items."""
    moments = _moments(event, source)
    known = (what_remains(item, event.user_id, event.domain, state.receipt, *moments) for item in items)
    return tuple(item for item in known if item is not None)


@dataclass(frozen=True)
class Evolve:
    """How skills evolve: all that decides what a choice or a command does, but for the reasoner.

    Attributes:
        limits: of the merge.
        privacy: what no skill may hold.
        warmup_rounds: a skill stops learning after this many choices; None: never.
        slim_tokens: the slim skill's budget; None: no slim skill.
        chain_key: the secret of all seals, empty for none; None for no seals.
        graph: of the user-item graph; None where choices are not remembered.
        vouching: what a slim skill may say.
        mode: how a choice changes a skill.
        signals: what every signal counts.
    """

    limits: MergeLimits = DEFAULT_LIMITS
    privacy: Privacy = DEFAULT
    warmup_rounds: int | None = None
    slim_tokens: int | None = None
    chain_key: bytes | None = None
    graph: GraphLimits | None = None
    vouching: Vouching = VOUCHING
    mode: EvolveMode = EvolveMode.COUNTS
    signals: Signals = SIGNALS

    def begin(
        self, state: State, contrast: Contrast, source: Position | None = None, now: datetime | None = None
    ) -> Begun:
        """What may be learned from a choice, and whether it is.

        Here, and nowhere behind it, the chosen item loses what is private: what older workers left on the topic was not
        filtered.

        Args:
            state: what is known of the user.
            contrast: the event.
            source: where it stands.
            now: the time; for the memory, a choice from after it counts as one of now.
        """
        chosen, _ = self.privacy.item(contrast.chosen, contrast.domain)
        moments = _moments(contrast, source)
        known = what_remains(chosen, contrast.user_id, contrast.domain, state.receipt, *moments)
        if known is None:
            return Begun(None, Outcome.FORGOTTEN)
        facets = self.privacy.fit(contrast.facets, contrast.domain)
        if known is not contrast.chosen or len(facets) < len(contrast.facets):
            contrast = contrast.model_copy(update={"chosen": known, "facets": facets})
        if contrast.also:
            others = [self.privacy.item(item, contrast.domain)[0] for item in contrast.also]
            contrast = contrast.model_copy(update={"also": _left_of(others, contrast, state, source)})
        return Begun(contrast, self.fence(state.skill, contrast, source), self._remember(state, contrast, source, now))

    def fence(
        self, skill: PolicySkill, event: Contrast | Feedback | Abstention, source: Position | None = None
    ) -> Outcome | None:
        """Why a skill does not learn from a choice, a signal or an abstention; None if it does."""
        if holds(skill, event.event_id, source):
            return Outcome.REPEATED
        return Outcome.FROZEN if self.passes_over(skill) else None

    def passes_over(self, skill: PolicySkill) -> bool:
        """Whether this skill learns from no further choice: a person froze it, or its warm-up is over."""
        return skill.frozen or (self.warmup_rounds is not None and skill.contrasts >= self.warmup_rounds)

    def finish(
        self, state: State, contrast: Contrast, answer: Proposal | Replacement, source: Position | None = None
    ) -> Effects:
        """What an answer makes of the skill as it is now.

        Args:
            state: what is known now that there is an answer.
            contrast: the choice as `begin` gave it.
            answer: what the reasoner said.
            source: where the choice stands.
        """
        skill = state.skill
        if isinstance(answer, Replacement):
            diff = resolve_replacement(skill, answer, contrast, source, self.limits, self.privacy)
        else:
            validated = validate(answer, skill, contrast, self.privacy)
            if self.mode is EvolveMode.COUNTS:
                diff = resolve_counts(skill, validated, contrast, source, state.usual, self.limits, state.popularity)
            else:
                diff = resolve(skill, validated, contrast, source, self.limits)
        return self._evolved(Outcome.EVOLVED, state, diff)

    def visit(self, state: State, visit: Interaction, item: ItemFacts, source: Position | None = None) -> Effects:
        """What an item taken without a list does to a skill that has begun.

        Before the first choice there is nothing to do: the skill will begin with it.

        Args:
            state: what is known of the user, the interaction's part in their profile included.
            visit: the event.
            item: what a parser finds in the item, without what is private.
            source: where the event stands.
        """
        skill = state.skill
        known = what_remains(item, visit.user_id, visit.domain, state.receipt, *_moments(visit, source))
        if known is None:
            return Effects(Outcome.FORGOTTEN, skill)
        if not skill.version or self.mode is not EvolveMode.COUNTS:
            return Effects(Outcome.COUNTED, skill)
        is_brought_along = skill.counted_until is not None and visit.occurred_at <= skill.counted_until
        if is_brought_along or holds(skill, visit.event_id, source):
            return Effects(Outcome.REPEATED, skill)
        if self.passes_over(skill):
            return Effects(Outcome.FROZEN, skill)
        diff = resolve_visit(skill, visit, known, source, state.usual, self.limits)
        return self._evolved(Outcome.COUNTED, state, diff)

    def hear(self, state: State, feedback: Feedback, item: ItemFacts, source: Position | None = None) -> Effects:
        """What a signal on an item does to a skill; a skill may begin with it.

        Args:
            state: what is known of the user.
            feedback: the event.
            item: what a parser finds in its item, without what is private.
            source: where the event stands.
        """
        skill = state.skill
        known = what_remains(item, feedback.user_id, feedback.domain, state.receipt, *_moments(feedback, source))
        if known is None:
            return Effects(Outcome.FORGOTTEN, skill)
        if (outcome := self.fence(skill, feedback, source)) is not None:
            return Effects(outcome, skill)
        worth = self.signals.worth(feedback)
        if worth is None:
            return Effects(Outcome.UNKNOWN_SIGNAL, skill)
        diff = resolve_feedback(skill, feedback, known, worth, source, state.usual, self.limits, self.privacy)
        return self._evolved(Outcome.HEARD, state, diff)

    def correct(
        self,
        state: State,
        correction: Correction,
        items: Sequence[ItemFacts],
        understood: Understood,
        source: Position | None = None,
    ) -> Effects:
        """What a person's words do to a skill.

        Where nothing was understood or somebody else is meant, a version says so and changes nothing else. A frozen
        skill learns nothing, and still does as the person says.

        Args:
            state: what is known of the user.
            correction: the event, its text without what is personal.
            items: what a parser finds in what the person sees, without what is private.
            understood: what was made of it.
            source: where the event stands.
        """
        skill, moments = state.skill, _moments(correction, source)
        if (outcome := self.done_with(state, correction, source)) is not None:
            return Effects(outcome, skill)
        user_id, domain = correction.user_id, correction.domain
        left_of_it = said_still(understood, user_id, domain, state.receipt, *moments)
        if left_of_it is not understood:
            understood, correction = left_of_it, correction.model_copy(update={"text": ""})
        if understood.about is About.ANOTHER or not understood.is_understood:
            outcome = Outcome.FOR_ANOTHER if understood.about is About.ANOTHER else Outcome.NOT_UNDERSTOOD
            return self._evolved(outcome, state, resolve_unheard(skill, correction, understood, source, self.privacy))
        left = _left_of(items, correction, state, source)
        learns = not self.passes_over(skill)
        diff = resolve_correction(
            skill, correction, left, understood, source, state.usual, self.limits, self.privacy, learns=learns
        )
        return self._evolved(Outcome.CORRECTED, state, diff)

    def done_with(self, state: State, correction: Correction, source: Position | None = None) -> Outcome | None:
        """Why nobody need be asked what a correction says; None where it is neither forgotten nor known already."""
        if _is_forgotten(correction, state, source):
            return Outcome.FORGOTTEN
        return Outcome.REPEATED if holds(state.skill, correction.event_id, source) else None

    def abstain(self, state: State, abstention: Abstention, source: Position | None = None) -> Effects:
        """What a list does of which the person took nothing: nothing to any line, and something to what may suit."""
        skill = state.skill
        if _is_forgotten(abstention, state, source):
            return Effects(Outcome.FORGOTTEN, skill)
        if (outcome := self.fence(skill, abstention, source)) is not None:
            return Effects(outcome, skill)
        shown = _left_of(abstention.shown, abstention, state, source)
        if not shown:
            return Effects(Outcome.FORGOTTEN, skill)
        diff = resolve_abstention(skill, abstention.model_copy(update={"shown": shown}), source, self.limits)
        return self._evolved(Outcome.ABSTAINED, state, diff)

    def command(self, state: State, command: SkillCommand, source: Position | None = None) -> Effects:
        """What a person's command does to a skill, unless it is forgotten or was carried out already."""
        if _is_forgotten(command, state, source):
            return Effects(Outcome.FORGOTTEN, state.skill)
        if holds(state.skill, command.event_id, source):
            return Effects(Outcome.REPEATED, state.skill)
        command = fit_to_restore(command, state.skill, state.receipt)
        diff = resolve_command(state.skill, command, source, self.limits, self.privacy)
        return self._evolved(Outcome.COMMANDED, state, diff)

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
        is_as_before = now is not None and now.text == slim_text and now.session_id is None
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
        if skill.sessions is not evolved.sessions:
            return True
        said = partial(text_of, count_tokens=count_tokens, budget=self.slim_tokens, vouching=self.vouching)
        return said(evolved, population=shares) != (said(skill, population=shares) if skill.version else "")

    @staticmethod
    def _may_change(skill: PolicySkill) -> bool:
        """Whether a line may be let out at one time and held back at another."""
        return any(VOUCHING.held(line.dimension, line.value) for line in eligible(skill))

    def _evolved(self, outcome: Outcome, state: State, diff: SkillDiff) -> Effects:
        version = self.version(state, diff)
        return Effects(outcome, version.skill, version)

    def _remember(
        self, state: State, contrast: Contrast, source: Position | None, now: datetime | None
    ) -> Remembered | None:
        if self.graph is None:
            return None
        at = moment_of(contrast.occurred_at, source, now)
        user_id, domain, item = contrast.user_id, contrast.domain, contrast.chosen
        return remember(state.memory, user_id, domain, item, at, contrast.event_id, source, self.graph)
