"""What a skill has room for, and what has to go (DESIGN 6, Merge): evictions are changes like all others."""

from collections.abc import Sequence

from operators.merge.folding import apply_changes
from operators.merge.limits import DEFAULT_LIMITS, MergeLimits
from operators.render import characters, fits, strategy_of
from schemas import Attribute, Change, ChangeKind, Evidence, PolicySkill, Refusal, Refused, Source, Tier

NEVER_CONFIRMED = "never confirmed by the person's own choices"


def protected(line: Attribute) -> bool:
    """Whether one contradiction is not enough for this line, and others go before it (paper 2.5)."""
    return line.source is Source.PRIOR and line.tier is Tier.HIGH


def unconfirmed(line: Attribute) -> bool:
    """Whether this is the population's word alone: from the global skill, and no choice of the person backs it."""
    return line.source is Source.GLOBAL and not line.support


def fit_seed(seed: Sequence[Attribute], limits: MergeLimits = DEFAULT_LIMITS) -> tuple[Attribute, ...]:
    """The first lines of a seed that fit into the seed's share of a skill."""
    kept: list[Attribute] = []
    for attribute in seed[: limits.attributes]:
        widest = [*kept, attribute]
        # Measured at the longest tier's name, so that a later reinforcement cannot burst the document.
        if characters([a.model_copy(update={"tier": Tier.MEDIUM}) for a in widest], strategy_of(())) <= (
            limits.seed_characters
        ):
            kept.append(attribute)
    return tuple(kept)


def left_behind(
    skill: PolicySkill, changes: Sequence[Change], evidence: Evidence, now: int, limits: MergeLimits
) -> list[Change]:
    """The evictions of global lines that none of enough choices has confirmed, this one included (paper 2.3)."""
    if now < limits.global_patience or Source.GLOBAL not in [line.source for line in skill.attributes]:
        return []
    return [
        Change(kind=ChangeKind.EVICTED, attribute_id=line.attribute_id, before=line.tier, reason=NEVER_CONFIRMED)
        for line in apply_changes(skill.attributes, changes, evidence, now)
        if unconfirmed(line) and not line.pinned
    ]


def make_room(
    skill: PolicySkill, changes: Sequence[Change], evidence: Evidence, now: int, limits: MergeLimits
) -> tuple[list[Change], list[Refused]]:
    """The changes with the evictions that they call for; discoveries for which there is no room are refused."""
    kept, refused = list(changes), list[Refused]()
    while True:
        lines = apply_changes(skill.attributes, kept, evidence, now)
        if len(lines) <= limits.attributes and fits(lines, limits.characters):
            return kept, refused
        loose = [line for line in lines if not line.pinned and not protected(line)]
        touched = {change.attribute_id for change in kept}
        discoveries = [change for change in kept if change.discovered is not None and change.before is None]
        untouched = [line for line in loose if line.attribute_id not in touched]
        if not untouched and discoveries:
            kept.remove(discoveries[-1])
            name = discoveries[-1].attribute_id
            refused.append(Refused(attribute_id=name, proposed=discoveries[-1].kind, why=Refusal.FULL))
        elif victims := untouched or loose or [line for line in lines if not line.pinned]:
            victim = min(victims, key=_least_missed)
            kept.append(Change(kind=ChangeKind.EVICTED, attribute_id=victim.attribute_id, before=victim.tier))
        else:
            return kept, refused


def _least_missed(line: Attribute) -> tuple[bool, int, int, int, str]:
    # What only others like says less about this person than their own emptiest line.
    return (not unconfirmed(line), line.tier, line.confirmed_at, line.support, line.attribute_id)
