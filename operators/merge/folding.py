"""The fold (invariant 1): diffs make skills, with no rule, no limit and no reasoner."""

from collections.abc import Iterable, Sequence

from operators.applied import is_applied, remember, with_applied
from operators.evidence import MOST, kept
from operators.habits import POLE_OF
from operators.merge.habits import habits_after, in_step
from operators.render import strategy_of
from schemas import (
    MAX_EVIDENCE,
    MAX_RECENT,
    ONE,
    Attribute,
    Change,
    ChangeKind,
    Event,
    Evidence,
    PolicySkill,
    Position,
    SkillDiff,
    Source,
    Tally,
)


class OutOfOrder(ValueError):
    """A diff does not follow the version that the skill is at."""


def holds(skill: PolicySkill | None, event_id: str, source: Position | None) -> bool:
    """Whether the skill has learned from this event already (invariant 2)."""
    if skill is None:
        return False
    return event_id in skill.recent or (source is not None and is_applied(skill.applied, source))


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
    habits = habits_after(skill, diff.tally, diff.changes)
    attributes = apply_changes(counted(lines, diff.tally), diff.changes, diff.evidence, now)
    if habits:
        attributes = in_step(attributes, habits)
    return skill.model_copy(
        update={
            "event_id": diff.event_id,
            "occurred_at": diff.occurred_at,
            "version": diff.version,
            "contrasts": now,
            "attributes": attributes,
            "habits": habits,
            "strategy": strategy_of(attributes),
            "frozen": skill.frozen if diff.frozen is None else diff.frozen,
            "recent": remember(skill.recent, diff.event_id, MAX_RECENT),
            "applied": with_applied(diff.seeded_from or skill.applied, diff.source),
            "last_diff": diff,
            "rewritten": diff.rewritten,
            "chain": diff.chain,
        }
    )


def start(user_id: str, domain: str, seed: Sequence[Attribute], event: Event) -> PolicySkill:
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


def counted(lines: Sequence[Attribute], tally: Tally | None) -> Sequence[Attribute]:
    """The lines with the counts that an event leaves them, their tiers as before; habits have counts of their own."""
    if tally is None:
        return lines
    return tuple(line if line.attribute_id in POLE_OF else _counted(line, tally) for line in lines)


def _counted(line: Attribute, tally: Tally) -> Attribute:
    name = line.attribute_id
    taken, expected = tally.begun.get(name) or (line.taken, line.expected)
    if line.source is not Source.STATED:
        taken, expected = kept(taken, tally.forget), kept(expected, tally.forget)
    gained = line.gained
    if gained:
        # Towards nought from both sides.
        gained = kept(gained, tally.forget) if gained > 0 else -kept(-gained, tally.forget)
    gained = max(-MOST, min(gained + ONE * tally.places.get(name, 0), MOST))
    more = tally.lines.get(name)
    if more is not None:
        taken, expected = min(taken + more[0], MOST), min(expected + more[1], MOST)
    if (taken, expected, gained) == (line.taken, line.expected, line.gained):
        return line
    return line.model_copy(update={"taken": taken, "expected": expected, "gained": gained})


def apply_changes(
    lines: Sequence[Attribute], changes: Sequence[Change], evidence: Evidence, now: int
) -> tuple[Attribute, ...]:
    """The lines after these changes, by an event that is the user's contrast number `now`."""
    held = {line.attribute_id: line for line in lines}
    for change in changes:
        name = change.attribute_id
        if change.discovered is not None:
            held[name] = change.discovered
        elif name not in held:
            continue
        elif change.after is None:
            del held[name]
        else:
            held[name] = _changed(held[name], change, evidence, now)
    return tuple(held.values())


def _set(line: Attribute, change: Change) -> dict[str, int]:
    """The counts of a line that a person set; none before there were counts."""
    if change.counts is None:
        return {}
    return {"taken": change.counts[0], "expected": change.counts[1], "support": max(line.support, change.after or 0)}


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
        case ChangeKind.SET:
            update = {"tier": change.after, "contradictions": 0, **_set(line, change)}
        case ChangeKind.PINNED | ChangeKind.UNPINNED:
            update = {"pinned": change.kind is ChangeKind.PINNED}
        case _:
            update = {}
    return line.model_copy(update=update)
