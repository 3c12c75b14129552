"""The limits of a skill, evictions, and the paper's tier rule (2.5)."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from operators.attributes import from_fact
from operators.evolve.proposals import ValidatedProposal, refused_change
from operators.learning.fold import apply_changes, document_length, fits_document, next_diff, strategy_of
from operators.stated import SESSION_SILENCE
from schemas.base import Position
from schemas.diffs import PolicySkill, RefusalReason, RefusedProposal, SkillChange, SkillChangeKind, SkillDiff
from schemas.events import Contrast
from schemas.skills import Attribute, AttributeSource, Evidence, Tier


@dataclass(frozen=True)
class MergeLimits:
    """Limits that the paper leaves open (decision 0003).

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
    session: timedelta = SESSION_SILENCE


DEFAULT_LIMITS = MergeLimits()
NEVER_CONFIRMED = "never confirmed by the person's own choices"


def is_protected(line: Attribute) -> bool:
    """Return True for a high line of the prior (paper 2.5)."""
    return line.source is AttributeSource.PRIOR and line.tier is Tier.HIGH


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
    lines: Sequence[Attribute], taken: Mapping[str, int], confirmed: Collection[str], usual: Mapping[str, int]
) -> Iterator[Attribute]:
    """Yield evictable lines: unconfirmed, least taken, oldest, rarest first.

    `taken` are the new counts, `confirmed` the lines that this event takes, `usual` the population's shares.
    """
    evictable = [
        (
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
    return (lines[each[-1]] for each in evictable)


def evict_to_fit(
    skill: PolicySkill, changes: Sequence[SkillChange], evidence: Evidence, now: int, limits: MergeLimits
) -> tuple[list[SkillChange], list[RefusedProposal]]:
    """Add the necessary evictions; discoveries without room are refused."""
    kept, refused = list(changes), list[RefusedProposal]()
    while True:
        lines = apply_changes(skill.attributes, kept, evidence, now)
        if len(lines) <= limits.attributes and fits_document(lines, limits.characters):
            return kept, refused
        evictable = [line for line in lines if not line.pinned and not is_protected(line)]
        touched = {change.attribute_id for change in kept}
        discoveries = [change for change in kept if change.discovered is not None and change.before is None]
        untouched = [line for line in evictable if line.attribute_id not in touched]
        if not untouched and discoveries:
            kept.remove(discoveries[-1])
            name = discoveries[-1].attribute_id
            refused.append(refused_change(name, discoveries[-1].kind, RefusalReason.FULL))
        elif victims := untouched or evictable or [line for line in lines if not line.pinned]:
            kept.append(SkillChange.of(min(victims, key=_eviction_rank), SkillChangeKind.EVICTED))
        else:
            return kept, refused


def _eviction_rank(line: Attribute) -> tuple[bool, Tier, int, int, str]:
    # Unconfirmed global lines go first, then the lowest tier, the least recently confirmed.
    return not is_unconfirmed(line), line.tier, line.confirmed_at, line.support, line.attribute_id


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
    for place, fact in enumerate(proposal.discovered):
        line = from_fact(fact, Tier.LOW, AttributeSource.DISCOVERED, confirmed_at=now, evidence=evidence)
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
