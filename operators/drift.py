"""Drift detection per line (Page's cumulative sum), and decay after a long inactivity (invariant 6).

A line claims that its value is taken oftener than blind choice would. Each list that offers it tests that claim: the
sum adds up the log-likelihood ratio of "no more than by chance" over the line's counts, never below zero. A sum that
luck seldom reaches suggests that the taste has changed; `python -m benchmarks.shifts` prints how often it errs.
"""

import math
from datetime import datetime, timedelta

from schemas import ONE, Attribute, PolicySkill, Source, Tier

ALARM = 3 * ONE
"""The threshold of the test, in 1/1024 nat. With `ESTABLISHED`, `benchmarks.shifts` has false alarms for 0 of 200
people, and detects an ended taste after 12 lists of ten (median). 4 nats detect fewer, with as many false alarms.
"""
STIRRED = ALARM // 2
"""A warning: where one line's taste has changed, lines with a warning are weakened with it."""
LEAST_ODDS, MOST_ODDS = 3.0, 5.0
"""Bounds of a line's odds over chance: counts that fade already would test ever less."""
ESTABLISHED, ESTABLISHED_BY_HISTORY = 6 * ONE, 10 * ONE
"""The least `taken` of a tested line, in 1/1024, with decay. A line from the history needs more: visits come without
lists, so they also name values that all people take (nine of ten false alarms, such as "dinner").
"""
AGE = timedelta(days=365)
"""So long without an event counts as one more choice that forgets."""
MOST_AGED = 32
FASTER = 4
"""How many extra times a skill forgets when the test detects that a taste has changed."""
SAID_FASTER = 16
"""The same when the person states it: a third is left of the older counts."""


def drifted(line: Attribute, share: int, taken: bool) -> int:
    """Return a line's cumulative sum after a list, in 1/1024 nat.

    Only lines that were sure and taken often when the test began are tested, and only by lists that offer their value
    among others: a value taken three times by luck was never a taste that could change.
    """
    least = ESTABLISHED_BY_HISTORY if line.source is Source.PRIOR else ESTABLISHED
    was_sure = (line.tier is Tier.HIGH and line.taken >= least) or (line.drift and line.tier)
    if not was_sure or line.source is Source.STATED or not 0 < share < ONE:
        return line.drift
    odds = min(max((line.taken + ONE) / (line.expected + ONE), LEAST_ODDS), MOST_ODDS)
    chance = share / ONE
    expected = chance * odds / (1.0 + chance * (odds - 1.0))
    nats = math.log(chance / expected) if taken else math.log((1.0 - chance) / (1.0 - expected))
    return min(max(0, line.drift + round(nats * ONE)), 16 * ALARM)


def has_shifted(line: Attribute, drift: int) -> bool:
    """True if the test detects that a taste is over."""
    return drift >= ALARM and bool(line.tier)


def away(skill: PolicySkill, now: datetime) -> int:
    """Return how many extra times a skill forgets after an inactivity; none with its first event."""
    return min(max(0, (now - skill.occurred_at) // AGE), MOST_AGED) if skill.version else 0
