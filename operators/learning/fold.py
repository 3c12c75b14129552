"""The fold of diffs (invariant 1)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from operators.admission import is_applied, with_applied, with_recent
from operators.attributes import RankedLine, hypotheses_of, limit_hypotheses
from operators.habit_directions import is_habit
from operators.learning.document import strategy_of
from operators.learning.evidence import MAX_COUNT, proof_for_tier
from operators.learning.habits import habits_after, with_habit_counts
from operators.learning.tradeoffs import numbers_after, with_proofs
from operators.stated import avoided_ids, lasting_statements
from schemas import MAX_ATTRIBUTES, Contrast, Event, Position, Statement, StatementChange
from schemas.diffs import CountDelta, PolicySkill, SkillChange, SkillChangeKind, SkillDiff
from schemas.skills import (
    MAX_EVIDENCE,
    MAX_HYPOTHESES,
    MAX_RECENT,
    MAX_SESSIONS,
    Attribute,
    AttributeSource,
    Evidence,
    SkillSession,
)

_STATED = AttributeSource.STATED
# A choice of a hundred items brings in thousands of facts.
MAX_REFUSED = 4 * MAX_ATTRIBUTES


# Taken, expected and proof, in 1/1024.
Counts = tuple[int, int, int]
_NO_COUNTS: Mapping[str, Counts] = {}


class OutOfOrder(ValueError):
    """A diff does not follow the version that the skill is at."""


def has_learned(skill: PolicySkill | None, event_id: str, source: Position | None) -> bool:
    """True if the skill has learned from this event (invariant 2)."""
    if skill is None:
        return False
    return event_id in skill.recent or (source is not None and is_applied(skill.applied, source))


def merge(skill: PolicySkill | None, diff: SkillDiff) -> PolicySkill:
    """Return the skill after a diff; an older diff changes nothing.

    Raises:
        OutOfOrder: the diff rests on a version that the skill has not reached.
    """
    if skill is None:
        skill = seeded_skill(diff)
    if diff.version <= skill.version:
        return skill
    if diff.base_version != skill.version:
        raise OutOfOrder(
            f"diff {diff.version} of {diff.user_id}/{diff.domain} rests on {diff.base_version}, "
            f"the skill is at {skill.version}"
        )
    now = skill.contrasts + diff.is_contrast
    lines, held = (skill.attributes, skill.hypotheses) if diff.seed is None else (diff.seed, diff.seed_hypotheses)
    habits = habits_after(skill, diff.count_delta, diff.changes)
    attributes = apply_changes(lines, diff.changes, diff.evidence, now, diff.count_delta)
    if habits:
        attributes = with_habit_counts(attributes, habits)
    numbers = numbers_after(skill, diff.count_delta, diff.changes)
    if numbers is not None:
        attributes = with_proofs(attributes, numbers)
    stated = _stated_after(skill.stated, diff.stated)
    return skill.model_copy(
        update={
            "event_id": diff.event_id,
            # A late event, perhaps of a wrong clock, begins no inactivity. The log has no time before version 1.
            "occurred_at": max(skill.occurred_at, diff.occurred_at) if skill.version else diff.occurred_at,
            "version": diff.version,
            "contrasts": now,
            "attributes": attributes,
            "hypotheses": _hypotheses_after(held, lines, attributes, diff),
            "items": with_recent(skill.items, diff.item_taken, MAX_RECENT) if diff.item_taken else skill.items,
            "habits": habits,
            "numbers": numbers,
            "stated": stated,
            "shifted": diff.version if diff.shifted else skill.shifted,
            "beliefs": skill.beliefs if diff.beliefs is None else diff.beliefs,
            "sessions": _sessions_after(skill.sessions, diff.session),
            "slim_lines": skill.slim_lines if diff.slim_lines is None else diff.slim_lines,
            "trade_off": skill.trade_off if diff.trade_off is None else diff.trade_off,
            "strategy": strategy_of(attributes, avoided_ids(lasting_statements(stated)) if stated else ()),
            "counted_until": diff.counted_until or skill.counted_until,
            "frozen": skill.frozen if diff.frozen is None else diff.frozen,
            "recent": with_recent(skill.recent, diff.event_id, MAX_RECENT),
            "applied": with_applied(diff.seeded_from or skill.applied, diff.source),
            "last_diff": diff,
            "rewritten": diff.rewritten,
            "chain": diff.chain,
        }
    )


def _hypotheses_after(
    held: dict[str, Counts], lines: Sequence[Attribute], after: Sequence[Attribute], diff: SkillDiff
) -> dict[str, Counts]:
    # A line that leaves does not become a hypothesis again; a fact that becomes a line stops being one.
    if diff.hypotheses is not None:
        return diff.hypotheses
    tally = diff.count_delta
    if tally is None and not (held and diff.changes):
        return held
    gone = {line.attribute_id for line in after}.union(change.attribute_id for change in diff.changes)
    if tally is not None:
        gone.update([line.attribute_id for line in lines])
        held = counts_after(hypotheses_of(held), tally)
        held |= {name: counts for name, counts in tally.lines.items() if name not in held}
    left = {name: counts for name, counts in held.items() if name not in gone}
    return left if len(left) <= MAX_HYPOTHESES else limit_hypotheses(left)


def _stated_after(stated: tuple[Statement, ...], changes: Sequence[StatementChange]) -> tuple[Statement, ...]:
    if not changes:
        return stated
    held = {each.statement_id: each for each in stated}
    for change in changes:
        held.pop(change.statement_id, None)
        if change.statement is not None:
            held[change.statement_id] = change.statement
    return tuple(held.values())


def _sessions_after(sessions: tuple[SkillSession, ...], newest: SkillSession | None) -> tuple[SkillSession, ...]:
    if newest is None:
        return sessions
    others = [each for each in sessions if each.session_id != newest.session_id]
    return (*others, newest)[-MAX_SESSIONS:]


def seeded_skill(first: SkillDiff) -> PolicySkill:
    """Return the skill before its first diff."""
    return initial_skill(first.user_id, first.domain, first.seed or (), first, first.seed_hypotheses)


def initial_skill(
    user_id: str, domain: str, seed: Sequence[Attribute], event: Event, hypotheses: Mapping[str, Counts] = _NO_COUNTS
) -> PolicySkill:
    """Return a user's skill at version 0: the seed."""
    return PolicySkill(
        event_id=event.event_id,
        occurred_at=event.occurred_at,
        user_id=user_id,
        domain=domain,
        attributes=tuple(seed),
        hypotheses=dict(hypotheses),
        strategy=strategy_of(seed),
    )


def next_diff(skill: PolicySkill, event: Event, **found: Any) -> SkillDiff:
    """Return the diff to the next version; the first carries the seed."""
    found["refused"] = tuple(found.get("refused", ()))[:MAX_REFUSED]
    found.setdefault("is_contrast", isinstance(event, Contrast))
    return SkillDiff(
        event_id=event.event_id,
        occurred_at=event.occurred_at,
        user_id=skill.user_id,
        domain=skill.domain,
        base_version=skill.version,
        version=skill.version + 1,
        seed=skill.attributes if skill.version == 0 else None,
        seed_hypotheses=skill.hypotheses if skill.version == 0 else {},
        seeded_from=skill.applied if skill.version == 0 else (),
        rewritten=skill.rewritten,
        **found,
    )


def fold(diffs: Iterable[SkillDiff]) -> dict[tuple[str, str], PolicySkill]:
    """Return all skills of a log, by user and domain (invariant 1)."""
    skills: dict[tuple[str, str], PolicySkill] = {}
    for diff in diffs:
        key = (diff.user_id, diff.domain)
        skills[key] = merge(skills.get(key), diff)
    return skills


def counts_after(lines: Iterable[RankedLine], tally: CountDelta) -> dict[str, Counts]:
    """Return the counts of lines but habits after an event."""
    begun, added, forget = tally.begun, tally.lines, tally.forget
    rounds = range(1 + tally.aged) if forget else range(0)
    found: dict[str, Counts] = {}
    for line in lines:
        name = line.attribute_id
        if is_habit(name):
            continue  # a habit's counts are the skill's own
        taken, expected, proof = line.taken, line.expected, line.proof
        if name in begun:
            (taken, expected), proof = begun[name], proof_for_tier(line.tier)
        if line.source is not _STATED:
            for _ in rounds:
                taken -= taken // forget
                expected -= expected // forget
                if proof:  # towards nought from both sides
                    proof -= proof // forget if proof > 0 else -(-proof // forget)
        if name in added:
            more, also, nats = added[name]
            taken = min(taken + more, MAX_COUNT)
            expected = min(expected + also, MAX_COUNT)
            if nats:
                proof = max(-MAX_COUNT, min(proof + nats, MAX_COUNT))
        found[name] = (taken, expected, proof)
    return found


def apply_changes(
    lines: Sequence[Attribute],
    changes: Sequence[SkillChange],
    evidence: Evidence,
    now: int,
    tally: CountDelta | None = None,
) -> tuple[Attribute, ...]:
    """Return the lines after an event; `now` counts the user's choices."""
    held = {line.attribute_id: line for line in lines}
    fields: dict[str, dict[str, Any]] = {}  # all fields of each changed line
    if tally is not None:
        for name, counts in counts_after(lines, tally).items():
            line = held[name]
            if counts != (line.taken, line.expected, line.proof):
                fields[name] = of_line = line.__dict__.copy()
                of_line["taken"], of_line["expected"], of_line["proof"] = counts
        for name, drift in tally.drift.items():
            if name in held and not is_habit(name):
                _fields(held, fields, name)["drift"] = drift
    for change in changes:
        name = change.attribute_id
        if change.discovered is not None:
            held[name] = _entered(change.discovered, change.kind, evidence, now)
            fields.pop(name, None)
        elif name not in held:
            continue
        elif change.after is None:
            del held[name]
            fields.pop(name, None)
        else:
            _change(_fields(held, fields, name), change, evidence, now)
    for name, of_line in fields.items():
        held[name] = Attribute.of_fields(of_line, held[name].__pydantic_fields_set__)
    return tuple(held.values())


def without_event(line: Attribute) -> Attribute:
    """Return a discovered line without the event and its number, which its diff has: a third of its length."""
    return line.model_copy(update={"confirmed_at": 0, "evidence": ()})


def _entered(line: Attribute, kind: SkillChangeKind, evidence: Evidence, now: int) -> Attribute:
    if kind is SkillChangeKind.DISCOVERED and not line.evidence:
        return line.model_copy(update={"confirmed_at": now, "evidence": (evidence,)})
    return line


def _fields(held: dict[str, Attribute], fields: dict[str, dict[str, Any]], name: str) -> dict[str, Any]:
    if name not in fields:
        fields[name] = held[name].__dict__.copy()
    return fields[name]


def _change(update: dict[str, Any], change: SkillChange, evidence: Evidence, now: int) -> None:
    if change.counts is not None:  # of a changed taste, or of a tier that a person sets
        update["taken"], update["expected"] = change.counts
    match change.kind:
        case SkillChangeKind.REINFORCED:
            update |= {
                "tier": change.after,
                "support": update["support"] + 1,
                "contradictions": 0,
                "confirmed_at": now,
                "evidence": (*update["evidence"], evidence)[-MAX_EVIDENCE:],
            }
        case SkillChangeKind.WEAKENED if change.after == change.before:
            update["contradictions"] = update["contradictions"] + 1
        case SkillChangeKind.WEAKENED | SkillChangeKind.FADED | SkillChangeKind.OVERTAKEN:
            update |= {"tier": change.after, "contradictions": 0, "weakened_at": now}
        case SkillChangeKind.SHIFTED:
            update |= {"tier": change.after, "contradictions": 0, "weakened_at": now, "drift": 0, "pinned": False}
            update["proof"] = 0
        case SkillChangeKind.SET:
            update |= {"tier": change.after, "contradictions": 0, "drift": 0}
            if change.counts is not None:
                update["proof"] = proof_for_tier(update["tier"])
                update["support"] = max(update["support"], change.after or 0)
        case SkillChangeKind.PINNED | SkillChangeKind.UNPINNED:
            update |= {"pinned": change.kind is SkillChangeKind.PINNED, "drift": 0}
