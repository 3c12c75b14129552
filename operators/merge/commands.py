"""What a person's command does to a skill: the same kind of diff as a choice makes, with their name on it."""

from collections.abc import Callable
from dataclasses import dataclass, field

from operators.attributes import attribute_id
from operators.evidence import counts_of, worth
from operators.evolve.validate import named, refusal
from operators.merge.diffs import next_diff
from operators.merge.room import DEFAULT_LIMITS, MergeLimits, make_room
from operators.privacy import Privacy
from operators.stated import statement_id
from operators.vouch import Vouching, without_count
from schemas import (
    Action,
    Attribute,
    Change,
    ChangeKind,
    Evidence,
    PolicySkill,
    Position,
    ReasonedBy,
    Refusal,
    Refused,
    Said,
    SkillCommand,
    SkillDiff,
    Source,
    Stance,
    StatementChange,
    Tier,
)


@dataclass(frozen=True)
class _Answer:
    """What comes of a command, before there is room made for it."""

    changes: tuple[Change, ...] = ()
    refused: tuple[Refused, ...] = ()
    frozen: bool | None = None
    rolled_back_to: int | None = field(default=None)
    stated: tuple[StatementChange, ...] = ()


def resolve_command(
    skill: PolicySkill,
    command: SkillCommand,
    source: Position | None = None,
    limits: MergeLimits = DEFAULT_LIMITS,
    *,
    privacy: Privacy,
    vouching: Vouching,
) -> SkillDiff:
    """What a person's command does to this skill; what cannot be done is refused in the diff.

    What is private is refused, whoever states it: a domain may allow a category, a person cannot.
    """
    command, private = _fit_to_keep(skill, command, privacy, vouching)
    if private is not None:
        kind = _PROPOSED.get(command.action, ChangeKind.REWORDED)
        answer = _Answer(refused=(refusal("", kind, Refusal.PRIVATE, private),))
    else:
        answer = _RESOLVERS[command.action](skill, command, limits)
    evidence = Evidence(event_id=command.event_id)
    changes, refused = list(answer.changes), list(answer.refused)
    if command.action is Action.REWORD:
        changes = [_without_count(change, vouching) for change in changes]
    if changes:
        # A pin's word, or the likes that move up after a removal, may be the ones too many.
        changes, full = make_room(skill, changes, evidence, skill.contrasts, limits)
        refused += full
        if full and command.action is Action.REWORD:
            changes = []  # the old words stay where the new ones have no room
    return next_diff(
        skill,
        command,
        changes=tuple(changes),
        refused=tuple(refused),
        evidence=evidence,
        is_contrast=False,
        frozen=answer.frozen,
        rolled_back_to=answer.rolled_back_to,
        stated=answer.stated,
        counted_until=command.occurred_at if command.action is Action.IMPORT else None,
        reasoned_by=ReasonedBy(reasoner=f"command by {command.actor}"),
        source=source,
    )


def _without_count(change: Change, vouching: Vouching) -> Change:
    if change.discovered is None:
        return change
    return change.model_copy(update={"discovered": without_count(change.discovered, vouching)})


def _fit_to_keep(
    skill: PolicySkill, command: SkillCommand, privacy: Privacy, vouching: Vouching
) -> tuple[SkillCommand, str | None]:
    """The command without what is personal in its reason or in old lines, and what is private in its words.

    The id of a line that the skill has not is words that somebody typed: the refusal must not keep them.
    """
    domain = command.domain
    kept: dict[str, object] = {"reason": privacy.redact(command.reason, domain, 300).text}
    if command.lines is not None:
        kept["lines"] = tuple(
            without_count(line, vouching)
            for line in command.lines
            if privacy.refuses(domain, line.dimension, line.value) is None
        )
    private = None
    line = next((a for a in skill.attributes if a.attribute_id == command.attribute_id), None)
    is_said = any(said.statement_id == command.attribute_id for said in skill.stated)
    if command.attribute_id is not None and line is None and not is_said:
        private = named(command.attribute_id, domain, privacy)
    if private is not None:
        return command.model_copy(update=kept), private
    if command.action is Action.ADD and command.line is not None:
        private = privacy.refuses(domain, command.line.dimension, command.line.value)
    elif command.action is Action.REWORD and command.value is not None:
        private = privacy.refuses(domain, line.dimension if line else "", command.value)
    return command.model_copy(update=kept), private


def _of_a_line(
    change: Callable[[PolicySkill, SkillCommand, Attribute, MergeLimits], _Answer], kind: ChangeKind
) -> Callable[[PolicySkill, SkillCommand, MergeLimits], _Answer]:
    """A resolver of commands that name a line: one that is not there is refused."""

    def resolved(skill: PolicySkill, command: SkillCommand, limits: MergeLimits) -> _Answer:
        line = next((a for a in skill.attributes if a.attribute_id == command.attribute_id), None)
        if line is None:
            return _refuse(command.attribute_id or "", kind, Refusal.UNKNOWN)
        return change(skill, command, line, limits)

    return resolved


def _pin(skill: PolicySkill, command: SkillCommand, line: Attribute, limits: MergeLimits) -> _Answer:
    if sum(a.pinned for a in skill.attributes) >= limits.pinned:
        return _refuse(line.attribute_id, ChangeKind.PINNED, Refusal.CAPPED)
    return _change(command, line, ChangeKind.PINNED)


def _unpin(_skill: PolicySkill, command: SkillCommand, line: Attribute, _limits: MergeLimits) -> _Answer:
    return _change(command, line, ChangeKind.UNPINNED)


def _remove(_skill: PolicySkill, command: SkillCommand, line: Attribute, _limits: MergeLimits) -> _Answer:
    gone = Change(kind=ChangeKind.REMOVED, attribute_id=line.attribute_id, before=line.tier, reason=command.reason)
    return _Answer((gone,))


def _remove_any(skill: PolicySkill, command: SkillCommand, limits: MergeLimits) -> _Answer:
    """A line goes, or what the person said once."""
    name = command.attribute_id
    if name is not None and any(said.statement_id == name for said in skill.stated):
        gone = StatementChange(kind=Said.REMOVED, statement_id=name, reason=command.reason)
        return _Answer(stated=(gone,))
    return _of_a_line(_remove, ChangeKind.REMOVED)(skill, command, limits)


def _set_tier(_skill: PolicySkill, command: SkillCommand, line: Attribute, _limits: MergeLimits) -> _Answer:
    if command.tier is line.tier:
        return _refuse(line.attribute_id, ChangeKind.SET, Refusal.ALREADY_SO)
    tier = command.tier or Tier.LOW
    _, expected = counts_of(line)
    return _Answer(
        (
            Change(
                kind=ChangeKind.SET,
                attribute_id=line.attribute_id,
                before=line.tier,
                after=tier,
                counts=(worth(tier, expected), expected),
                reason=command.reason,
            ),
        )
    )


def _reword(skill: PolicySkill, command: SkillCommand, line: Attribute, _limits: MergeLimits) -> _Answer:
    """Another name is another line: the old one goes and the new one takes over what it had."""
    value = command.value or line.value
    name = attribute_id(line.kind, line.dimension, value)
    reworded = line.model_copy(update={"attribute_id": name, "value": value, "source": Source.STATED})
    if name == line.attribute_id:
        return _Answer((_new(ChangeKind.REWORDED, reworded, command.reason, before=line),))
    if any(a.attribute_id == name for a in skill.attributes):
        return _refuse(name, ChangeKind.REWORDED, Refusal.ALREADY_SO)
    gone = Change(kind=ChangeKind.REWORDED, attribute_id=line.attribute_id, before=line.tier, reason=command.reason)
    return _Answer((gone, _new(ChangeKind.ADDED, reworded, command.reason)))


def _add(skill: PolicySkill, command: SkillCommand, _limits: MergeLimits) -> _Answer:
    said = command.line
    if said is None:  # the schema does not let one through
        return _Answer()
    line = Attribute(
        attribute_id=attribute_id(said.kind, said.dimension, said.value),
        kind=said.kind,
        dimension=said.dimension,
        value=said.value,
        tier=said.tier,
        taken=worth(said.tier),
        source=Source.STATED,
        confirmed_at=skill.contrasts,
        evidence=(Evidence(event_id=command.event_id),),
    )
    unwanted = statement_id(Stance.AVOIDS, line.attribute_id)
    taken_back = tuple(
        StatementChange(kind=Said.WITHDRAWN, statement_id=unwanted, reason="a line says the opposite now")
        for each in skill.stated
        if each.statement_id == unwanted
    )
    if any(a.attribute_id == line.attribute_id for a in skill.attributes):
        # A statement only silences the line: taking the statement back is enough to add it.
        refused = _refuse(line.attribute_id, ChangeKind.ADDED, Refusal.ALREADY_SO)
        return _Answer(stated=taken_back) if taken_back else refused
    return _Answer((_new(ChangeKind.ADDED, line, command.reason),), stated=taken_back)


def _freeze(skill: PolicySkill, command: SkillCommand, _limits: MergeLimits) -> _Answer:
    return _Answer(frozen=command.action is Action.FREEZE)


def _roll_back(skill: PolicySkill, command: SkillCommand, _limits: MergeLimits) -> _Answer:
    """A new version with the lines of an old one, or of an export; what was learned since is in the log."""
    if command.to_version is not None and command.to_version > skill.version:
        # Of a skill that has been forgotten since, and is not to come back.
        return _refuse(f"version:number:{command.to_version}", ChangeKind.RESTORED, Refusal.UNKNOWN)
    wanted = {line.attribute_id: line for line in command.lines or ()}
    held = {line.attribute_id: line for line in skill.attributes}
    of_import = command.action is Action.IMPORT
    reason = command.reason or ("imported" if of_import else f"rolled back to version {command.to_version}")
    gone = [
        Change(kind=ChangeKind.REMOVED, attribute_id=name, before=line.tier, reason=reason)
        for name, line in held.items()
        if name not in wanted
    ]
    back = [
        _new(ChangeKind.RESTORED, line, reason, before=held.get(name))
        for name, line in wanted.items()
        if held.get(name) != line
    ]
    return _Answer((*gone, *back), rolled_back_to=command.to_version)


def _change(command: SkillCommand, line: Attribute, kind: ChangeKind) -> _Answer:
    return _Answer(
        (Change(kind=kind, attribute_id=line.attribute_id, before=line.tier, after=line.tier, reason=command.reason),)
    )


def _new(kind: ChangeKind, line: Attribute, reason: str, before: Attribute | None = None) -> Change:
    return Change(
        kind=kind,
        attribute_id=line.attribute_id,
        before=before.tier if before else None,
        after=line.tier,
        discovered=line,
        reason=reason,
    )


def _refuse(name: str, kind: ChangeKind, why: Refusal) -> _Answer:
    return _Answer(refused=(Refused(attribute_id=name, proposed=kind, why=why),))


_PROPOSED = {
    Action.ADD: ChangeKind.ADDED,
    Action.PIN: ChangeKind.PINNED,
    Action.UNPIN: ChangeKind.UNPINNED,
    Action.REMOVE: ChangeKind.REMOVED,
    Action.SET_TIER: ChangeKind.SET,
}
"""What a command that is refused for its words would have done to a line."""
_RESOLVERS: dict[Action, Callable[[PolicySkill, SkillCommand, MergeLimits], _Answer]] = {
    Action.PIN: _of_a_line(_pin, ChangeKind.PINNED),
    Action.UNPIN: _of_a_line(_unpin, ChangeKind.UNPINNED),
    Action.REMOVE: _remove_any,
    Action.ADD: _add,
    Action.REWORD: _of_a_line(_reword, ChangeKind.REWORDED),
    Action.SET_TIER: _of_a_line(_set_tier, ChangeKind.SET),
    Action.FREEZE: _freeze,
    Action.UNFREEZE: _freeze,
    Action.ROLL_BACK: _roll_back,
    Action.IMPORT: _roll_back,
}
