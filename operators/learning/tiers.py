"""The tier rule (paper 2.5): by counts, or by single verdicts."""

from operators.attributes import from_fact
from operators.evolve.proposals import ValidatedProposal, refused_change
from operators.learning.evidence import is_protected
from operators.learning.fold import apply_changes, next_diff
from operators.learning.limits import (
    DEFAULT_LIMITS,
    NEVER_CONFIRMED,
    MergeLimits,
    evict_to_fit,
    is_unconfirmed,
)
from schemas import Contrast, PolicySkill, Position, RefusalReason, SkillChange, SkillChangeKind, SkillDiff
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
    return _TIERS[min(max(proof // ONE, 0), Tier.HIGH)]


def tier_of(taken: int, expected: int, source: AttributeSource, proof: int = 0) -> Tier:
    """Return the tier as a view of the evidence, which a line approaches in steps.

    An earned line has the tier that it has proven. Other lines follow from their counts; a stated one stays at low at
    least.

    >>> tier_of(3_000, 300, AttributeSource.DISCOVERED, proof=2_100), tier_of(3_000, 300, AttributeSource.GLOBAL)
    (<Tier.MEDIUM: 2>, <Tier.HIGH: 3>)
    """
    if source in _EARNED:
        return _TIERS[min(proof // ONE, _HIGH)] if proof > 0 else _SILENT
    found, taken, expected = _SILENT, taken + ONE, expected + ONE
    for tier, parts, of in TIER_RATIOS:
        if taken * of < parts * expected:
            break
        found = tier
    return max(found, _LOW) if source is _STATED else found


def resolve_tiers(
    skill: PolicySkill,
    validated: ValidatedProposal,
    contrast: Contrast,
    source: Position | None = None,
    limits: MergeLimits = DEFAULT_LIMITS,
) -> SkillDiff:
    """Return the diff of a proposal by the tier rule.

    Reinforce moves one tier up, weaken one down and never below low; a discovered line starts at low. A high line of
    the prior goes down only after several contradictions; no line is demoted twice within the window. Unconfirmed
    global lines are left behind; pinned and protected lines stay where room is short.
    """
    proposal, now = validated.proposal, skill.contrasts + 1
    evidence = Evidence(event_id=contrast.event_id, item_id=contrast.chosen.item_id)
    held = {a.attribute_id: a for a in skill.attributes}
    changes: list[SkillChange] = []
    refused = list(validated.refused)

    def reason(line: Attribute) -> str:
        return proposal.reasons.get(line.attribute_id, "")[:300]

    for line in map(held.__getitem__, proposal.reinforced):
        after = Tier(min(line.tier + 1, Tier.HIGH))
        changes.append(SkillChange.of(line, SkillChangeKind.REINFORCED, after, reason=reason(line)))
    discovered = [(fact, "") for fact in proposal.discovered] + [(each.fact, each.quote) for each in proposal.quoted]
    for place, (fact, quote) in enumerate(discovered):
        line = from_fact(fact, Tier.LOW, AttributeSource.DISCOVERED, confirmed_at=now, evidence=evidence, quote=quote)
        if place < limits.discoveries:
            changes.append(SkillChange.new(line, SkillChangeKind.DISCOVERED, reason=reason(line)))
        else:
            refused.append(refused_change(line.attribute_id, SkillChangeKind.DISCOVERED, RefusalReason.CAPPED))
    for line in map(held.__getitem__, proposal.weakened):
        weaker = _weakened(line, now, limits)
        if isinstance(weaker, Tier):
            changes.append(SkillChange.of(line, SkillChangeKind.WEAKENED, weaker, reason=reason(line)))
        else:
            refused.append(refused_change(line.attribute_id, SkillChangeKind.WEAKENED, weaker))
    if now >= limits.global_patience:
        # So many choices did not confirm these lines (paper 2.3).
        left = [line for line in apply_changes(skill.attributes, changes, evidence, now) if is_unconfirmed(line)]
        evicted = SkillChangeKind.EVICTED
        changes += [SkillChange.of(line, evicted, reason=NEVER_CONFIRMED) for line in left if not line.pinned]
    changes, full = evict_to_fit(skill, changes, evidence, now, limits)
    return next_diff(
        skill,
        contrast,
        changes=tuple(changes),
        refused=(*refused, *full),
        evidence=evidence,
        reasoned_by=proposal.reasoned_by,
        analysis=proposal.analysis[:4_000],
        judged=proposal.judged,
        source=source,
    )


def _weakened(line: Attribute, now: int, limits: MergeLimits) -> Tier | RefusalReason:
    if line.pinned:
        return RefusalReason.PINNED
    if line.weakened_at is not None and now - line.weakened_at < limits.weaken_window:
        return RefusalReason.CAPPED
    if is_protected(line) and line.contradictions + 1 < limits.protect_contradictions:
        return line.tier
    return min(line.tier, Tier(max(line.tier - 1, Tier.LOW)))
