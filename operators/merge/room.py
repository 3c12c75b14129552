"""The limits of a skill and the evictions that keep them; evictions are changes like all others."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from operators.merge.folding import apply_changes
from operators.render import characters, fits, strategy_of
from operators.stated import SESSION
from schemas import Attribute, Change, ChangeKind, Evidence, PolicySkill, Refusal, Refused, Source, Tier


@dataclass(frozen=True)
class MergeLimits:
    """Limits that the paper leaves open (docs/decisions/0003-merge.md).

    So many `protect_contradictions` demote a high line of the prior, and a line is demoted once in `weaken_window`
    choices. `discoveries` are new lines per event. A seed may fill `seed_characters` of a skill's `characters`. After
    `global_patience` choices an unconfirmed global line goes. `verdict_weight` is a model's verdict as a part of a
    choice, `session` the silence that ends a session.
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
    """Return True for a high line of the prior (paper 2.5)."""
    return line.source is Source.PRIOR and line.tier is Tier.HIGH


def unconfirmed(line: Attribute) -> bool:
    """Return True for a line of the global skill that no choice of the person has confirmed."""
    return not line.support and line.source is Source.GLOBAL


def fit_seed(seed: Sequence[Attribute], limits: MergeLimits = DEFAULT_LIMITS) -> tuple[Attribute, ...]:
    """Return the first lines of a seed that fit its share of a skill."""
    kept: list[Attribute] = []
    for attribute in seed[: limits.attributes]:
        # Measured at the longest tier's name, so that a later reinforcement cannot burst the document.
        longest = [line.model_copy(update={"tier": Tier.MEDIUM}) for line in (*kept, attribute)]
        if characters(longest, strategy_of(())) <= limits.seed_characters:
            kept.append(attribute)
    return tuple(kept)


def make_room(
    skill: PolicySkill, changes: Sequence[Change], evidence: Evidence, now: int, limits: MergeLimits
) -> tuple[list[Change], list[Refused]]:
    """Add the necessary evictions; discoveries without room are refused."""
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
            # Unconfirmed global lines go first, then the lowest tier, the least recently confirmed.
            victim = min(victims, key=lambda line: (not unconfirmed(line), line.tier, line.confirmed_at, line.support,
                                                    line.attribute_id))  # fmt: skip
            kept.append(Change(kind=ChangeKind.EVICTED, attribute_id=victim.attribute_id, before=victim.tier))
        else:
            return kept, refused
