"""Commands of people on a skill, as diffs with the actor's name."""

from dataclasses import dataclass

from operators.attributes import attribute_id
from operators.evolve.proposals import refused_change
from operators.language.output_policy import OutputGate, drop_item_evidence
from operators.language.privacy import Privacy
from operators.learning.evidence import counts_for_tier, is_counted
from operators.learning.fold import next_diff
from operators.learning.limits import DEFAULT_LIMITS, MergeLimits, evict_to_fit
from operators.stated import statement_id
from schemas import Action, Position, Provenance, SkillCommand, SkillLineInput
from schemas.diffs import PolicySkill, RefusalReason, RefusedProposal, SkillChange, SkillChangeKind, SkillDiff
from schemas.skills import MAX_QUOTE, Attribute, AttributeSource, Evidence, HypothesisCounts, Tier
from schemas.statements import Stance, StatementChange, StatementChangeKind

_CHANGE_OF = {
    Action.ADD: SkillChangeKind.ADDED,
    Action.PIN: SkillChangeKind.PINNED,
    Action.UNPIN: SkillChangeKind.UNPINNED,
    Action.REMOVE: SkillChangeKind.REMOVED,
    Action.REWORD: SkillChangeKind.REWORDED,
    Action.SET_TIER: SkillChangeKind.SET,
}


@dataclass(frozen=True)
class _CommandResult:
    changes: tuple[SkillChange, ...] = ()
    refused: tuple[RefusedProposal, ...] = ()
    frozen: bool | None = None
    rolled_back_to: int | None = None
    stated: tuple[StatementChange, ...] = ()
    hypotheses: dict[str, HypothesisCounts] | None = None


def resolve_command(
    skill: PolicySkill,
    command: SkillCommand,
    source: Position | None = None,
    limits: MergeLimits = DEFAULT_LIMITS,
    *,
    privacy: Privacy,
    gate: OutputGate,
) -> SkillDiff:
    """Return the diff of a command, with its refusals.

    A command cannot add personal data: only the domain's settings can allow a category.
    """
    command, private = _redact(skill, command, privacy, gate)
    if private is not None:
        kind = _CHANGE_OF.get(command.action, SkillChangeKind.REWORDED)
        answer = _CommandResult(refused=(refused_change("", kind, RefusalReason.PRIVATE, private),))
    else:
        answer = _execute(skill, command, limits, gate)
    evidence = Evidence(event_id=command.event_id)
    changes, refused = list(answer.changes), list(answer.refused)
    if changes:
        # A pin or a removal can lengthen the document: `, pinned`, or likes that move up into the strategy.
        changes, full = evict_to_fit(skill, changes, evidence, skill.contrasts, limits)
        refused += full
        if full and command.action is Action.REWORD:
            changes = []  # the old words stay where the new ones have no room
    return next_diff(
        skill,
        command,
        changes=tuple(changes),
        refused=tuple(refused),
        evidence=evidence,
        frozen=answer.frozen,
        rolled_back_to=answer.rolled_back_to,
        stated=answer.stated,
        hypotheses=answer.hypotheses,
        counted_until=command.occurred_at if command.action is Action.IMPORT else None,
        reasoned_by=Provenance(reasoner=f"command by {command.actor}"),
        source=source,
    )


def _redact(
    skill: PolicySkill, command: SkillCommand, privacy: Privacy, gate: OutputGate
) -> tuple[SkillCommand, str | None]:
    """Return the command without personal data, and the kind of refused data.

    The id of a line that the skill lacks is text that a person typed: the refusal must not keep it.
    """
    domain = command.domain
    kept: dict[str, object] = {"reason": privacy.redact(command.reason, domain, 300).text}
    if command.lines is not None:
        kept["lines"] = tuple(
            drop_item_evidence(
                line.model_copy(update={"quote": privacy.redact_about_person(line.quote, domain, MAX_QUOTE).text}), gate
            )
            for line in command.lines
            if privacy.refuses(domain, line.dimension, line.value) is None
        )
    kept["hypotheses"] = {
        name: counts for name, counts in command.hypotheses.items() if privacy.refuses_id(domain, name) is None
    }
    private = None
    line = _line_of(skill, command)
    if command.attribute_id is not None and line is None and not _is_statement(skill, command.attribute_id):
        private = privacy.refuses_id(domain, command.attribute_id)
    if private is None and command.action is Action.ADD and command.line is not None:
        private = privacy.refuses(domain, command.line.dimension, command.line.value)
    elif private is None and command.action is Action.REWORD and command.value is not None:
        private = privacy.refuses(domain, line.dimension if line else "", command.value)
    return command.model_copy(update=kept), private


def _line_of(skill: PolicySkill, command: SkillCommand) -> Attribute | None:
    return next((line for line in skill.attributes if line.attribute_id == command.attribute_id), None)


def _is_statement(skill: PolicySkill, name: str | None) -> bool:
    return any(each.statement_id == name for each in skill.stated)


def _execute(  # noqa: PLR0911 - one return per action
    skill: PolicySkill, command: SkillCommand, limits: MergeLimits, gate: OutputGate
) -> _CommandResult:
    match command.action:
        case Action.ADD if command.line is not None:
            return _add(skill, command, command.line)
        case Action.FREEZE | Action.UNFREEZE:
            return _CommandResult(frozen=command.action is Action.FREEZE)
        case Action.ROLL_BACK | Action.IMPORT:
            return _restore(skill, command)
        case Action.REMOVE if _is_statement(skill, name := command.attribute_id or ""):
            kind = StatementChangeKind.REMOVED
            return _CommandResult(stated=(StatementChange(kind=kind, statement_id=name, reason=command.reason),))
    line = _line_of(skill, command)
    if line is None:
        return _refuse(command.attribute_id or "", _CHANGE_OF[command.action], RefusalReason.UNKNOWN)
    match command.action:
        case Action.PIN if sum(a.pinned for a in skill.attributes) >= limits.pinned:
            return _refuse(line.attribute_id, SkillChangeKind.PINNED, RefusalReason.CAPPED)
        case Action.PIN | Action.UNPIN:
            return _CommandResult((_change(command, line, after=line.tier),))
        case Action.REMOVE:
            return _CommandResult((_change(command, line),))
        case Action.SET_TIER:
            return _set_tier(command, line)
        case _:
            return _reword(skill, command, line, gate)


def _set_tier(command: SkillCommand, line: Attribute) -> _CommandResult:
    if command.tier is line.tier:
        return _refuse(line.attribute_id, SkillChangeKind.SET, RefusalReason.ALREADY_SO)
    tier = command.tier or Tier.LOW
    counts = (counts_for_tier(tier, line.expected), line.expected) if is_counted(line) else None
    return _CommandResult((_change(command, line, after=tier, counts=counts),))


def _reword(skill: PolicySkill, command: SkillCommand, line: Attribute, gate: OutputGate) -> _CommandResult:
    # Other words make another line, which takes over the counts.
    value = command.value or line.value
    name = attribute_id(line.kind, line.dimension, value)
    stated = {"attribute_id": name, "value": value, "source": AttributeSource.STATED}
    reworded = drop_item_evidence(line.model_copy(update=stated), gate)
    if name == line.attribute_id:
        change = SkillChange.new(reworded, SkillChangeKind.REWORDED, before=line.tier, reason=command.reason)
        return _CommandResult((change,))
    if any(a.attribute_id == name for a in skill.attributes):
        return _refuse(name, SkillChangeKind.REWORDED, RefusalReason.ALREADY_SO)
    added = SkillChange.new(reworded, SkillChangeKind.ADDED, reason=command.reason)
    return _CommandResult((_change(command, line), added))


def _add(skill: PolicySkill, command: SkillCommand, requested: SkillLineInput) -> _CommandResult:
    line = Attribute(
        attribute_id=attribute_id(requested.kind, requested.dimension, requested.value),
        kind=requested.kind,
        dimension=requested.dimension,
        value=requested.value,
        tier=requested.tier,
        source=AttributeSource.STATED,
        confirmed_at=skill.contrasts,
        evidence=(Evidence(event_id=command.event_id),),
    )
    unwanted = statement_id(Stance.AVOIDS, line.attribute_id)
    taken_back: tuple[StatementChange, ...] = ()
    if _is_statement(skill, unwanted):
        kind, reason = StatementChangeKind.WITHDRAWN, "a line says the opposite now"
        taken_back = (StatementChange(kind=kind, statement_id=unwanted, reason=reason),)
    if any(a.attribute_id == line.attribute_id for a in skill.attributes):
        # A statement only silences the line: taking the statement back is enough to add it.
        refused = _refuse(line.attribute_id, SkillChangeKind.ADDED, RefusalReason.ALREADY_SO)
        return _CommandResult(stated=taken_back) if taken_back else refused
    added = SkillChange.new(line, SkillChangeKind.ADDED, reason=command.reason)
    return _CommandResult((added,), stated=taken_back)


def _restore(skill: PolicySkill, command: SkillCommand) -> _CommandResult:
    if command.lines is None or (command.to_version is not None and command.to_version > skill.version):
        # A version of a skill that was erased since.
        return _refuse(f"version:number:{command.to_version}", SkillChangeKind.RESTORED, RefusalReason.UNKNOWN)
    wanted = {line.attribute_id: line for line in command.lines}
    held = {line.attribute_id: line for line in skill.attributes}
    default = "imported" if command.action is Action.IMPORT else f"rolled back to version {command.to_version}"
    reason = command.reason or default
    changes = [
        SkillChange.of(line, SkillChangeKind.REMOVED, reason=reason)
        for name, line in held.items()
        if name not in wanted
    ]
    for name, line in wanted.items():
        if (before := held.get(name)) != line:
            tier = None if before is None else before.tier
            changes.append(SkillChange.new(line, SkillChangeKind.RESTORED, before=tier, reason=reason))
    # A fact is a line or a hypothesis, never both.
    hypotheses = {name: counts for name, counts in command.hypotheses.items() if name not in wanted}
    return _CommandResult(tuple(changes), rolled_back_to=command.to_version, hypotheses=hypotheses)


def _change(
    command: SkillCommand, line: Attribute, after: Tier | None = None, counts: tuple[int, int] | None = None
) -> SkillChange:
    return SkillChange.of(line, _CHANGE_OF[command.action], after, counts=counts, reason=command.reason)


def _refuse(name: str, kind: SkillChangeKind, why: RefusalReason) -> _CommandResult:
    return _CommandResult(refused=(refused_change(name, kind, why),))
