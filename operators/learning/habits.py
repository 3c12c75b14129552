"""The counts of habits, and the lines that they prove, with hysteresis.

A choice from a list in which a share s of the items is on one side of an axis adds 1 to `taken` or not, s to `expected`
and 1 to `asked`. The proof is the log-likelihood ratio, in nats, of taking that side as often as counted over blind
choice, `asked * KL(taken/asked || expected/asked)`. Shares differ from list to list; with their mean in place of each,
the figure errs on the side of chance, since ln(1 - s + s*c) is concave in s.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from operators.attributes import ranked_lines
from operators.habit_directions import (
    BY_PREFIX,
    DIRECTION_OF,
    DIRECTIONS,
    Direction,
)
from operators.learning.evidence import format_count, tier_step
from operators.learning.questions import Sides, TasteHistory, shown_items, sides_of_items
from operators.learning.tradeoffs import REMOVALS
from schemas import Contrast, CountDelta, HabitAdded, HabitCounts, PolicySkill, SkillChange, SkillChangeKind
from schemas.skills import ONE, Attribute, AttributeSource, Evidence, Tier

# Each choice that asks about an axis first takes this part of its counts away: a habit is older than a taste.
HABIT_DECAY: Final = 64
# A choice's part of an axis: taken (0 or 1,024) and expected (1 to 1,023). `asked` grows by 1,024.
Added = tuple[int, int]
# Proof in nats, from which a habit becomes a line and rises to high, and below which it falls to medium and leaves. It
# enters at low, and moves by one step per choice.
APPEAR_NATS, RISE_NATS, FALL_NATS, VANISH_NATS = 7.0, 15.0, 10.0, 3.5
# Choices, with decay, that must have asked about an axis before a line from another source goes.
MIN_CHOICES = 8
# Most habits that are lines; those that are stay, and the surest come in.
MAX_HABITS = 6
_NO_COUNTS: Final = HabitCounts()


def count_choice(sides: Sides, chosen: int) -> dict[str, Added]:
    """Count a choice on each axis with a chosen side.

    >>> count_choice({"price": [True, False, False, None], "year": [None, True, True, False]}, 0)
    {'price': (1024, 341)}
    """
    added: dict[str, Added] = {}
    for axis, row in sides.items():
        side = row[chosen]
        if side is None:
            continue
        up = row.count(True)
        share = round(up * ONE / (up + row.count(False)))
        added[axis] = (ONE if side else 0, min(max(share, 1), ONE - 1))
    return added


def fold_habits(
    habits: Mapping[str, HabitCounts], added: Mapping[str, Added], forget: int = HABIT_DECAY
) -> dict[str, HabitCounts]:
    """Add a choice's counts to the tested axes; others do not decay.

    >>> fold_habits({"price": HabitCounts(1024, 512, 1024)}, {"price": (0, 512)})
    {'price': HabitCounts(taken=1008, expected=1016, asked=2032)}
    """
    folded = dict(habits)
    for axis, (taken, expected) in added.items():
        had, foreseen, asked = folded.get(axis, _NO_COUNTS)
        if forget:
            had, foreseen, asked = had - had // forget, foreseen - foreseen // forget, asked - asked // forget
        folded[axis] = HabitCounts(had + taken, foreseen + expected, asked + ONE)
    return folded


def counts_for_side(counts: HabitCounts, up: bool) -> HabitCounts:
    """Return the counts as seen from one side of the axis."""
    return counts if up else HabitCounts(counts.asked - counts.taken, counts.asked - counts.expected, counts.asked)


def evidence_nats(counts: HabitCounts) -> float:
    """Return the log-likelihood ratio for a habit, 0 if taken by chance.

    >>> evidence_nats(HabitCounts(10 * ONE, 5 * ONE, 10 * ONE)), evidence_nats(HabitCounts(5 * ONE, 5 * ONE, 10 * ONE))
    (6.931, 0.0)
    """
    taken, expected, asked = counts
    if not 0 < expected < taken <= asked:
        return 0.0
    left, foreseen = asked - taken, asked - expected
    proof = taken * math.log(taken / expected) + (left * math.log(left / foreseen) if left else 0.0)
    return round(proof / ONE, 3)


def proves_less(counts: HabitCounts, least: float) -> bool:
    """True if neither side can reach `least` nats, by a quadratic bound."""
    taken, expected, asked = counts
    return (taken - expected) ** 2 * asked < least * ONE * expected * (asked - expected)


def describe_habit(counts: HabitCounts) -> str:
    """Write counts for people.

    >>> describe_habit(HabitCounts(18 * ONE, 9_500, 20 * ONE))
    'lately taken 18 of 20 times where 9.3 were to be expected'
    """
    taken, expected, asked = map(format_count, counts)
    return f"lately taken {taken} of {asked} times where {expected} were to be expected"


@dataclass(frozen=True)
class ProvenHabit:
    """A sure habit; `proof` in nats."""

    direction: Direction
    tier: Tier
    counts: HabitCounts
    proof: float


def proven_habits(habits: Mapping[str, HabitCounts], held: Mapping[str, Tier]) -> dict[str, ProvenHabit]:
    """Return the habits that qualify as lines, by attribute id.

    Only the strongest `by_...` axis qualifies; a present line stays while it has two thirds of that evidence.
    """
    found: dict[str, ProvenHabit] = {}
    for direction in _directions(frozenset(habits)):
        counts = habits[direction.axis]
        if proves_less(counts, VANISH_NATS):
            continue
        seen = counts_for_side(counts, direction.up)
        proof = evidence_nats(seen)
        if (tier := _tier(proof, held.get(direction.attribute_id))) is not None:
            found[direction.attribute_id] = ProvenHabit(direction, tier, seen, proof)

    def standing(name: str) -> float:
        return found[name].proof * (1.5 if name in held else 1.0)

    deciding = [name for name, sure in found.items() if sure.direction.axis.startswith(BY_PREFIX)]
    for name in sorted(deciding, key=standing, reverse=True)[1:]:
        del found[name]
    # Of equals, those that stand first among the directions.
    ranked = sorted(found, key=lambda name: (name not in held, -found[name].proof))[:MAX_HABITS]
    return {name: sure for name, sure in found.items() if name in ranked}


@lru_cache(maxsize=256)
def _directions(axes: frozenset[str]) -> tuple[Direction, ...]:
    # The users of a domain have nearly the same axes.
    return tuple(direction for direction in DIRECTIONS if direction.axis in axes)


def _tier(proof: float, before: Tier | None) -> Tier | None:
    if proof >= (FALL_NATS if before is Tier.HIGH else RISE_NATS):
        return Tier.HIGH
    is_sure = before is not None and before >= Tier.MEDIUM
    if proof >= (VANISH_NATS if is_sure else APPEAR_NATS):
        return Tier.MEDIUM
    return Tier.LOW if before is not None and proof >= VANISH_NATS else None


def habit_evidence(
    skill: PolicySkill, contrast: Contrast, popularity: Mapping[str, int] | None = None
) -> dict[str, HabitAdded]:
    """Return the counts that a choice adds to each tested habit.

    Places in our own rankings are no evidence: a good ranking puts the person's favourite first, so taking the first
    item is no habit.
    """
    items, chosen = shown_items(contrast)
    before = TasteHistory.of(ranked_lines(skill), skill.items)
    sides = sides_of_items(items, before, contrast.instruction, popularity, shown=not contrast.by_sager)
    return count_choice(sides, chosen)


def habits_after(
    skill: PolicySkill, tally: CountDelta | None, changes: Iterable[SkillChange] = ()
) -> Mapping[str, HabitCounts]:
    """Return the counts after an event; removed lines leave none."""
    habits: Mapping[str, HabitCounts] = skill.habits
    if tally is not None and tally.habits:
        habits = fold_habits(habits, tally.habits, tally.habits_forget)
    for change in changes:
        if change.after is None and change.kind in REMOVALS and change.attribute_id in DIRECTION_OF:
            gone = DIRECTION_OF[change.attribute_id].axis
            habits = {axis: counts for axis, counts in habits.items() if axis != gone}
    return habits


def with_habit_counts(lines: Sequence[Attribute], habits: Mapping[str, HabitCounts]) -> tuple[Attribute, ...]:
    """Update the counts of lines about habits."""
    found = list(lines)
    for place, line in enumerate(lines):
        direction = DIRECTION_OF.get(line.attribute_id)
        if direction is None or direction.axis not in habits:
            continue
        taken, expected, _ = counts_for_side(habits[direction.axis], direction.up)
        if (line.taken, line.expected) != (taken, expected):
            found[place] = line.model_copy(update={"taken": taken, "expected": expected})
    return tuple(found)


def habit_changes(
    lines: Sequence[Attribute],
    habits: Mapping[str, HabitCounts],
    added: Mapping[str, Added],
    evidence: Evidence,
    now: int,
    patience: int,
) -> tuple[list[SkillChange], list[Attribute]]:
    """Return changes to habit lines, and the new lines, at low.

    `added` are the choice's own counts. A pinned or stated line stays, and so does one that too few choices tested. A
    high line of the prior waits for `patience` contradictions.
    """
    held = {line.attribute_id: line for line in lines if line.attribute_id in DIRECTION_OF}
    sure = proven_habits(habits, {name: line.tier for name, line in held.items()})
    changes: list[SkillChange] = []
    for name, line in held.items():
        found, counts = sure.get(name), habits.get(DIRECTION_OF[name].axis, _NO_COUNTS)
        is_undecided = counts.asked < MIN_CHOICES * ONE
        if found is None and (line.pinned or line.source is AttributeSource.STATED or is_undecided):
            continue
        moved = _moved(line, Tier.SILENT if found is None else found.tier, habits, added, patience)
        if moved is not None:
            changes.append(moved)
    new = [
        Attribute(
            attribute_id=name,
            kind=found.direction.kind,
            dimension=found.direction.dimension,
            value=found.direction.value,
            tier=Tier.LOW,
            source=AttributeSource.DISCOVERED,
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


def _moved(
    line: Attribute, target: Tier, habits: Mapping[str, HabitCounts], added: Mapping[str, Added], patience: int
) -> SkillChange | None:
    direction = DIRECTION_OF[line.attribute_id]
    is_tested = direction.axis in added
    is_taken = is_tested and bool(added[direction.axis][0]) is direction.up
    tier = tier_step(line, target, taken=is_taken, contradicted=is_tested, patience=patience)
    if tier is None or (is_taken and tier is line.tier):
        return None
    reason = describe_habit(counts_for_side(habits[direction.axis], direction.up))
    if not tier:
        return SkillChange.of(line, SkillChangeKind.EVICTED, reason=reason)
    kind = SkillChangeKind.REINFORCED if is_taken else SkillChangeKind.WEAKENED
    return SkillChange.of(line, kind, tier, reason=reason)
