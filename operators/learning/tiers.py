"""The tiers of both modes: a view of the evidence, or single verdicts (paper 2.5)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from operators.attributes import fact_id, from_fact
from operators.evolve.proposals import CountedContrast, Proposal, ValidatedProposal, refused_change
from operators.fit.acceptance import beliefs_after_choice
from operators.habit_directions import is_habit
from operators.learning.evidence import is_counted, is_protected
from operators.learning.fold import next_diff
from operators.learning.limits import DEFAULT_LIMITS, MergeLimits, evict_to_fit
from operators.learning.statements import expired_statements, updated_session
from schemas import Contrast, CountDelta, Event, ItemFacts, PolicySkill, Position
from schemas.diffs import NumberSums, RefusalReason, RefusedProposal, SkillChange, SkillChangeKind, SkillDiff
from schemas.skills import ONE, Attribute, AttributeSource, Evidence, Tier

# The least (taken + 1) / (expected + 1) of each tier, as fractions; below the first the line is silent.
TIER_RATIOS = ((Tier.LOW, 11, 10), (Tier.MEDIUM, 3, 2), (Tier.HIGH, 5, 2))
_TIERS = tuple(Tier)
# A member by way of its class takes seven times as long, and each choice compares hundreds.
_SILENT, _LOW, _HIGH, _STATED = Tier.SILENT, Tier.LOW, Tier.HIGH, AttributeSource.STATED
_EARNED = frozenset({AttributeSource.PRIOR, AttributeSource.DISCOVERED})


def proven_tier(proof: int) -> Tier:
    """Return the tier of a proof in 1/1024 nats: low from one nat, medium from two, high from three.

    A person who chooses blindly reaches three nats with a chance of 5 %.

    >>> proven_tier(2 * ONE), proven_tier(900)
    (<Tier.MEDIUM: 2>, <Tier.SILENT: 0>)
    """
    return _TIERS[min(proof // ONE, _HIGH)] if proof > 0 else _SILENT


def tier_of(taken: int, expected: int, source: AttributeSource, proof: int = 0) -> Tier:
    """Return the tier that the evidence supports; a line moves to it in steps.

    An earned line has the tier that it has proven. Other lines follow from their counts; a stated one stays at low at
    least.

    >>> tier_of(3_000, 300, AttributeSource.DISCOVERED, proof=2_100), tier_of(3_000, 300, AttributeSource.GLOBAL)
    (<Tier.MEDIUM: 2>, <Tier.HIGH: 3>)
    """
    if source in _EARNED:
        return proven_tier(proof)
    found, taken, expected = _SILENT, taken + ONE, expected + ONE
    for tier, parts, of in TIER_RATIOS:
        if taken * of < parts * expected:
            break
        found = tier
    return max(found, _LOW) if source is _STATED else found


# In `paper` mode, a signal moves tiers from this weight on; a weaker one, such as a view, moves none.
SIGNAL_WEIGHT = 0.5
# As many as the rules discover in a choice.
_SIGNAL_DISCOVERIES = 2


def resolve_tiers(
    skill: PolicySkill,
    validated: ValidatedProposal,
    contrast: Contrast,
    source: Position | None = None,
    limits: MergeLimits = DEFAULT_LIMITS,
) -> SkillDiff:
    """Return the diff of a choice in `paper` mode: each verdict moves one tier.

    Discoveries begin at low. Nothing falls below low, and a high line of the prior falls only after several
    contradictions. Only limits of size are ours.
    """
    proposal, taken = validated.proposal, (contrast.chosen, *contrast.also)
    evidence = Evidence(event_id=contrast.event_id, item_id=contrast.chosen.item_id)
    update = TierUpdate(skill, evidence, limits, list(validated.refused))
    update.apply(proposal, skill.contrasts + 1)
    return update.diff(
        contrast,
        stated=expired_statements(skill, contrast, source, taken) if skill.stated else (),
        beliefs=beliefs_after_choice(skill, contrast) if skill.beliefs else None,
        session=updated_session(skill, contrast, source, limits.session),
        reasoned_by=proposal.reasoned_by,
        analysis=proposal.analysis[:4_000],
        judged=proposal.judged,
        source=source,
    )


@dataclass
class TierUpdate:
    """The changes of one event in `paper` mode, while they are collected."""

    skill: PolicySkill
    evidence: Evidence
    limits: MergeLimits
    refused: list[RefusedProposal] = field(default_factory=list)
    changes: list[SkillChange] = field(default_factory=list)
    has_shifted: bool = False

    def apply(self, proposal: Proposal, now: int) -> None:
        """Move the tiers of a validated proposal; `now` counts the person's choices."""
        held = {line.attribute_id: line for line in self.skill.attributes}
        reasons = {name: reason[:300] for name, reason in proposal.reasons.items()}
        up, down = SkillChangeKind.REINFORCED, SkillChangeKind.WEAKENED
        moved = [(name, up, Tier(min(held[name].tier + 1, _HIGH))) for name in proposal.reinforced]
        discovered = [(fact, "") for fact in proposal.discovered]
        for fact, quote in (*discovered, *((each.fact, each.quote) for each in proposal.quoted)):
            line = from_fact(
                fact, _LOW, AttributeSource.DISCOVERED, confirmed_at=now, evidence=self.evidence, quote=quote
            )
            reason = reasons.get(line.attribute_id, "")
            self.changes.append(SkillChange.new(line, SkillChangeKind.DISCOVERED, reason=reason))
        for name in proposal.weakened:
            if held[name].pinned:
                self.refused.append(refused_change(name, down, RefusalReason.PINNED))
            else:
                moved.append((name, down, self._weaker(held[name])))
        moves = [SkillChange.of(held[name], kind, to, reason=reasons.get(name, "")) for name, kind, to in moved]
        self.changes, full = evict_to_fit(self.skill, [*moves, *self.changes], self.evidence, now, self.limits)
        self.refused += full

    def signal(self, items: Sequence[ItemFacts], weight: float) -> None:
        """Confirm the lines of items that suit, or contradict those of others.

        Facts of items that do not suit are no discoveries (invariant 5).
        """
        facts = {fact_id(fact): fact for item in items for fact in item.facts}
        held = [line.attribute_id for line in self.skill.attributes if line.attribute_id in facts]
        if weight <= -SIGNAL_WEIGHT:
            self.apply(Proposal(weakened=tuple(held)), self.skill.contrasts)
        elif weight >= SIGNAL_WEIGHT:
            best = CountedContrast(facts, dict.fromkeys(facts, 0.0), frozenset()).most_informative()
            fresh = [facts[name] for name in best if name not in held]
            self.apply(Proposal(tuple(held), tuple(fresh[:_SIGNAL_DISCOVERIES])), self.skill.contrasts)

    def diff(self, event: Event, **fields: Any) -> SkillDiff:
        """Return the diff of an event with these changes."""
        found: dict[str, Any] = {"changes": tuple(self.changes), "refused": self.refused, "evidence": self.evidence}
        found |= {"count_delta": _end_of_counts(self.skill), "shifted": self.has_shifted}
        found["hypotheses"] = {} if self.skill.hypotheses else None
        return next_diff(self.skill, event, **found | fields)

    def _weaker(self, line: Attribute) -> Tier:
        if is_protected(line) and line.contradictions + 1 < self.limits.protect_contradictions:
            return line.tier
        return min(line.tier, Tier(max(line.tier - 1, Tier.LOW)))


def _end_of_counts(skill: PolicySkill) -> CountDelta | None:
    # Otherwise a skill learned in `evidence` mode, also in a replay, would rank by its counts for ever.
    sums = skill.numbers
    counted = [line for line in skill.attributes if is_counted(line) and not is_habit(line.attribute_id)]
    has_sums = sums is not None and any((*sums.pulls.values(), *sums.curves.values()))
    if not (counted or has_sums):
        return None
    # Decay does not reach stated lines.
    stated = {line.attribute_id: (0, 0) for line in counted if line.source is _STATED}
    return CountDelta(forget=1, begun=stated, numbers_forget=1, numbers=NumberSums() if has_sums else None)
