"""Updates of counts and tiers from choices and visits (paper 2.5).

Facts of taken items raise `taken`, facts of shown items raise `expected`; both counts decay. A model's
verdicts add to the counts.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from operators.attributes import fact_id, fact_ids, from_fact, hypotheses_of, ranked_lines
from operators.evolve.proposals import COUNTS, ValidatedProposal, refused_change
from operators.evolve.quotes import with_quoted
from operators.fit.acceptance import beliefs_after_choice
from operators.learning.document import fits_document
from operators.learning.evidence import (
    DRIFT_ROUNDS,
    DRIFT_WARNING,
    ListEvidence,
    describe_counts,
    drift_detected,
    inactivity_decay,
    initial_expected,
    tier_step,
)
from operators.learning.fold import Counts, counts_after, next_diff, without_event
from operators.learning.habits import habit_changes, habit_evidence, habits_after
from operators.learning.lesson import Habits, Verdicts, count_delta, drift_of, lesson_of, visit_evidence
from operators.learning.limits import DEFAULT_LIMITS, NEVER_CONFIRMED, MergeLimits, eviction_order, is_unconfirmed
from operators.learning.number_lines import number_changes
from operators.learning.statements import expired_statements, updated_session
from operators.learning.tiers import tier_of
from operators.learning.tradeoffs import NumberEvidence, numbers_after
from operators.numbers import NO_NUMBERS
from schemas import (
    Contrast,
    CountDelta,
    Event,
    Fact,
    Interaction,
    ItemFacts,
    Position,
)
from schemas.diffs import (
    PolicySkill,
    RefusalReason,
    RefusedProposal,
    SkillChange,
    SkillChangeKind,
    SkillDiff,
)
from schemas.skills import MAX_HYPOTHESES, ONE, Attribute, AttributeSource, Evidence, Tier

Names = Collection[str]
_HIGH, _STATED = Tier.HIGH, AttributeSource.STATED


def resolve_choice(
    skill: PolicySkill,
    validated: ValidatedProposal,
    contrast: Contrast,
    source: Position | None = None,
    usual: Mapping[str, int] | None = None,
    limits: MergeLimits = DEFAULT_LIMITS,
    popularity: Mapping[str, int] | None = None,
) -> SkillDiff:
    """Return the diff of a choice; `usual`: shares in 1/1024."""
    proposal = validated.proposal
    verdicts: dict[str, tuple[int, int]] = {}
    if proposal.reasoned_by.model is not None:
        weight, supported = int(limits.verdict_weight * ONE), (*proposal.reinforced, *fact_ids(proposal.discovered))
        verdicts = dict.fromkeys(supported, (weight, 0)) | dict.fromkeys(proposal.weakened, (0, weight))
    contrast = with_quoted(contrast, proposal.quoted) if proposal.quoted else contrast
    taken = (contrast.chosen, *contrast.also)
    lesson = lesson_of(skill, contrast, usual)
    evidence = Evidence(event_id=contrast.event_id, item_id=contrast.chosen.item_id)
    found = EvidenceUpdate(skill, evidence, limits, usual or {}, refused=list(validated.refused))
    found.quotes = {fact_id(each.fact): each.quote for each in proposal.quoted}
    found.count(
        [fact for item in taken for fact in item.facts] + lesson.common_left,
        lesson.shown,
        skill.contrasts + 1,
        verdicts,
        habit_evidence(skill, contrast, popularity),
        aged=inactivity_decay(skill, contrast.occurred_at),
        tests_change=True,
        numbers=lesson.numbers,
        forgets=lesson.forgets,
    )
    # These guards keep most choices out of modules that have nothing to do (files_of_a_selection).
    session = None
    if contrast.session_id:
        session = updated_session(skill, contrast, source, limits.session, taken, lesson.shown)
    return found.diff(
        contrast,
        stated=expired_statements(skill, contrast, source, taken) if skill.stated else (),
        beliefs=beliefs_after_choice(skill, contrast) if skill.beliefs else None,
        session=session,
        reasoned_by=proposal.reasoned_by,
        analysis=proposal.analysis[:4_000],
        judged=proposal.judged,
        source=source,
    )


def resolve_visit(
    skill: PolicySkill,
    visit: Interaction,
    item: ItemFacts,
    source: Position | None = None,
    usual: Mapping[str, int] | None = None,
    limits: MergeLimits = DEFAULT_LIMITS,
) -> SkillDiff:
    """Return the diff of an item taken without a list."""
    found = EvidenceUpdate(skill, Evidence(event_id=visit.event_id, item_id=item.item_id), limits, usual or {})
    shown = visit_evidence(skill, (item,), usual)
    found.count(item.facts, shown, skill.contrasts, aged=inactivity_decay(skill, visit.occurred_at))
    return found.diff(visit, stated=expired_statements(skill, visit, source), reasoned_by=COUNTS, source=source)


@dataclass
class EvidenceUpdate:
    """The changes of one event while they are collected."""

    skill: PolicySkill
    evidence: Evidence
    limits: MergeLimits
    usual: Mapping[str, int]
    tally: CountDelta = field(default_factory=CountDelta)
    changes: list[SkillChange] = field(default_factory=list)
    taken: dict[str, int] = field(default_factory=dict)
    tiers: dict[str, Tier] = field(default_factory=dict)
    confirmed: set[str] = field(default_factory=set)
    refused: list[RefusedProposal] = field(default_factory=list)
    # A model's quotations by attribute id.
    quotes: Mapping[str, str] = field(default_factory=dict)
    # True if the taste has changed in more than one line: older lines are overtaken then.
    has_shifted: bool = False
    has_taken: bool = False

    def diff(self, event: Event, **fields: Any) -> SkillDiff:
        """Return the diff of an event with these changes."""
        found = {"count_delta": self.tally, "changes": tuple(self.changes), "shifted": self.has_shifted}
        found |= {"refused": self.refused, "evidence": self.evidence}
        found["item_taken"] = self.evidence.item_id if self.has_taken else None
        return next_diff(self.skill, event, **found | fields)

    def count(
        self,
        facts: Sequence[Fact],
        shown: ListEvidence,
        now: int,
        verdicts: Verdicts | None = None,
        habits: Habits = None,
        *,
        weight: int = ONE,
        aged: int = 0,
        tests_change: bool = False,
        numbers: NumberEvidence | None = None,
        forgets: int | None = None,
    ) -> None:
        """Count an event: tally, moves of tiers, discoveries and evictions.

        `facts` are those of all taken items, `now` is the number of the person's choices, this one included. `verdicts`
        are a model's additions by line, `habits` those to each axis. `weight` is the event's part of a choice in
        1/1024, and `forgets` that of the decay, with `aged` extra rounds. A choice from a list `tests_change` of lines.
        """
        before: Sequence[Attribute] = self.skill.attributes
        verdicts = verdicts or {}
        taken = set(shown.taken)
        self.has_taken = bool(taken)
        patience = 0 if self.has_shifted else self.limits.protect_contradictions
        drift = drift_of(before, shown) if tests_change else {}
        over = {line.attribute_id for line in before if drift and drift_detected(line, drift.get(line.attribute_id, 0))}
        if (over and sum(at >= DRIFT_WARNING for at in drift.values()) > len(over)) or len(over) > 1:
            self.has_shifted, aged = True, aged + DRIFT_ROUNDS
        known = ranked_lines(self.skill, shown.shares)
        self.tally = count_delta(
            known, shown, verdicts, habits, weight, forgets or weight, aged, drift, numbers and numbers.sums
        )
        by_age = SkillChangeKind.WEAKENED
        if aged:  # only age can move a line that the list does not offer
            by_age = SkillChangeKind.OVERTAKEN if self.has_shifted else SkillChangeKind.FADED
        supported = taken.union(name for name, (more, _) in verdicts.items() if more > 0)
        # A visit shows no items: it contradicts no line.
        offered = self.tally.lines.keys() & (shown.places.keys() | verdicts.keys())
        self._recount(supported, over, offered, by_age, patience)
        counted = [round(taken / ONE) for taken, *_ in self.skill.hypotheses.values()]
        met = self.skill.contrasts + max([0, *counted, *[line.support for line in before]])
        new = self._begin(facts, shown, met, now, weight, verdicts)
        before = self._evict_unconfirmed(before, taken, now)
        if habits:
            before, new = self._count_habits(before, new, now)
        if numbers is not None:
            before, new = self._count_numbers(before, new, numbers, now)
        self._make_room(before, new)

    def _count_habits(
        self, before: Sequence[Attribute], new: list[Attribute], now: int
    ) -> tuple[Sequence[Attribute], list[Attribute]]:
        habits, patience = habits_after(self.skill, self.tally), self.limits.protect_contradictions
        moved, begun = habit_changes(before, habits, self.tally.habits, self.evidence, now, patience)
        self.changes += moved
        self.tiers |= {change.attribute_id: change.after for change in moved if change.after is not None}
        gone = {change.attribute_id for change in moved if change.after is None}
        return [line for line in before if line.attribute_id not in gone], [*begun, *new]

    def _count_numbers(
        self, before: Sequence[Attribute], new: list[Attribute], numbers: NumberEvidence, now: int
    ) -> tuple[Sequence[Attribute], list[Attribute]]:
        sums = numbers_after(self.skill, self.tally) or numbers.sums
        gone, declared = set(), self.limits.numbers.get(self.skill.domain, NO_NUMBERS)
        for change in number_changes(before, sums, numbers.sums, numbers.weights, self.evidence, now, declared):
            if change.discovered is not None:
                new = [change.discovered, *new]
                continue
            self.changes.append(change)
            if change.after is None:
                gone.add(change.attribute_id)
            else:
                self.tiers[change.attribute_id] = change.after
        return [line for line in before if line.attribute_id not in gone], new

    def _evict_unconfirmed(self, lines: Sequence[Attribute], taken: Names, now: int) -> Sequence[Attribute]:
        # Evict global lines once enough choices have not confirmed them (paper 2.3).
        if now < self.limits.global_patience:
            return lines
        kept = []
        for line in lines:
            if not line.support and is_unconfirmed(line) and not line.pinned and line.attribute_id not in taken:
                self._evict(line, NEVER_CONFIRMED)
            else:
                kept.append(line)
        return kept

    def _recount(self, supported: Names, over: Names, offered: Names, by_age: SkillChangeKind, patience: int) -> None:
        lines, taken_now = self.skill.attributes, self.taken
        counts = counts_after(lines, self.tally)
        for line in lines:
            name = line.attribute_id
            if name not in counts:
                continue
            if name in over:
                self._shift(line, counts[name])
                continue
            taken, expected, proof = counts[name]
            taken_now[name] = taken
            is_taken, is_offered = name in supported, name in offered
            target = tier_of(taken, expected, line.source, proof) if taken or expected else line.tier
            tier = tier_step(line, target, taken=is_taken, contradicted=is_offered, patience=patience)
            if tier is not None:  # most lines stay, and the tally has their counts
                falls_as = SkillChangeKind.WEAKENED if is_offered else by_age
                self._move(line, counts[name], tier, SkillChangeKind.REINFORCED if is_taken else falls_as)

    def _shift(self, line: Attribute, counts: Counts) -> None:
        # It has no proof any more, and falls until it is taken more often than by chance again.
        name, (taken, expected), tier = line.attribute_id, counts[:2], Tier(line.tier - 1)
        self.taken[name], self.tiers[name] = expected, tier
        reason = f"may have changed: {describe_counts(taken, expected)}, and seldom in the last lists"
        self.changes.append(
            SkillChange.of(line, SkillChangeKind.SHIFTED, tier, counts=(expected, expected), reason=reason)
        )

    def _move(self, line: Attribute, counts: Counts, tier: Tier, kind: SkillChangeKind) -> None:
        name = line.attribute_id
        words = describe_counts(*counts[:2]) if tier is not line.tier else ""
        self.tiers[name] = tier
        self.changes.append(
            SkillChange.trusted(kind=kind, attribute_id=name, before=line.tier, after=tier, reason=words)
        )
        if kind is SkillChangeKind.REINFORCED:
            self.confirmed.add(name)

    def _begin(
        self, facts: Sequence[Fact], shown: ListEvidence, met: int, now: int, weight: int, verdicts: Verdicts
    ) -> list[Attribute]:
        """Count new facts as hypotheses; return the lines of those that this event proves, or a model quotes."""
        taken, held = frozenset(shown.taken), self.skill.hypotheses
        named = {name: fact for name, fact in zip(fact_ids(facts), facts, strict=True) if name not in self.taken}
        # Only a value that was taken before can have won a bet.
        known = taken & (held.keys() | self.quotes.keys())
        again = {name: held.get(name, (0, 0, 0)) for name in named if name in known}
        begun = self.tally.lines
        for name in [name for name in named if name not in held][:MAX_HYPOTHESES]:
            part = shown.part(name) * weight // ONE + verdicts.get(name, (0, 0))[0] if name in taken else 0
            expected = initial_expected(self.usual.get(name, 0), shown.expected.get(name, 0) * weight // ONE, met)
            begun[name] = (part, expected, 0)
        if not again:
            return []
        counts = counts_after(hypotheses_of(again), self.tally)
        return [
            from_fact(
                named[name],
                Tier.LOW if proof >= ONE else Tier.SILENT,
                AttributeSource.DISCOVERED,
                counts=(count, expected),
                support=max(1 + (again[name][0] > 0), round(count / ONE)),
                confirmed_at=now,
                evidence=self.evidence,
                proof=proof,
                quote=self.quotes.get(name, ""),
            )
            for name, (count, expected, proof) in counts.items()
            if proof >= ONE or name in self.quotes
        ]

    def _make_room(self, lines: Sequence[Attribute], new: Sequence[Attribute]) -> None:
        # A discovery enters only if a weaker line can leave for it. The log shows the tier before this event and that
        # after it: the higher of the two keeps a line.
        left = [*lines, *new]
        full: set[str] = set()
        going: list[Attribute] | None = None
        while (are_many := len(left) > self.limits.attributes) or not self._fits(left):
            if going is None:
                tiers = {line.attribute_id: max(line.tier, self._tier(line)) for line in left}
                going = list(eviction_order(left, self.taken, self.confirmed, self.usual, tiers))
            if not going:
                break
            # Silent lines are not in the document.
            lowest = 0 if are_many else next((at for at, line in enumerate(going) if self._tier(line) is Tier.LOW), 0)
            gone = going.pop(lowest)
            left = [line for line in left if line is not gone]
            if any(gone is line for line in new):
                full.add(gone.attribute_id)
            else:
                self._evict(gone)
        for line in new:
            if line.attribute_id not in full:
                self.tally.lines.pop(line.attribute_id, None)  # the line has its counts
                self.changes.append(SkillChange.new(without_event(line), SkillChangeKind.DISCOVERED))
            elif line.attribute_id not in self.skill.hypotheses:  # others wait for room
                self.refused.append(refused_change(line.attribute_id, SkillChangeKind.DISCOVERED, RefusalReason.FULL))

    def _tier(self, line: Attribute) -> Tier:
        return self.tiers.get(line.attribute_id, line.tier)

    def _fits(self, lines: Sequence[Attribute]) -> bool:
        return fits_document(lines, self.limits.characters, self.tiers)

    def _evict(self, line: Attribute, reason: str = "") -> None:
        self.changes = [change for change in self.changes if change.attribute_id != line.attribute_id]
        self.changes.append(SkillChange.of(line, SkillChangeKind.EVICTED, reason=reason))
