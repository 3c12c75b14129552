"""The tier rule of the paper (2.5, Incremental Merge Protocol)."""

from operators.attributes import from_fact
from operators.evolve.validate import Validated
from operators.merge.folding import apply_changes, next_diff
from operators.merge.room import DEFAULT_LIMITS, NEVER_CONFIRMED, MergeLimits, make_room, protected, unconfirmed
from schemas.diffs import Change, ChangeKind, PolicySkill, Refusal, Refused, SkillDiff
from schemas.events import Contrast
from schemas.skills import Attribute, Evidence, Position, Source, Tier


def resolve(
    skill: PolicySkill,
    validated: Validated,
    contrast: Contrast,
    source: Position | None = None,
    limits: MergeLimits = DEFAULT_LIMITS,
) -> SkillDiff:
    """Return the diff of a proposal by the tier rule.

    Reinforce moves one tier up, weaken one down and never below low; a discovered line starts at low. A high line of
    the prior goes down only after several contradictions; no line is demoted twice within the window. Unconfirmed
    global lines are left behind. Without room, unconfirmed global lines go first, then the lowest tier, the least
    recently confirmed; pinned and protected lines stay.
    """
    proposal, now = validated.proposal, skill.contrasts + 1
    evidence = Evidence(event_id=contrast.event_id, item_id=contrast.chosen.item_id)
    held = {a.attribute_id: a for a in skill.attributes}
    changes: list[Change] = []
    refused = list(validated.refused)

    def note(kind: ChangeKind, name: str, before: Tier | None, after: Tier, line: Attribute | None = None) -> None:
        reason = proposal.reasons.get(name, "")[:300]
        changes.append(Change(kind=kind, attribute_id=name, before=before, after=after, discovered=line, reason=reason))

    for name in proposal.reinforced:
        tier = held[name].tier
        note(ChangeKind.REINFORCED, name, tier, Tier(min(tier + 1, Tier.HIGH)))
    for place, fact in enumerate(proposal.discovered):
        line = from_fact(fact, Tier.LOW, Source.DISCOVERED, confirmed_at=now, evidence=evidence)
        if place < limits.discoveries:
            note(ChangeKind.DISCOVERED, line.attribute_id, None, line.tier, line)
        else:
            capped = Refused(attribute_id=line.attribute_id, proposed=ChangeKind.DISCOVERED, why=Refusal.CAPPED)
            refused.append(capped)
    for name in proposal.weakened:
        after = _weakened(held[name], now, limits)
        if isinstance(after, Tier):
            note(ChangeKind.WEAKENED, name, held[name].tier, after)
        else:
            refused.append(Refused(attribute_id=name, proposed=ChangeKind.WEAKENED, why=after))
    if now >= limits.global_patience:
        for line in apply_changes(skill.attributes, changes, evidence, now):
            if unconfirmed(line) and not line.pinned:  # so many choices did not confirm it (paper 2.3)
                name, why = line.attribute_id, NEVER_CONFIRMED
                changes.append(Change(kind=ChangeKind.EVICTED, attribute_id=name, before=line.tier, reason=why))
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


def _weakened(line: Attribute, now: int, limits: MergeLimits) -> Tier | Refusal:
    if line.pinned:
        return Refusal.PINNED
    if line.weakened_at is not None and now - line.weakened_at < limits.weaken_window:
        return Refusal.CAPPED
    if protected(line) and line.contradictions + 1 < limits.protect_contradictions:
        return line.tier
    return min(line.tier, Tier(max(line.tier - 1, Tier.LOW)))
