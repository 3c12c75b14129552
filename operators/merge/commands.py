"""What a person's command does to a skill."""

from operators.merge.diffs import next_diff
from operators.merge.limits import DEFAULT_LIMITS, MergeLimits
from operators.merge.room import make_room
from schemas import (
    Action,
    Change,
    ChangeKind,
    Evidence,
    PolicySkill,
    Position,
    ReasonedBy,
    Refusal,
    Refused,
    SkillCommand,
    SkillDiff,
)


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
        changes = tuple(make_room(skill, changes, evidence, skill.contrasts, limits)[0])
    refused = () if why is None else (Refused(attribute_id=command.attribute_id, proposed=kind, why=why),)
    return next_diff(
        skill,
        command,
        changes=changes,
        refused=refused,
        evidence=evidence,
        is_contrast=False,
        reasoned_by=ReasonedBy(reasoner=f"command by {command.actor}"),
        source=source,
    )
