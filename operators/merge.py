"""Merge (paper 2.5): the whole tier rule, protection, caps and eviction, and the fold of the log.

`resolve` turns an honest proposal into a diff of effective changes: this is where the rule and its limits
speak. `merge` applies a diff to a skill and knows no limit, so that the log alone gives every skill back, also
after the limits were changed (invariant 1).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from operators.applied import is_applied, remember, with_applied
from operators.attributes import fact_id, from_fact
from operators.evolve.validate import Validated
from operators.render import render_lines, strategy_of
from schemas import (
    MAX_EVIDENCE,
    MAX_RECENT,
    Action,
    Attribute,
    Change,
    ChangeKind,
    Contrast,
    Evidence,
    PolicySkill,
    Position,
    ReasonedBy,
    Refusal,
    Refused,
    SkillCommand,
    SkillDiff,
    Source,
    Tier,
)


class OutOfOrder(ValueError):
    """A diff does not follow the version that the skill is at."""


@dataclass(frozen=True)
class MergeLimits:
    """What the paper leaves open, decided and documented in docs/decisions/0003-merge.md.

    Attributes:
        protect_contradictions: how many contradictions, from as many events, demote a high line of the prior.
        weaken_window: a line is demoted at most once in this many of the user's own contrasts.
        discoveries: most new lines per event.
        attributes: most lines in a skill.
        characters: the size of a skill as rendered.
        seed_characters: the part of it that a seed may fill, so that protected lines never crowd out all others.
        pinned: most pinned lines.
    """

    protect_contradictions: int = 2
    weaken_window: int = 5
    discoveries: int = 3
    attributes: int = 40
    characters: int = 1_500
    seed_characters: int = 750
    pinned: int = 4


DEFAULT_LIMITS = MergeLimits()


def holds(skill: PolicySkill | None, event_id: str, source: Position | None) -> bool:
    """Whether the skill has learned from this event already (invariant 2)."""
    if skill is None:
        return False
    return event_id in skill.recent or (source is not None and is_applied(skill.applied, source))


def fit_seed(seed: Sequence[Attribute], limits: MergeLimits = DEFAULT_LIMITS) -> tuple[Attribute, ...]:
    """The first lines of a seed that fit into the seed's share of a skill."""
    kept: list[Attribute] = []
    for attribute in seed[: limits.attributes]:
        widest = [*kept, attribute]
        # Measured at the longest tier's name, so that a later reinforcement cannot burst the document.
        if len(render_lines([a.model_copy(update={"tier": Tier.MEDIUM}) for a in widest], strategy_of(()))) <= (
            limits.seed_characters
        ):
            kept.append(attribute)
    return tuple(kept)


def resolve(
    skill: PolicySkill,
    validated: Validated,
    contrast: Contrast,
    source: Position | None = None,
    limits: MergeLimits = DEFAULT_LIMITS,
) -> SkillDiff:
    """What a proposal does to this skill, once the tier rule has spoken (paper 2.5, Incremental Merge Protocol).

    Reinforce moves one tier up, weaken one down and never below low, a discovered line starts at low. A high
    line of the prior goes down only after several contradictions; no line is demoted twice within the window;
    what does not fit any more is evicted: lowest tier, least recently confirmed, never pinned, never protected.
    """
    proposal, now = validated.proposal, skill.contrasts + 1
    evidence = Evidence(event_id=contrast.event_id, item_id=contrast.chosen.item_id)
    held = {a.attribute_id: a for a in skill.attributes}
    reasons = proposal.reasons
    changes: list[Change] = []
    refused = list(validated.refused)
    for name in proposal.reinforced:
        before = held[name].tier
        after = Tier(min(before + 1, Tier.HIGH))
        changes.append(
            Change(
                kind=ChangeKind.REINFORCED, attribute_id=name, before=before, after=after, reason=_why(reasons, name)
            )
        )
    for place, fact in enumerate(proposal.discovered):
        name = fact_id(fact)
        if place >= limits.discoveries:
            refused.append(Refused(attribute_id=name, proposed=ChangeKind.DISCOVERED, why=Refusal.CAPPED))
            continue
        line = from_fact(fact, Tier.LOW, Source.DISCOVERED, confirmed_at=now, evidence=evidence)
        changes.append(
            Change(
                kind=ChangeKind.DISCOVERED,
                attribute_id=name,
                after=Tier.LOW,
                discovered=line,
                reason=_why(reasons, name),
            )
        )
    for name in proposal.weakened:
        change = _weaken(held[name], now, _why(reasons, name), limits)
        if isinstance(change, Change):
            changes.append(change)
        else:
            refused.append(Refused(attribute_id=name, proposed=ChangeKind.WEAKENED, why=change))
    changes, full = _make_room(skill, changes, evidence, now, limits)
    return _next_diff(
        skill,
        contrast,
        changes=tuple(changes),
        refused=(*refused, *full),
        evidence=evidence,
        reasoned_by=proposal.reasoned_by,
        analysis=proposal.analysis[:4_000],
        source=source,
    )


def _next_diff(skill: PolicySkill, event: Contrast | SkillCommand, **found: Any) -> SkillDiff:
    """The diff that leads from this version to the next; the first one carries the seed."""
    return SkillDiff(
        event_id=event.event_id,
        occurred_at=event.occurred_at,
        user_id=skill.user_id,
        domain=skill.domain,
        base_version=skill.version,
        version=skill.version + 1,
        seed=skill.attributes if skill.version == 0 else None,
        **found,
    )


def _why(reasons: Mapping[str, str], name: str) -> str:
    return reasons.get(name, "")[:300]


def _weaken(line: Attribute, now: int, reason: str, limits: MergeLimits) -> Change | Refusal:
    if line.pinned:
        return Refusal.PINNED
    if line.weakened_at is not None and now - line.weakened_at < limits.weaken_window:
        return Refusal.CAPPED
    after = Tier(max(line.tier - 1, Tier.LOW))
    if _protected(line) and line.contradictions + 1 < limits.protect_contradictions:
        after = line.tier
    return Change(
        kind=ChangeKind.WEAKENED, attribute_id=line.attribute_id, before=line.tier, after=after, reason=reason
    )


def _protected(line: Attribute) -> bool:
    return line.source is Source.PRIOR and line.tier is Tier.HIGH


def _make_room(
    skill: PolicySkill, changes: Sequence[Change], evidence: Evidence, now: int, limits: MergeLimits
) -> tuple[list[Change], list[Refused]]:
    """The changes with the evictions that they call for; discoveries for which there is no room are refused."""
    kept, refused = list(changes), list[Refused]()
    while True:
        lines = _apply_changes(skill.attributes, kept, evidence, now)
        if len(lines) <= limits.attributes and len(render_lines(lines, strategy_of(lines))) <= limits.characters:
            return kept, refused
        loose = [line for line in lines if not line.pinned and not _protected(line)]
        touched = {change.attribute_id for change in kept}
        discoveries = [change for change in kept if change.kind is ChangeKind.DISCOVERED]
        untouched = [line for line in loose if line.attribute_id not in touched]
        if not untouched and discoveries:
            kept.remove(discoveries[-1])
            name = discoveries[-1].attribute_id
            refused.append(Refused(attribute_id=name, proposed=ChangeKind.DISCOVERED, why=Refusal.FULL))
        elif victims := untouched or loose:
            victim = min(victims, key=lambda line: (line.tier, line.confirmed_at, line.support, line.attribute_id))
            kept.append(Change(kind=ChangeKind.EVICTED, attribute_id=victim.attribute_id, before=victim.tier))
        else:
            return kept, refused


def resolve_command(
    skill: PolicySkill, command: SkillCommand, source: Position | None = None, limits: MergeLimits = DEFAULT_LIMITS
) -> SkillDiff:
    """What a person's command does to this skill; one that names no line of it is refused in the diff."""
    line = next((a for a in skill.attributes if a.attribute_id == command.attribute_id), None)
    kind = {Action.PIN: ChangeKind.PINNED, Action.UNPIN: ChangeKind.UNPINNED, Action.REMOVE: ChangeKind.REMOVED}[
        command.action
    ]
    why = None
    if line is None:
        why = Refusal.UNKNOWN
    elif kind is ChangeKind.PINNED and sum(a.pinned for a in skill.attributes) >= limits.pinned:
        why = Refusal.CAPPED
    evidence = Evidence(event_id=command.event_id)
    changes: tuple[Change, ...] = ()
    if line is not None and why is None:
        after = None if kind is ChangeKind.REMOVED else line.tier
        changes = (
            Change(kind=kind, attribute_id=line.attribute_id, before=line.tier, after=after, reason=command.reason),
        )
        # A pin's word, or the likes that move up after a removal, may be the ones too many.
        changes = tuple(_make_room(skill, changes, evidence, skill.contrasts, limits)[0])
    refused = () if why is None else (Refused(attribute_id=command.attribute_id, proposed=kind, why=why),)
    return _next_diff(
        skill,
        command,
        changes=changes,
        refused=refused,
        evidence=evidence,
        is_contrast=False,
        reasoned_by=ReasonedBy(reasoner=f"command by {command.actor}"),
        source=source,
    )


def merge(skill: PolicySkill | None, diff: SkillDiff) -> PolicySkill:
    """The skill after this diff: pure, without rule or limit. A diff that it holds already changes nothing.

    Raises:
        OutOfOrder: the diff rests on a version that the skill has not reached.
    """
    if skill is None:
        skill = start(diff.user_id, diff.domain, diff.seed or (), diff)
    if diff.version <= skill.version:
        return skill
    if diff.base_version != skill.version:
        raise OutOfOrder(
            f"diff {diff.version} of {diff.user_id}/{diff.domain} rests on {diff.base_version}, "
            f"the skill is at {skill.version}"
        )
    now = skill.contrasts + diff.is_contrast
    lines = diff.seed if diff.seed is not None else skill.attributes
    attributes = _apply_changes(lines, diff.changes, diff.evidence, now)
    return skill.model_copy(
        update={
            "event_id": diff.event_id,
            "occurred_at": diff.occurred_at,
            "version": diff.version,
            "contrasts": now,
            "attributes": attributes,
            "strategy": strategy_of(attributes),
            "recent": remember(skill.recent, diff.event_id, MAX_RECENT),
            "applied": with_applied(skill.applied, diff.source),
            "last_diff": diff,
        }
    )


def start(
    user_id: str, domain: str, seed: Sequence[Attribute], event: Contrast | SkillCommand | SkillDiff
) -> PolicySkill:
    """A user's skill at version 0: the seed, before the first event."""
    return PolicySkill(
        event_id=event.event_id,
        occurred_at=event.occurred_at,
        user_id=user_id,
        domain=domain,
        attributes=tuple(seed),
        strategy=strategy_of(seed),
    )


def fold(diffs: Iterable[SkillDiff]) -> dict[tuple[str, str], PolicySkill]:
    """All skills, from the log alone (invariant 1): by user and domain.

    Raises:
        OutOfOrder: a version of some skill is missing.
    """
    skills: dict[tuple[str, str], PolicySkill] = {}
    for diff in diffs:
        key = (diff.user_id, diff.domain)
        skills[key] = merge(skills.get(key), diff)
    return skills


def _apply_changes(
    lines: Sequence[Attribute], changes: Sequence[Change], evidence: Evidence, now: int
) -> tuple[Attribute, ...]:
    held = {line.attribute_id: line for line in lines}
    for change in changes:
        name = change.attribute_id
        if change.kind is ChangeKind.DISCOVERED and change.discovered is not None:
            held[name] = change.discovered
        elif name not in held:
            continue
        elif change.kind in (ChangeKind.REMOVED, ChangeKind.EVICTED):
            del held[name]
        else:
            held[name] = _changed(held[name], change, evidence, now)
    return tuple(held.values())


def _changed(line: Attribute, change: Change, evidence: Evidence, now: int) -> Attribute:
    match change.kind:
        case ChangeKind.REINFORCED:
            update = {
                "tier": change.after,
                "support": line.support + 1,
                "contradictions": 0,
                "confirmed_at": now,
                "evidence": (*line.evidence, evidence)[-MAX_EVIDENCE:],
            }
        case ChangeKind.WEAKENED if change.after == change.before:
            update = {"contradictions": line.contradictions + 1}
        case ChangeKind.WEAKENED:
            update = {"tier": change.after, "contradictions": 0, "weakened_at": now}
        case ChangeKind.PINNED | ChangeKind.UNPINNED:
            update = {"pinned": change.kind is ChangeKind.PINNED}
        case _:
            update = {}
    return line.model_copy(update=update)
