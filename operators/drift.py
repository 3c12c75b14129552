"""Tastes that change: a test per line, and what fades where nothing was heard for long (invariant 6).

A line claims that what it names is taken oftener than blind choice would. Each list that offers it is a test of that
claim: Page's cumulative sum adds up by how much the choice speaks for "no more than by chance" rather than for what the
line's counts let expect, never below nought, and a change is told where the sum is too large to be luck.
"""

import math
from datetime import datetime, timedelta

from schemas import ONE, Attribute, Source, Tier

ALARM = 4 * ONE
"""Of this many nats, in 1/1024, a taste has changed."""
STIRRED = ALARM // 2
"""Of this many, it may have: where one line's taste has changed, what stirs too is weakened with it."""
MOST_ODDS = 4.0
"""However strong a line is, no list is expected to show it more clearly."""
_TAME = 0.5
"""The power of what the counts say that is expected: they were highest when the line was found."""
AGE = timedelta(days=365)
"""So long without a word counts as one more choice that forgets."""
MOST_AGED = 32
FASTER = 4
"""How often more all is forgotten at once when a person's taste has changed."""


def drifted(line: Attribute, share: int, taken: bool) -> int:
    """A line's test of change after a list, in 1/1024 nat.

    Only lines that say something are tested, and only by lists that offer what they name among other things.

    Args:
        line: as it was before the choice.
        share: the share of the list that has it, in 1/1024.
        taken: whether what was taken has it.
    """
    if not line.tier or line.source is Source.STATED or not 0 < share < ONE:
        return line.drift
    odds = min((line.taken + ONE) / (line.expected + ONE), MOST_ODDS) ** _TAME
    if odds <= 1.0:
        return 0
    chance = share / ONE
    expected = chance * odds / (1.0 + chance * (odds - 1.0))
    nats = math.log(chance / expected) if taken else math.log((1.0 - chance) / (1.0 - expected))
    return min(max(0, line.drift + round(nats * ONE)), 16 * ALARM)


def has_shifted(line: Attribute, drift: int) -> bool:
    """Whether a test of change tells that a taste is over: only of lines that were sure."""
    return drift >= ALARM and line.tier >= Tier.MEDIUM


def aged(last: datetime, now: datetime) -> int:
    """How often more than once a skill forgets, since nothing was heard of the person for so long.

    >>> from datetime import UTC
    >>> aged(datetime(2024, 1, 1, tzinfo=UTC), datetime(2026, 6, 1, tzinfo=UTC))
    2
    """
    return min(max(0, (now - last) // AGE), MOST_AGED)
