"""Full replacement (paper 3.4, Table 5) as a diff, so that the fold stays exact: only to measure against.

A line that the new skill does not hold is removed, a line that only the new skill holds is discovered at the tier
given, and a line of both is reinforced or weakened straight to its new tier. `merge` takes each tier from the change,
so it needs to know nothing of this. Tiers move by more than one here, and a protected line goes with one choice: that
is the defect which Table 5 measures, and the reason why this is no way to run.
"""

from collections.abc import Callable, Mapping

from operators.attributes import fact_id
from operators.evolve.replace import Replacement
from operators.evolve.validate import free_text, named, refusal
from operators.merge.diffs import discovery, next_diff, why
from operators.merge.limits import DEFAULT_LIMITS, MergeLimits
from operators.merge.room import make_room
from operators.privacy import Privacy
from schemas import (
    Attribute,
    Change,
    ChangeKind,
    Contrast,
    Evidence,
    Fact,
    PolicySkill,
    Position,
    Refusal,
    Refused,
    SkillDiff,
    Tier,
)

REPLACED = "full replacement"


def resolve_replacement(
    skill: PolicySkill,
    replacement: Replacement,
    contrast: Contrast,
    source: Position | None = None,
    limits: MergeLimits = DEFAULT_LIMITS,
    *,
    privacy: Privacy,
) -> SkillDiff:
    """What rewriting this skill from one choice does to it; pinned lines stay, and never go down.

    The same evidence is asked as of a proposal (invariant 8): a new line is a fact of the chosen item, a kept one is
    held. What neither is, is refused in the diff.
    """
    now = skill.contrasts + 1
    evidence = Evidence(event_id=contrast.event_id, item_id=contrast.chosen.item_id)
    domain = contrast.domain
    stated = {fact_id(fact): fact for fact in reversed(contrast.chosen.facts)}
    held = {line.attribute_id for line in skill.attributes}
    wanted, refused = _supported(replacement, stated, held, lambda name: named(name, domain, privacy))
    reasons = {name: free_text(reason, domain, privacy, 300) for name, reason in replacement.reasons.items()}
    changes: list[Change] = []
    # An item in which no parser finds anything says nothing, which is no reason to forget everything.
    for line in skill.attributes if stated else ():
        change = _rewritten(line, wanted.get(line.attribute_id), line.attribute_id in stated)
        if change is not None:
            changes.append(change.model_copy(update={"reason": change.reason or why(reasons, line.attribute_id)}))
    for name, tier in wanted.items():
        if name not in held:
            changes.append(discovery(stated[name], tier, now, evidence, why(reasons, name)))
    changes, full = make_room(skill, changes, evidence, now, limits)
    return next_diff(
        skill,
        contrast,
        changes=tuple(changes),
        refused=(*refused, *full),
        evidence=evidence,
        reasoned_by=replacement.reasoned_by,
        analysis=free_text(replacement.analysis, domain, privacy, 4_000)[:4_000],
        source=source,
    )


def _supported(
    replacement: Replacement, stated: Mapping[str, Fact], held: set[str], private: Callable[[str], str | None]
) -> tuple[dict[str, Tier], list[Refused]]:
    """The lines of the new skill that stand on evidence, with their tiers, the first mention of each; the others."""
    wanted: dict[str, Tier] = {}
    refused: list[Refused] = []
    for fact, tier in replacement.facts:
        if (name := fact_id(fact)) in stated:
            wanted.setdefault(name, tier)
        else:
            refused.append(refusal(name, ChangeKind.DISCOVERED, Refusal.UNSUPPORTED, private(name)))
    for name, tier in replacement.kept.items():
        if name in held:
            wanted.setdefault(name, tier)
        else:
            refused.append(refusal(name, ChangeKind.REINFORCED, Refusal.UNKNOWN, private(name)))
    return wanted, refused[:64]


def _rewritten(line: Attribute, tier: Tier | None, stated: bool) -> Change | None:
    """What becomes of one old line; None if it stays just as it is."""
    if line.pinned:
        tier = max(line.tier, tier or line.tier)
    if tier is None:
        return Change(kind=ChangeKind.REMOVED, attribute_id=line.attribute_id, before=line.tier, reason=REPLACED)
    if tier < line.tier:
        kind = ChangeKind.WEAKENED
    elif tier > line.tier or stated:
        kind = ChangeKind.REINFORCED
    else:
        # Kept at its tier without a word for it in the chosen item: no evidence, no change.
        return None
    return Change(kind=kind, attribute_id=line.attribute_id, before=line.tier, after=tier)
