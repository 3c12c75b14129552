"""The counts of each axis: how choices add to them, how old choices fade, and how much they prove.

A choice from a list in which a share s of the items is on one side adds 1 to `taken` or not, s to `expected` and 1 to
`asked`. The proof is the log-likelihood ratio, in nats, of taking that side as often as counted over blind choice,
`asked * KL(taken/asked || expected/asked)`. Shares differ from list to list; with their mean in place of each, the
figure errs on the side of chance, since ln(1 - s + s*c) is concave in s.
"""

import math
from collections.abc import Mapping
from typing import Final

from operators.habits.sides import Sides
from schemas import ONE, HabitCounts

FORGET: Final = 64
"""Each choice that asks about an axis first takes this part of its counts away: a habit is older than a taste."""
Added = tuple[int, int]
"""A choice's part of an axis: taken (0 or 1,024) and expected (1 to 1,023). `asked` grows by 1,024."""


def learn(sides: Sides, chosen: int) -> dict[str, Added]:
    """Count the choice of the item at this place, by axis; nothing where it stands on neither side.

    >>> learn({"price": [True, False, False, None], "year": [None, True, True, False]}, 0)
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


def fold(habits: Mapping[str, HabitCounts], added: Mapping[str, Added], forget: int = FORGET) -> dict[str, HabitCounts]:
    """Apply a choice: the axes that it asks about fade and grow, all others stay. Exact, by whole numbers.

    >>> fold({"price": HabitCounts(1024, 512, 1024)}, {"price": (0, 512)})
    {'price': HabitCounts(taken=1008, expected=1016, asked=2032)}
    """
    folded = dict(habits)
    for axis, (taken, expected) in added.items():
        before = folded.get(axis, HabitCounts())
        had, foreseen, asked = (count - count // forget if forget else count for count in before)
        folded[axis] = HabitCounts(had + taken, foreseen + expected, asked + ONE)
    return folded


def seen_from(counts: HabitCounts, up: bool) -> HabitCounts:
    """Return the counts from one side: a choice of the other side is not taken on this one."""
    return counts if up else HabitCounts(counts.asked - counts.taken, counts.asked - counts.expected, counts.asked)


def nats(counts: HabitCounts) -> float:
    """Return the proof that this side is taken more often than by chance; 0 where it is not.

    >>> nats(HabitCounts(10 * ONE, 5 * ONE, 10 * ONE)), nats(HabitCounts(5 * ONE, 5 * ONE, 10 * ONE))
    (6.931, 0.0)
    """
    taken, expected, asked = counts
    if not 0 < expected < taken <= asked:
        return 0.0
    left, foreseen = asked - taken, asked - expected
    proof = taken * math.log(taken / expected) + (left * math.log(left / foreseen) if left else 0.0)
    return round(proof / ONE, 3)


def proves_less(counts: HabitCounts, least: float) -> bool:
    """True if neither side can prove as many nats: cheap, since a divergence is at most its quadratic bound."""
    taken, expected, asked = counts
    return (taken - expected) ** 2 * asked < least * ONE * expected * (asked - expected)


def in_words(counts: HabitCounts) -> str:
    """Write counts for people.

    >>> in_words(HabitCounts(18 * ONE, 9_500, 20 * ONE))
    'lately taken 18 of 20 times where 9.3 were to be expected'
    """
    taken, expected, asked = (f"{part / ONE:.1f}".removesuffix(".0") for part in counts)
    return f"lately taken {taken} of {asked} times where {expected} were to be expected"
