"""What a skill has room for, and what has to go (DESIGN 6, Merge): evictions are changes like all others."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from operators.merge.folding import apply_changes
from operators.render import characters, fits, strategy_of
from operators.stated import SESSION
from schemas import Attribute, Change, ChangeKind, Evidence, PolicySkill, Refusal, Refused, Source, Tier


@dataclass(frozen=True)
class MergeLimits:
    """What the paper leaves open, decided and documented in docs/decisions/0003-merge.md.

    Attributes:
        protect_contradictions: how many contradictions, from as many events, demote a high line of the prior.
        weaken_window: a line is demoted at most once in this many of the user's own contrasts.
        discoveries: most new lines per event.
        attributes: most lines in a skill.
        characters: the size of a skill as rendered.
        seed_characters: the part of it that a seed may fill.
        pinned: most pinned lines.
        global_patience: a line of the global skill is left behind when this many of the user's own contrasts have
            not confirmed it.
        verdict_weight: what a model's verdict on a line adds to its counts, as a part of a choice.
        session: how long after its last event a session is over.
    """

    protect_contradictions: int = 2
    weaken_window: int = 5
    discoveries: int = 3
    attributes: int = 40
    characters: int = 1_500
    seed_characters: int = 1_200
    pinned: int = 4
    global_patience: int = 5
    verdict_weight: float = 0.25
    session: timedelta = SESSION


DEFAULT_LIMITS = MergeLimits()


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
