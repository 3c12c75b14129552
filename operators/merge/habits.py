"""Counts of a skill's habits, and the lines that come, move and go with them (paper 2.3)."""

from collections.abc import Iterable, Mapping, Sequence

from operators.habits import POLE_OF, Before, fold, learn, lines_of, seen_from, shown_of, sides_of, stays
from operators.habits.lines import in_words as words_of
from schemas.diffs import Change, ChangeKind, HabitAdded, HabitCounts, PolicySkill, Tally
from schemas.events import Contrast
from schemas.skills import Attribute, Evidence, Source, Tier


def asked(skill: PolicySkill, contrast: Contrast, popularity: Mapping[str, int] | None = None) -> dict[str, HabitAdded]:
    """Return the counts that a choice adds to each habit that its list can test.

    Places in our own rankings are no evidence: a good ranking puts the person's favourite first, so taking the first
    item is no habit.
    """
    items, chosen = shown_of(contrast)
    before = Before.of(skill.attributes)
    sides = sides_of(items, before, contrast.instruction, popularity, shown=not contrast.by_sager)
    return learn(sides, chosen)


def habits_after(skill: PolicySkill, tally: Tally | None, changes: Iterable[Change] = ()) -> Mapping[str, HabitCounts]:
    """Return the counts after an event; a removed or erased line leaves none."""
    habits: Mapping[str, HabitCounts] = skill.habits
    if tally is not None and tally.habits:
        habits = fold(habits, tally.habits, tally.habits_forget)
    for change in changes:
        if change.after is None and change.kind in _TAKEN_AWAY and change.attribute_id in POLE_OF:
            gone = POLE_OF[change.attribute_id].axis
            habits = {axis: counts for axis, counts in habits.items() if axis != gone}
    return habits


_TAKEN_AWAY = frozenset({ChangeKind.REMOVED, ChangeKind.REWORDED, ChangeKind.FORGOTTEN})


def in_step(lines: Sequence[Attribute], habits: Mapping[str, HabitCounts]) -> tuple[Attribute, ...]:
    """Update the counts of lines about habits."""
    found = list(lines)
    for place, line in enumerate(lines):
        pole = POLE_OF.get(line.attribute_id)
        if pole is None or pole.axis not in habits:
            continue
        taken, expected, _ = seen_from(habits[pole.axis], pole.up)
        if (line.taken, line.expected) != (taken, expected):
            found[place] = line.model_copy(update={"taken": taken, "expected": expected})
    return tuple(found)


def decided(
    lines: Sequence[Attribute], habits: Mapping[str, HabitCounts], evidence: Evidence, now: int
) -> tuple[list[Change], list[Attribute]]:
    """Return the changes of lines about habits, and the new lines.

    A pinned or stated line stays, and so does one that too few choices tested.
    """
    held = {line.attribute_id: line for line in lines if line.attribute_id in POLE_OF}
    sure = lines_of(habits, {name: line.tier for name, line in held.items()})
    changes: list[Change] = []
    for name, line in held.items():
        found = sure.get(name)
        if found is None and (line.pinned or line.source is Source.STATED or stays(name, habits)):
            continue
        tier = None if found is None else max(found.tier, line.tier) if line.pinned else found.tier
        if tier is not line.tier:
            changes.append(_moved(line, tier, habits))
    new = [
        Attribute(
            attribute_id=name,
            kind=found.pole.kind,
            dimension=found.pole.dimension,
            value=found.pole.value,
            tier=found.tier,
            source=Source.DISCOVERED,
            taken=found.counts.taken,
            expected=found.counts.expected,
            support=1,
            confirmed_at=now,
            evidence=(evidence,),
        )
        for name, found in sure.items()
        if name not in held
    ]
    return changes, new


def _moved(line: Attribute, tier: Tier | None, habits: Mapping[str, HabitCounts]) -> Change:
    pole = POLE_OF[line.attribute_id]
    kind = ChangeKind.EVICTED if tier is None else ChangeKind.REINFORCED if tier > line.tier else ChangeKind.WEAKENED
    reason = words_of(seen_from(habits[pole.axis], pole.up))
    return Change(kind=kind, attribute_id=line.attribute_id, before=line.tier, after=tier, reason=reason)
