"""Steps of the agent `evolve`, the only writer of skills (paper 2.5).

A choice has two steps, `prepare` and `finish`, with the reasoner's call between them. `finish` reads the skill as it is
when the answer arrives: a read-modify-write never spans a model call (invariant 3).
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import datetime
from enum import StrEnum

from operators.erasure import event_moments, is_erased, known_items, restorable, without_erased_directives
from operators.evolve.proposals import Proposal, ValidatedProposal, validate
from operators.graph.items import GraphLimits, MemoryUpdate, remember_choice
from operators.language.output_policy import OutputGate
from operators.language.ports import Interpretation
from operators.language.privacy import Privacy
from operators.learning.commands import resolve_command
from operators.learning.corrections import resolve_correction, resolve_ignored
from operators.learning.feedback import DEFAULT_SIGNALS, SignalWeights, resolve_abstention, resolve_feedback
from operators.learning.fold import has_learned, merge
from operators.learning.limits import DEFAULT_LIMITS, MergeLimits
from operators.learning.tiers import resolve_tiers
from operators.learning.update import resolve_choice, resolve_visit
from operators.numbers import NO_NUMBERS
from operators.options import EvolveMode
from operators.seals import seal_diff, seal_record
from operators.slim.rules import slim, text_changed
from operators.slim.selection import SlimSelection, fit_selection, keeps_eligible, select
from operators.slim.trade_offs import number_weights, trade_off_of
from operators.weights import RankWeights
from schemas import Correction, ItemFacts, Memory, PolicySkill, Position, Receipt, SkillCommand, SkillDiff, SlimSkill
from schemas.events import Abstention, Contrast, Feedback, Interaction


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
    """A user's state in a domain; `skill` begins as the seed."""

    skill: PolicySkill
    receipt: Receipt | None = None
    memory: Memory | None = None
    shares: Mapping[str, float] | None = None  # of the domain's users that hold an attribute
    usual: Mapping[str, int] | None = None  # of taken items with a fact, in 1/1024
    popularity: Mapping[str, int] | None = None  # users who took an item lately
    weights: RankWeights | None = None  # of the domain; None: the slim skill's trade-off stays


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


@dataclass(frozen=True)
class PreparedChoice:
    """A filtered choice; without an `outcome`, it needs a reasoner."""

    contrast: Contrast | None
    outcome: EvolveOutcome | None = None
    remembered: MemoryUpdate | None = None


Reason = Callable[[Contrast, PolicySkill], Awaitable[Proposal]]


@dataclass(frozen=True)
class EvolveStep:
    """Apply events to skills; build, seal and compare versions.

    A skill stops learning after `warmup_rounds` choices, if set. Without a `graph`, choices are not remembered.
    `slim_tokens` is the slim skill's budget, None for no slim skill. `chain_key` is the secret of all seals, empty for
    seals without a secret, None for no seals. If `extract_by_model`, slim skills keep their lines while the same lines
    are eligible, and a choice may have a model's selection.
    """

    limits: MergeLimits = DEFAULT_LIMITS
    _: KW_ONLY
    privacy: Privacy
    gate: OutputGate
    slim_tokens: int | None = None
    chain_key: bytes | None = None
    warmup_rounds: int | None = None
    graph: GraphLimits | None = None
    mode: EvolveMode = EvolveMode.EVIDENCE
    signals: SignalWeights = DEFAULT_SIGNALS
    extract_by_model: bool = False

    def prepare(
        self, state: EvolveState, contrast: Contrast, source: Position | None = None, now: datetime | None = None
    ) -> PreparedChoice:
        """Remove private and erased details; check if the choice is skipped.

        Later steps trust this filter and apply none of their own.
        """
        chosen, _ = self.privacy.item(contrast.chosen, contrast.domain)
        if not (remaining := known_items((chosen,), contrast, state.receipt, source)):
            return PreparedChoice(None, EvolveOutcome.FORGOTTEN)
        known, facets = remaining[0], self.privacy.facets(contrast.facets, contrast.domain)
        if state.receipt is not None and state.receipt.lines:  # both may have the words of an erased line
            facets, known = (), known.model_copy(update={"excerpt": ""})
        if known is not contrast.chosen or len(facets) < len(contrast.facets):
            contrast = contrast.model_copy(update={"chosen": known, "facets": facets})
        if contrast.also:
            others = [self.privacy.item(item, contrast.domain)[0] for item in contrast.also]
            contrast = contrast.model_copy(update={"also": known_items(others, contrast, state.receipt, source)})
        others = [self.privacy.item(item, contrast.domain)[0] for item in contrast.unchosen]
        left = known_items(others, contrast, state.receipt, source)
        if left != contrast.unchosen:
            contrast = contrast.model_copy(update={"unchosen": left})
        remembered = None
        if self.graph is not None:
            remembered = remember_choice(state.memory, contrast, known, source, now, self.graph, left)
        return PreparedChoice(contrast, self.skip_reason(state.skill, contrast, source), remembered)

    def skip_reason(
        self, skill: PolicySkill, event: Contrast | Feedback | Abstention, source: Position | None = None
    ) -> EvolveOutcome | None:
        """Return the reason to skip an event; None to learn from it."""
        if has_learned(skill, event.event_id, source):
            return EvolveOutcome.REPEATED
        return EvolveOutcome.FROZEN if self.has_stopped(skill) else None

    def has_stopped(self, skill: PolicySkill) -> bool:
        """Return True if the skill is frozen or past its warm-up rounds."""
        return skill.frozen or (self.warmup_rounds is not None and skill.contrasts >= self.warmup_rounds)

    def draft(
        self, state: EvolveState, contrast: Contrast, answer: Proposal, source: Position | None = None
    ) -> PolicySkill | None:
        """Return the skill that an answer makes, if a model has to select from its lines."""
        if not self.extract_by_model or self.slim_tokens is None:
            return None
        drafted = self.finish(state, contrast, answer, source).skill
        return None if keeps_eligible(state.skill, drafted, self.gate) else drafted

    def finish(
        self,
        state: EvolveState,
        contrast: Contrast,
        answer: Proposal,
        source: Position | None = None,
        selection: SlimSelection | None = None,
    ) -> EvolveEffects:
        """Apply a reasoner's answer, and a model's selection, to the skill as it is now."""
        skill = state.skill
        validated = ValidatedProposal(answer)
        if not answer.is_empty:
            validated = validate(answer, skill, contrast, self.privacy, self.gate)
        if self.mode is EvolveMode.PAPER:
            diff = resolve_tiers(skill, validated, contrast, source, self.limits)
        else:
            diff = resolve_choice(skill, validated, contrast, source, state.usual, self.limits, state.popularity)
        if selection is not None:
            diff = diff.model_copy(update={"slim_by": selection.reasoned_by})
        return self.effects(EvolveOutcome.EVOLVED, state, diff, selection)

    def visit(
        self, state: EvolveState, visit: Interaction, item: ItemFacts, source: Position | None = None
    ) -> EvolveEffects:
        """Apply an item taken without a list."""
        skill = state.skill
        if not (remaining := known_items((item,), visit, state.receipt, source)):
            return EvolveEffects(EvolveOutcome.FORGOTTEN, skill)
        # A skill before its first choice will start with the profile that has this visit. The paper evolves by choices.
        if not skill.version or self.mode is EvolveMode.PAPER:
            return EvolveEffects(EvolveOutcome.COUNTED, skill)
        is_in_profile = skill.counted_until is not None and visit.occurred_at <= skill.counted_until
        if is_in_profile or has_learned(skill, visit.event_id, source):
            return EvolveEffects(EvolveOutcome.REPEATED, skill)
        if self.has_stopped(skill):
            return EvolveEffects(EvolveOutcome.FROZEN, skill)
        diff = resolve_visit(skill, visit, remaining[0], source, state.usual, self.limits)
        return self.effects(EvolveOutcome.COUNTED, state, diff)

    def apply_signal(
        self, state: EvolveState, feedback: Feedback, item: ItemFacts, source: Position | None = None
    ) -> EvolveEffects:
        """Apply a signal on an item; a skill may begin with it."""
        skill = state.skill
        if not (known := known_items((item,), feedback, state.receipt, source)):
            return EvolveEffects(EvolveOutcome.FORGOTTEN, skill)
        if (outcome := self.skip_reason(skill, feedback, source)) is not None:
            return EvolveEffects(outcome, skill)
        if (weight := self.signals.weight_of(feedback)) is None:
            return EvolveEffects(EvolveOutcome.UNKNOWN_SIGNAL, skill)
        diff = resolve_feedback(
            skill, feedback, known[0], weight, source, state.usual, self.limits, privacy=self.privacy, mode=self.mode
        )
        return self.effects(EvolveOutcome.FEEDBACK, state, diff)

    def correct(
        self,
        state: EvolveState,
        correction: Correction,
        items: Sequence[ItemFacts],
        understood: Interpretation,
        source: Position | None = None,
    ) -> EvolveEffects:
        """Apply a correction; a frozen skill still follows its statements.

        A correction that was not understood, or that concerns another person, makes a version without changes.
        """
        skill = state.skill
        if (outcome := self.skip_outcome(state, correction, source)) is not None:
            return EvolveEffects(outcome, skill)
        remaining = without_erased_directives(
            understood, correction.user_id, correction.domain, state.receipt, *event_moments(correction, source)
        )
        if remaining is not understood:
            understood, correction = remaining, correction.model_copy(update={"text": ""})
        if understood.is_about_another or not understood.is_understood:
            outcome = EvolveOutcome.FOR_ANOTHER if understood.is_about_another else EvolveOutcome.NOT_UNDERSTOOD
            diff = resolve_ignored(skill, correction, understood, source, privacy=self.privacy)
            return self.effects(outcome, state, diff)
        remaining_items = known_items(items, correction, state.receipt, source)
        learns = not self.has_stopped(skill)
        diff = resolve_correction(
            skill,
            correction,
            remaining_items,
            understood,
            source,
            state.usual,
            self.limits,
            privacy=self.privacy,
            learns=learns,
            mode=self.mode,
        )
        return self.effects(EvolveOutcome.CORRECTED, state, diff)

    def skip_outcome(
        self, state: EvolveState, event: Correction | SkillCommand, source: Position | None = None
    ) -> EvolveOutcome | None:
        """Return the outcome of an erased or repeated event; None for others."""
        if is_erased(event, state.receipt, source):
            return EvolveOutcome.FORGOTTEN
        return EvolveOutcome.REPEATED if has_learned(state.skill, event.event_id, source) else None

    def abstain(self, state: EvolveState, abstention: Abstention, source: Position | None = None) -> EvolveEffects:
        """Apply a list without a choice."""
        skill = state.skill
        if is_erased(abstention, state.receipt, source):
            return EvolveEffects(EvolveOutcome.FORGOTTEN, skill)
        if (outcome := self.skip_reason(skill, abstention, source)) is not None:
            return EvolveEffects(outcome, skill)
        shown = known_items(abstention.shown, abstention, state.receipt, source)
        if not shown:
            return EvolveEffects(EvolveOutcome.FORGOTTEN, skill)
        remaining = abstention.model_copy(update={"shown": shown})
        diff = resolve_abstention(skill, remaining, source, state.usual, self.limits, mode=self.mode)
        return self.effects(EvolveOutcome.ABSTAINED, state, diff)

    def command(self, state: EvolveState, command: SkillCommand, source: Position | None = None) -> EvolveEffects:
        """Apply a command, unless it is erased or a repeat."""
        if (outcome := self.skip_outcome(state, command, source)) is not None:
            return EvolveEffects(outcome, state.skill)
        command = restorable(command, state.skill, state.receipt)
        diff = resolve_command(state.skill, command, source, self.limits, privacy=self.privacy, gate=self.gate)
        return self.effects(EvolveOutcome.COMMANDED, state, diff)

    def effects(
        self, outcome: EvolveOutcome, state: EvolveState, diff: SkillDiff, selection: SlimSelection | None = None
    ) -> EvolveEffects:
        """Return the effects of an event with its diff."""
        version = self.version(state, diff, selection)
        return EvolveEffects(outcome, version.skill, version)

    def version(
        self, state: EvolveState, diff: SkillDiff, selection: SlimSelection | None = None, *, always: bool = False
    ) -> SkillVersion:
        """Return the version after a diff, sealed, with a changed slim skill."""
        skill = state.skill
        evolved = merge(skill, diff)
        if self.slim_tokens is not None:
            mine: dict[str, float] = {}
            by_tiers = self.mode is EvolveMode.PAPER
            if state.weights is not None and not by_tiers:
                mine = number_weights(evolved, state.weights)
                declared = self.limits.numbers.get(skill.domain, NO_NUMBERS)
                trade_off = trade_off_of(evolved, mine, state.weights, declared, self.gate)
                if trade_off != skill.trade_off:
                    diff = diff.model_copy(update={"trade_off": trade_off})
                    evolved = evolved.model_copy(update={"trade_off": trade_off})
            lines: tuple[str, ...] = ()
            if self.extract_by_model:
                held = skill.slim_lines if keeps_eligible(skill, evolved, self.gate) else ()
                chosen = selection.lines if selection is not None else held
                lines = fit_selection(evolved, chosen, self.slim_tokens, gate=self.gate)
            lines = lines or select(
                evolved, self.slim_tokens, state.shares, gate=self.gate, numbers=mine, all_eligible=by_tiers
            )
            if lines != skill.slim_lines:
                diff = diff.model_copy(update={"slim_lines": lines})
                evolved = evolved.model_copy(update={"slim_lines": lines})
        if self.chain_key is not None:
            diff = seal_diff(diff, skill.chain, self.chain_key)
        # The merge of the whole diff, without merging twice.
        evolved = evolved.model_copy(update={"last_diff": diff, "chain": diff.chain})
        slim_changed = always or diff.slim_lines is not None or diff.trade_off is not None
        # Statements or a session may change the text, though the same lines are selected.
        if not slim_changed and self.slim_tokens is not None:
            parts = skill.stated or evolved.stated or skill.sessions or evolved.sessions
            slim_changed = bool(parts) and text_changed(skill, evolved, self.slim_tokens, self.gate)
        return SkillVersion(evolved, diff, self.slim(evolved) if slim_changed else None)

    def missing_version(
        self, state: EvolveState, diff_version: int, slim_version: int, slim_text: str | None
    ) -> SkillVersion:
        """Return the parts that a crashed worker may have missed."""
        skill = state.skill
        current_slim = self.slim(skill)
        is_as_before = (
            current_slim is not None and current_slim.text == slim_text and current_slim.session_until is None
        )
        is_sent = slim_version >= skill.version or is_as_before
        return SkillVersion(
            skill, None if diff_version >= skill.version else skill.last_diff, None if is_sent else current_slim
        )

    def slim(self, skill: PolicySkill) -> SlimSkill | None:
        """Return the injected skill; None if slim skills are off."""
        if self.slim_tokens is None:
            return None
        short = slim(skill, self.slim_tokens, gate=self.gate)
        return short if self.chain_key is None else seal_record(short, self.chain_key)


async def learn(
    step: EvolveStep, reason: Reason, state: EvolveState, contrast: Contrast, source: Position | None = None
) -> EvolveEffects:
    """Apply a choice in one call, for callers with all the state.

    Raises:
        ReasonerUnavailable: there is no answer; nothing has changed.
    """
    prepared = step.prepare(state, contrast, source)
    if prepared.contrast is None or prepared.outcome is not None:
        return EvolveEffects(prepared.outcome or EvolveOutcome.FORGOTTEN, state.skill)
    return step.finish(state, prepared.contrast, await reason(prepared.contrast, state.skill), source)
