"""The limits of a skill, and evictions to keep them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from operators.evolve.proposals import refused_change
from operators.learning.document import document_length, fits_document, strategy_of
from operators.learning.fold import apply_changes
from operators.numbers import Numbers
from operators.stated import SESSION_SILENCE
from schemas.diffs import PolicySkill, RefusalReason, RefusedProposal, SkillChange, SkillChangeKind
from schemas.skills import Attribute, AttributeSource, Evidence, Tier


@dataclass(frozen=True)
class MergeLimits:
    """Limits that the paper leaves open (decision 0003).

    In `paper` mode, so many `protect_contradictions` demote a high line of the prior. A seed may fill
    `seed_characters` of a skill's `characters`. After `global_patience` choices an unconfirmed global line goes.
    `verdict_weight` is a model's verdict as a part of a choice, `session` the silence that ends a session. `numbers`
    are declared, by domain.
    """

    protect_contradictions: int = 2
    attributes: int = 40
    characters: int = 1_500
    seed_characters: int = 1_200
    pinned: int = 4
    global_patience: int = 5
    verdict_weight: float = 0.25
    session: timedelta = SESSION_SILENCE
    numbers: Mapping[str, Numbers] = field(default_factory=dict, hash=False)


DEFAULT_LIMITS = MergeLimits()
NEVER_CONFIRMED = "never confirmed by the person's own choices"
_NO_TIERS: Mapping[str, Tier] = {}


def is_unconfirmed(line: Attribute) -> bool:
    """Return True for a global line that no choice has confirmed."""
    return not line.support and line.source is AttributeSource.GLOBAL


def fit_seed(seed: Sequence[Attribute], limits: MergeLimits = DEFAULT_LIMITS) -> tuple[Attribute, ...]:
    """Return the first seed lines that fit the seed's share."""
    kept: list[Attribute] = []
    for attribute in seed[: limits.attributes]:
        # Measured at the longest tier's name, so that a later reinforcement cannot burst the document.
        longest = [line.model_copy(update={"tier": Tier.MEDIUM}) for line in (*kept, attribute)]
        if document_length(longest, strategy_of(())) <= limits.seed_characters:
            kept.append(attribute)
    return tuple(kept)


def eviction_order(
    lines: Sequence[Attribute],
    taken: Mapping[str, int],
    confirmed: Collection[str],
    usual: Mapping[str, int],
    tiers: Mapping[str, Tier] = _NO_TIERS,
) -> Iterator[Attribute]:
    """Yield evictable lines: unconfirmed, least taken, oldest, rarest first.

    `taken` are the new counts, `confirmed` the lines that this event takes, `usual` the population's shares. A line of
    `tiers` above low comes after all lower ones.
    """
    evictable = [
        (
            tier if (tier := tiers.get(line.attribute_id, Tier.SILENT)) > Tier.LOW else Tier.SILENT,
            not is_unconfirmed(line),
            taken.get(name := line.attribute_id, line.taken),
            name in confirmed,
            line.confirmed_at,
            usual.get(name, 0),
            name,
            place,
        )
        for place, line in enumerate(lines)
        if not line.pinned and line.source is not AttributeSource.STATED
    ]
    evictable.sort()
    for each in evictable:
        yield lines[each[-1]]


def evict_to_fit(
    skill: PolicySkill, changes: Sequence[SkillChange], evidence: Evidence, now: int, limits: MergeLimits
) -> tuple[list[SkillChange], list[RefusedProposal]]:
    """Add the necessary evictions, lowest tiers first; a new line without room is refused."""
    kept, refused = list(changes), list[RefusedProposal]()
    held = {line.attribute_id: line for line in skill.attributes}
    while True:
        lines = apply_changes(skill.attributes, kept, evidence, now)
        if len(lines) <= limits.attributes and fits_document(lines, limits.characters):
            return kept, refused
        new = {change.attribute_id: change for change in kept if change.discovered and change.before is None}
        loose = [line for line in lines if not line.pinned]
        # Lines that a person stated go last.
        victims = [line for line in loose if line.source is not AttributeSource.STATED or line.attribute_id in new]
        if not (victims or loose):
            return kept, refused
        touched = {change.attribute_id for change in kept}
        victim = min(victims or loose, key=lambda line: _eviction_rank(line, held, touched)).attribute_id
        if (change := new.get(victim)) is not None:
            kept.remove(change)
            refused.append(refused_change(victim, change.kind, RefusalReason.FULL))
        else:
            kept = [change for change in kept if change.attribute_id != victim]
            kept.append(SkillChange.of(held[victim], SkillChangeKind.EVICTED))


def _eviction_rank(
    line: Attribute, held: Mapping[str, Attribute], touched: Collection[str]
) -> tuple[Tier, bool, bool, int, int, str]:
    # A line that this event weakens counts by its tier before it. Of a tier, untouched lines go first.
    name = line.attribute_id
    tier = max(line.tier, held[name].tier) if name in held else line.tier
    return tier, name in touched, not is_unconfirmed(line), line.confirmed_at, line.support, name
