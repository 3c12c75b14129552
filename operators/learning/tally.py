"""The additions of an event to a skill's counts."""

from collections.abc import Mapping, Sequence

from operators.attributes import RankedLine
from operators.habit_directions import is_habit
from operators.learning.evidence import DECAY, SLOWEST_DECAY, ListEvidence, bet, counts_of, page_hinkley
from operators.learning.habits import HABIT_DECAY as HABITS_FORGET
from schemas import ONE, Attribute, CountDelta, HabitAdded, Tier
from schemas.diffs import NumberSums

Verdicts = Mapping[str, tuple[int, int]]
Habits = Mapping[str, HabitAdded] | None
Drift = Mapping[str, int]
_HIGH = Tier.HIGH
# Trade-offs change more slowly than tastes, and more choices are needed to learn one.
NUMBERS_FORGET = 32
# A value taken for the first time keeps at most this much of how often it was left: an item left for another reason
# says little, and a discovered line begins with about as much.
FIRST_EXPECTED = ONE // 2


def count_delta(
    lines: Sequence[RankedLine],
    shown: ListEvidence,
    verdicts: Verdicts,
    habits: Habits,
    weight: int,
    forgets: int,
    aged: int,
    drift: Drift,
    numbers: NumberSums | None,
) -> CountDelta:
    """Return the additions of an event to the counts of lines, habits and numbers."""
    begun: dict[str, tuple[int, int]] = {}
    added: dict[str, tuple[int, int, int]] = {}
    taken, shares, expected = frozenset(shown.taken), shown.shares, shown.expected
    for line in lines:
        name = line.attribute_id
        if is_habit(name):
            continue
        if line.tier and not (line.taken or line.expected):
            begun[name] = counts_of(line)
        part = shown.part(name) if name in taken else 0
        if part and not line.taken and line.expected > FIRST_EXPECTED:
            begun[name] = (0, FIRST_EXPECTED)
        to_taken = part * weight // ONE
        to_expected = expected.get(name, 0) * weight // ONE
        nats = bet(*counts_of(line), shares[name], part) * weight // ONE if name in shares else 0
        if name in verdicts:
            more, less = verdicts[name]
            to_taken, to_expected = to_taken + more, to_expected + less
        if to_taken or to_expected or nats:
            added[name] = (to_taken, to_expected, nats)
    fading = {"habits_forget": HABITS_FORGET, "habits": habits} if habits else {}
    return CountDelta.trusted(
        # An event of less weight than a choice forgets less, but at least a little.
        forget=min(DECAY * ONE // forgets, SLOWEST_DECAY),
        aged=aged,
        begun=begun,
        lines=added,
        drift=drift,
        numbers_forget=NUMBERS_FORGET * ONE // forgets if numbers is not None else 0,
        numbers=numbers,
        **fading,
    )


def drift_of(lines: Sequence[Attribute], shown: ListEvidence) -> Drift:
    """Return the changed states of the lines' drift tests."""
    taken, shares = frozenset(shown.taken), shown.shares
    found = {}
    for line in lines:
        name = line.attribute_id
        is_tested = (line.tier is _HIGH or line.drift) and name in shares
        if not is_tested or is_habit(name) or line.pinned:
            continue
        drift = page_hinkley(line, shares[name], name in taken)
        if drift != line.drift:
            found[name] = drift
    return found
