"""The tier rule (paper 2.5, Incremental Merge Protocol): what a proposal does to a skill."""

from operators.attributes import from_fact
from operators.evolve.validate import Validated
from operators.merge.diffs import next_diff
from operators.merge.room import DEFAULT_LIMITS, MergeLimits, left_behind, make_room, protected
from schemas import (
    Attribute,
    Change,
    ChangeKind,
    Contrast,
    Evidence,
    PolicySkill,
    Position,
    Refusal,
    Refused,
    SkillDiff,
    Source,
    Tier,
)


def resolve(
    skill: PolicySkill,
    validated: Validated,
    contrast: Contrast,
    source: Position | None = None,
    limits: MergeLimits = DEFAULT_LIMITS,
) -> SkillDiff:
    """What a proposal does to this skill, once the tier rule has spoken (paper 2.5, Incremental Merge Protocol).

    Reinforce moves one tier up, weaken one down and never below low, a discovered line starts at low. A high
    line of the prior goes down only after several contradictions; no line is demoted twice within the window.
    Global lines that the user's own choices do not confirm are left behind. What does not fit any more is evicted:
    unconfirmed global lines first, then lowest tier, least recently confirmed, never pinned, never protected.
    """
    proposal, now = validated.proposal, skill.contrasts + 1
    evidence = Evidence(event_id=contrast.event_id, item_id=contrast.chosen.item_id)
    held = {a.attribute_id: a for a in skill.attributes}
    reasons = {name: reason[:300] for name, reason in proposal.reasons.items()}
    changes: list[Change] = []
    refused = list(validated.refused)
    for name in proposal.reinforced:
        before = held[name].tier
        after = Tier(min(before + 1, Tier.HIGH))
        changes.append(
            Change(
                kind=ChangeKind.REINFORCED, attribute_id=name, before=before, after=after, reason=reasons.get(name, "")
            )
        )
    for place, fact in enumerate(proposal.discovered):
        line = from_fact(fact, Tier.LOW, Source.DISCOVERED, confirmed_at=now, evidence=evidence)
        name = line.attribute_id
        if place >= limits.discoveries:
            refused.append(Refused(attribute_id=name, proposed=ChangeKind.DISCOVERED, why=Refusal.CAPPED))
            continue
        changes.append(
            Change(
                kind=ChangeKind.DISCOVERED,
                attribute_id=name,
                after=line.tier,
                discovered=line,
                reason=reasons.get(name, ""),
            )
        )
    for name in proposal.weakened:
        change = _weaken(held[name], now, reasons.get(name, ""), limits)
        if isinstance(change, Change):
            changes.append(change)
        else:
            refused.append(Refused(attribute_id=name, proposed=ChangeKind.WEAKENED, why=change))
    changes += left_behind(skill, changes, evidence, now, limits)
    changes, full = make_room(skill, changes, evidence, now, limits)
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


def _weaken(line: Attribute, now: int, reason: str, limits: MergeLimits) -> Change | Refusal:
    if line.pinned:
        return Refusal.PINNED
    if line.weakened_at is not None and now - line.weakened_at < limits.weaken_window:
        return Refusal.CAPPED
    after = min(line.tier, Tier(max(line.tier - 1, Tier.LOW)))
    if protected(line) and line.contradictions + 1 < limits.protect_contradictions:
        after = line.tier
    return Change(
        kind=ChangeKind.WEAKENED, attribute_id=line.attribute_id, before=line.tier, after=after, reason=reason
    )
